"""Settings, read from the environment; `.env` files are not read."""

import os
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

_MOST_WORKERS = 8
"""Worker processes that `serve` starts by default; each holds all fingerprints in memory."""


def _one_per_core() -> int:
    return min(os.cpu_count() or 1, _MOST_WORKERS)


class Settings(BaseSettings):
    """The settings of this process. Every field is set by the environment variable of its alias."""

    model_config = SettingsConfigDict(frozen=True, populate_by_name=True, extra="ignore")

    database_url: str | None = Field(
        default=None, alias="DATABASE_URL", description="Postgres; unset: `serve` starts its own."
    )
    redis_url: str | None = Field(
        default=None,
        alias="REDIS_URL",
        description="Redis or Valkey, redis+cluster:// for a cluster; unset: `serve` starts its own.",
    )
    data_dir: Path = Field(
        default=Path("data"),
        alias="BOOKPRINT_DATA_DIR",
        description="Where embedded servers keep their data.",
    )
    public_url: str | None = Field(
        default=None,
        alias="BOOKPRINT_PUBLIC_URL",
        pattern="^https?://",
        description="Address under which clients reach the service, where answers name it; unset: as they "
        "wrote it in their request.",
    )
    texts: Literal["none", "postgres"] = Field(
        default="postgres", alias="BOOKPRINT_TEXTS", description="Whether texts are kept for later recipes."
    )
    iscc: Literal["off", "on"] = Field(
        default="off",
        alias="BOOKPRINT_ISCC",
        description="Whether a book's text gets an ISCC Text-Code; needs the extra `iscc`, 40 ms a book.",
    )
    max_body_bytes: int = Field(
        default=64 * 1024 * 1024,
        alias="BOOKPRINT_MAX_BODY_BYTES",
        gt=0,
        description="Largest JSON body, and most characters of a text in a file; more is refused with 413.",
    )
    max_file_bytes: int = Field(
        default=512 * 1024 * 1024,
        alias="BOOKPRINT_MAX_FILE_BYTES",
        gt=0,
        description="Largest multipart body with a file; a larger one is refused with 413.",
    )
    read_seconds: float = Field(
        default=8.0,
        alias="BOOKPRINT_READ_SECONDS",
        gt=0,
        description="Most seconds that the reading of a file may take; then it is refused with 413.",
    )
    database_connections: int = Field(
        default=6,
        alias="BOOKPRINT_DATABASE_CONNECTIONS",
        gt=0,
        description="Most connections of each process to Postgres: so many for single statements and as many "
        "for transactions. The queues of a worker take up to 8 more.",
    )
    workers: int = Field(
        default_factory=_one_per_core,
        alias="BOOKPRINT_WORKERS",
        ge=0,
        le=64,
        description="Worker processes that `serve` starts; unset: one per core, 8 at most.",
    )
    jobs_at_once: int = Field(
        default=1,
        alias="BOOKPRINT_JOBS_AT_ONCE",
        gt=0,
        le=256,
        description="Books that a worker process relates at the same time.",
    )
    webhook_allow_hosts: Annotated[frozenset[str], NoDecode] = Field(
        default=frozenset(),
        alias="BOOKPRINT_WEBHOOK_ALLOW_HOSTS",
        description="Hosts, with commas between, that webhooks may lead to though they are private.",
    )
    log_format: Literal["console", "json"] = Field(
        default="console", alias="BOOKPRINT_LOG_FORMAT", description="Plain lines, or one JSON object a line."
    )

    @field_validator("iscc")
    @classmethod
    def _installed(cls, iscc: str) -> str:
        """Text-Codes are not left out silently where the library is missing."""
        if iscc == "on" and find_spec("iscc_lib") is None:
            raise ValueError("iscc-lib is not installed. Install bookprint with the extra `iscc`.")
        return iscc

    @field_validator("webhook_allow_hosts", mode="before")
    @classmethod
    def _hosts(cls, hosts: object) -> object:
        """Accept hosts as one string."""
        if isinstance(hosts, str):
            return frozenset(host.strip().lower() for host in hosts.split(",") if host.strip())
        return hosts

    @field_validator("database_url")
    @classmethod
    def _with_driver(cls, url: str | None) -> str | None:
        """Accept the URL as other tools write it, and name the driver that Bookprint uses."""
        if url is None:
            return None
        scheme, separator, rest = url.partition("://")
        if not separator or scheme not in {"postgres", "postgresql", "postgresql+psycopg"}:
            raise ValueError("DATABASE_URL must start with postgresql://")
        return f"postgresql+psycopg://{rest}"
