"""Settings from environment variables; `.env` files are not read."""

import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from ipaddress import ip_network
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

from pydantic import BeforeValidator, Field, SecretStr, StringConstraints, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

_ORIGIN = re.compile(r"https?://[^/\s?#@,*]+")

_ENCODED = "%[0-9A-Fa-f]{2}"
_VALUE = rf"\w+=(?:[^\s&\#%+@]|{_ENCODED})*"
_URL = re.compile(
    rf"(?:(?:[^\s:/?\#\[\]@%]|{_ENCODED})*(?::(?:[^\s/?\#\[\]@%]|{_ENCODED})*)?@)?"  # user, password
    rf"(?:[\w.,-]|{_ENCODED}|\[[0-9A-Fa-f:.]+\]|:[0-9]+(?=[,/?]|$))*"  # hosts and ports
    rf"(?:/(?:[^\s?\#\[\]@%]|{_ENCODED})*)?"  # name, or the path of a socket
    rf"(?:\?{_VALUE}(?:&{_VALUE})*)?",
    re.ASCII,
)
"""Pattern of a server's URL after its scheme, strict enough that all drivers parse it equally."""

_HAS_PASSWORD = re.compile(r"^[^/?@]*:[^/?]*@|[?&]password=")

_MOST_WORKERS = 8
"""Maximum number of worker processes by default; each has all fingerprints in memory."""

SHARE = "BOOKPRINT_SHARE"
"""Variable with the values of `ProcessShare`, from `serve` to its processes."""


@dataclass(frozen=True, slots=True)
class ProcessShare:
    """Share of one process in the resources of the service."""

    processes: int = 1  # number of API processes, which share limits
    connections: int = 6  # to PostgreSQL for statements; as many again for transactions

    @classmethod
    def given(cls) -> "ProcessShare":
        """Return the share that `serve` has given to this process."""
        return cls(*map(int, os.environ.get(SHARE, "").split()))


BANDS = "BOOKPRINT_BANDS"
"""Variable with a threshold and its MinHash bands, from `serve` to its processes."""

_OPTIMAL_BANDS = """
import sys
from datasketch import MinHashLSH
lsh = MinHashLSH(threshold=float(sys.argv[1]), num_perm=128)
print(lsh.b, lsh.r)
"""


@cache
def optimal_bands(threshold: float) -> tuple[int, int]:
    """Return the numbers of MinHash bands and rows per band that datasketch finds optimal for a similarity.

    datasketch runs in another process, because it loads SciPy: a second of processor time and 50 MB.
    """
    given, *known = os.environ.get(BANDS, "").split() or [""]
    if given != str(threshold):
        command = [sys.executable, "-P", "-c", _OPTIMAL_BANDS, str(threshold)]
        known = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True).stdout.split()
    bands, rows = map(int, known)
    return bands, rows


_SHORTEST_KEY, _LEAST_VARIETY = 32, 8
"""Minimum length of an admin key, and minimum number of different characters in it."""

MOST_PER_MINUTE = 1_000_000
"""Highest limit of requests or lookups. Redis stores up to a dozen bytes for each of them."""

LEAST_BYTES_PER_MINUTE = 1 << 20
"""Lowest limit of bytes; many books are larger."""


def _one_per_core() -> int:
    return min(os.cpu_count() or 1, _MOST_WORKERS)


def _listed(values: object) -> object:
    """Split a string at commas into a list; other values are unchanged."""
    if isinstance(values, str):
        return [value.strip() for value in values.split(",") if value.strip()]
    return values


Computed = Literal["digests", "iscc", "vectors"]

_LowerCase = Annotated[str, StringConstraints(to_lower=True)]
_Listed = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


def _read_key(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError) as exc:
        raise ValueError(f"The key in {path} cannot be read. Name a file with the key alone.") from exc


def _check_key(key: str) -> None:
    """Raise ValueError for a key that could be guessed or that cannot be sent in a header."""
    is_long = len(key) >= _SHORTEST_KEY and len(set(key)) >= _LEAST_VARIETY
    if not is_long or not key.isascii() or not key.isprintable() or " " in key:
        raise ValueError(
            f"An admin key has {_SHORTEST_KEY} or more ASCII characters, {_LEAST_VARIETY} of them different, "
            "and no blanks. Make one with: openssl rand -hex 32"
        )


def _parts_of(url: str, schemes: Sequence[str]) -> tuple[str, str]:
    """Split a server's URL into scheme and rest; raises ValueError if drivers could parse it differently.

    The message contains no part of the URL, because a password may be anywhere in it.
    """
    scheme, _, rest = url.partition("://")
    if "://" not in url or scheme not in schemes:
        raise ValueError(f"The URL must start with {schemes[0]}://")
    if not _URL.fullmatch(rest):
        raise ValueError(
            f"The URL cannot be read. Write it as {scheme}://user:password@host/name, and percent-encode "
            "every character of user and password except letters and digits: / as %2F, % as %25, @ as %40."
        )
    return scheme, rest


class Settings(BaseSettings):
    """The settings of this process. Every field is set by the environment variable of its alias."""

    model_config = SettingsConfigDict(
        frozen=True,
        populate_by_name=True,
        extra="ignore",
        hide_input_in_errors=True,  # tracebacks must not contain passwords or keys
    )

    database_url: str | None = Field(
        default=None,
        alias="DATABASE_URL",
        description="PostgreSQL; unset: `serve` starts one. The password may be in `PGPASSWORD` instead.",
    )
    redis_url: str | None = Field(
        default=None,
        alias="REDIS_URL",
        description="Redis or Valkey, `redis+cluster://` for a cluster; unset: `serve` starts one.",
    )
    data_dir: Path = Field(
        default=Path("data"),
        alias="BOOKPRINT_DATA_DIR",
        description="Folder of the embedded servers.",
    )
    public_url: str | None = Field(
        default=None,
        alias="BOOKPRINT_PUBLIC_URL",
        pattern="^https?://",
        description="Address of the service for clients, used in answers; unset: the address in the client's "
        "request. Without keys the service answers only requests to this host or localhost.",
    )
    auth: Literal["auto", "keys", "off"] = Field(
        default="auto",
        alias="BOOKPRINT_AUTH",
        description="Whether requests need an API key; auto: only if `serve` listens beyond loopback.",
    )
    admin_key: SecretStr | None = Field(
        default=None,
        alias="BOOKPRINT_ADMIN_KEY",
        description="An API key with the scope `admin`, 32 characters or more, valid beside stored keys.",
    )
    admin_key_file: Path | None = Field(
        default=None,
        alias="BOOKPRINT_ADMIN_KEY_FILE",
        description="File with the admin key, instead of the variable.",
    )
    requests_per_minute: int | None = Field(
        default=None,
        alias="BOOKPRINT_REQUESTS_PER_MINUTE",
        gt=0,
        le=MOST_PER_MINUTE,
        description="Requests per minute of a key without a limit of its own; unset: no limit.",
    )
    lookups_per_minute: int | None = Field(
        default=None,
        alias="BOOKPRINT_LOOKUPS_PER_MINUTE",
        gt=0,
        le=MOST_PER_MINUTE,
        description="Lookups per minute of a key without a limit of its own; unset: no limit.",
    )
    bytes_per_minute: int | None = Field(
        default=None,
        alias="BOOKPRINT_BYTES_PER_MINUTE",
        ge=LEAST_BYTES_PER_MINUTE,
        description="Bytes of bodies per minute of a key, and at most for one body; unset: no limit.",
    )
    attempts_per_minute: int | None = Field(
        default=None,
        alias="BOOKPRINT_ATTEMPTS_PER_MINUTE",
        gt=0,
        le=MOST_PER_MINUTE,
        description="Requests without a valid key per minute and address; more get 429. Unset: no limit.",
    )
    texts: Literal["none", "postgres"] = Field(
        default="postgres",
        alias="BOOKPRINT_TEXTS",
        description="Whether texts are stored, compressed, for later recipes and master copies.",
    )
    compute: Annotated[frozenset[Computed], NoDecode, BeforeValidator(_listed)] = Field(
        default=frozenset(),
        alias="BOOKPRINT_COMPUTE",
        description="Further values computed from each text, separated by commas: `digests` (23 ms "
        "per book), `iscc` (40 ms; needs the extra `iscc`), `vectors` to find similar books (5 ms).",
    )
    jaccard_threshold: float = Field(
        default=0.5,
        alias="BOOKPRINT_JACCARD_THRESHOLD",
        ge=0.3,
        le=0.9,
        description="Similarity for which datasketch's optimal bands tune `?jaccard=`; the same for every "
        "process of a service. A change rebuilds the index.",
    )
    max_body_bytes: int = Field(
        default=64 * 1024 * 1024,
        alias="BOOKPRINT_MAX_BODY_BYTES",
        gt=0,
        description="Maximum size of a JSON body in bytes, and of the text of a file in characters. A file "
        "may be eight times this number of bytes. Larger requests are refused with 413.",
    )
    workers: int = Field(
        default_factory=_one_per_core,
        alias="BOOKPRINT_WORKERS",
        ge=0,
        le=64,
        description="Number of worker processes of `serve`; unset: one per core, at most 8.",
    )
    audit_days: int | None = Field(
        default=None,
        alias="BOOKPRINT_AUDIT_DAYS",
        ge=1,
        le=36_500,
        description="Days after which entries of the audit log are deleted; unset: never.",
    )
    webhook_allow_hosts: Annotated[frozenset[_LowerCase], NoDecode, BeforeValidator(_listed)] = Field(
        default=frozenset(),
        alias="BOOKPRINT_WEBHOOK_ALLOW_HOSTS",
        description="Private hosts to which webhooks may deliver, separated by commas.",
    )
    trusted_proxies: _Listed = Field(
        default=(),
        alias="BOOKPRINT_TRUSTED_PROXIES",
        description="Addresses or networks of proxies whose X-Forwarded headers are trusted, separated by "
        "commas; unset: none.",
    )
    cors_origins: _Listed = Field(
        default=(),
        alias="BOOKPRINT_CORS_ORIGINS",
        description="Origins whose pages may call the API from a browser, separated by commas. Unset: pages "
        "may only call the reconciliation API: all pages if keys are required, else pages of this machine.",
    )
    log_format: Literal["console", "json"] = Field(
        default="console",
        alias="BOOKPRINT_LOG_FORMAT",
        description="Plain lines, or one JSON object per line, for every process.",
    )

    @property
    def max_file_bytes(self) -> int:
        """Maximum size of a multipart body with a file; some formats need eight bytes per character."""
        return 8 * self.max_body_bytes

    @property
    def bootstrap_key(self) -> str | None:
        """The admin key from the environment variable or the file."""
        if self.admin_key_file is not None:
            return _read_key(self.admin_key_file)
        return None if self.admin_key is None else self.admin_key.get_secret_value()

    @field_validator("admin_key")
    @classmethod
    def _strong(cls, key: SecretStr | None) -> SecretStr | None:
        """Check the key; an empty variable counts as unset."""
        if key is None or not key.get_secret_value():
            return None
        _check_key(key.get_secret_value())
        return key

    @field_validator("admin_key_file")
    @classmethod
    def _readable(cls, path: Path | None, info: ValidationInfo) -> Path | None:
        """Check the file at the start, not at the first request."""
        if path is not None:
            if info.data.get("admin_key") is not None:
                raise ValueError("Set BOOKPRINT_ADMIN_KEY or BOOKPRINT_ADMIN_KEY_FILE, not both.")
            _check_key(_read_key(path))
        return path

    @field_validator("compute")
    @classmethod
    def _installed(cls, compute: frozenset[Computed]) -> frozenset[Computed]:
        """Raise ValueError if `iscc` is requested but its library is missing."""
        if "iscc" in compute and find_spec("iscc_lib") is None:
            raise ValueError(
                "iscc-lib is not installed. Install it in the folder of Bookprint's sources with: "
                "pip install ./packages/* '.[iscc]'"
            )
        return compute

    @field_validator("trusted_proxies")
    @classmethod
    def _networks(cls, proxies: tuple[str, ...]) -> tuple[str, ...]:
        """Check that each proxy is an address or network; `*` is refused."""
        for proxy in proxies:
            try:
                ip_network(proxy)
            except ValueError as exc:
                raise ValueError(f"{exc}. Name each proxy by its address or network.") from None
        return proxies

    @field_validator("cors_origins")
    @classmethod
    def _origins(cls, origins: tuple[str, ...]) -> tuple[str, ...]:
        """Check that each origin is a scheme and a host without a path (RFC 6454)."""
        for origin in origins:
            if not _ORIGIN.fullmatch(origin):
                raise ValueError(f"{origin[:80]} is not an origin. Write it as https://catalog.example.org.")
        return origins

    @field_validator("database_url")
    @classmethod
    def _with_driver(cls, url: str | None) -> str | None:
        """Return the URL with the driver and the password in PGPASSWORD; accepts other programs' schemes.

        A password in the URL is preferred.
        """
        if url is None:
            return None
        _, rest = _parts_of(url, ("postgresql", "postgres", "postgresql+psycopg"))
        password = os.environ.get("PGPASSWORD")
        if password is not None and not _HAS_PASSWORD.search(rest):
            rest += f"{'&' if '?' in rest else '?'}password={quote(password, safe='')}"
        return f"postgresql+psycopg://{rest}"

    @field_validator("redis_url")
    @classmethod
    def _of_redis(cls, url: str | None) -> str | None:
        """Check the URL at the start, not at the first command."""
        if url is not None:
            _parts_of(url, ("redis", "rediss", "unix", "redis+cluster", "rediss+cluster"))
        return url
