"""Checks before `serve` listens at an address: API keys and the TLS certificate."""

import asyncio
import ipaddress
import os
import pwd
import socket
import ssl
import stat
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from app.cli.output import UserError, notices
from app.secrets import TLS_PASSWORD_VARIABLE
from app.settings import Settings

_FIRST_PERSON = 1_000
"""Lowest user id of a person; lower ids belong to the system."""


def auth_at(host: str, settings: Settings) -> Literal["keys", "off"]:
    """Return whether a service at this host requires keys. Warns if other people can use it without a key."""
    is_loopback = _is_loopback(host)
    if settings.auth == "keys" or (settings.auth == "auto" and not is_loopback):
        return "keys"
    if not is_loopback:
        notices().print(
            f"BOOKPRINT_AUTH is off: anyone who reaches {host} can read, change and delete every book."
        )
    elif _others_log_in():
        notices().print(
            "No key is required: every user of this machine can read, change and delete every book. "
            "Set BOOKPRINT_AUTH=keys to require one."
        )
    return "off"


def require_key_before_start(settings: Settings) -> None:
    """Raise UserError if no key can open the service. Runs before any server has started.

    An admin key file that everybody can read only causes a warning: in containers such files are usual.
    """
    file = settings.admin_key_file
    if file is not None and file.stat().st_mode & stat.S_IROTH:
        notices().print(f"Every user of this machine can read the admin key in {file}. Run: chmod 600 {file}")
    if settings.database_url is not None:
        require_key(settings, settings.database_url)
    elif settings.bootstrap_key is None and not os.path.isdir(settings.data_dir / "postgres"):
        raise _no_key(settings)


def require_key(settings: Settings, database_url: str) -> None:
    """Raise UserError if no key opens the service; an unreachable database is ignored."""
    from app.services.access.keys import Keys
    from app.stores.postgres.connections import open_database
    from bookprint_core.errors import Unavailable

    async def any_valid() -> bool:
        async with open_database(database_url, connections=1) as database:
            return await Keys(database, settings.bootstrap_key).any_valid()

    try:
        if not asyncio.run(any_valid()):
            raise _no_key(settings)
    except Unavailable:
        return


def _no_key(settings: Settings) -> UserError:
    folder = "" if settings.database_url is not None else f" --data-dir {settings.data_dir}"
    return UserError(
        "There is no API key yet, so nobody could use the service at this address. Make one, then start "
        f"again:\n  bookprint keys create --name admin --scope admin{folder}\n"
        "Or set BOOKPRINT_ADMIN_KEY to a key of your own: at least 32 random characters."
    )


def _others_log_in() -> bool:
    """Return whether anyone but this user and the system's users can log in to this machine."""
    return any(
        user.pw_uid >= _FIRST_PERSON
        and user.pw_uid != os.getuid()
        and not user.pw_shell.endswith(("/nologin", "/false"))
        for user in pwd.getpwall()
    )


def _is_loopback(host: str) -> bool:
    """Return whether only this machine can reach a socket at this host. Names are resolved."""
    try:
        found = socket.getaddrinfo(host or None, None, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    except OSError:
        return False
    return all(ipaddress.ip_address(str(address[0]).partition("%")[0]).is_loopback for *_, address in found)


@dataclass(frozen=True, slots=True)
class Tls:
    """A certificate, its private key, and the password of an encrypted key."""

    certfile: Path
    keyfile: Path
    password: str | None = field(default=None, repr=False)

    def context(self) -> ssl.SSLContext:
        """Return the TLS context of a client on this machine; it trusts only this certificate.

        It does not check the host name, because the client connects to a loopback address.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(self.certfile)
        return context


def read_tls(certfile: Path | None, keyfile: Path | None, password_file: Path | None) -> Tls | None:
    """Read the certificate and key that the options name; raises UserError. Returns None without options."""
    if certfile is None:
        if keyfile is not None or password_file is not None:
            raise UserError("There is a key but no certificate. Name the certificate with --ssl-certfile.")
        return None
    keyfile, password = keyfile or certfile, os.environ.get(TLS_PASSWORD_VARIABLE)
    try:
        for file in (certfile, keyfile):  # the errors of ssl do not name the file
            file.open("rb").close()
        if password_file is not None:
            password = password_file.read_text(encoding="utf-8").rstrip("\r\n")
        # Without a function, OpenSSL would ask for the password on the terminal.
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(certfile, keyfile, lambda: password or "")
    except (ssl.SSLError, ValueError) as exc:
        raise UserError(
            f"{certfile} and {keyfile} cannot be used for TLS: {exc}. Name a certificate in PEM form with "
            "--ssl-certfile, its key with --ssl-keyfile, and the password of an encrypted key with "
            f"--ssl-password-file or {TLS_PASSWORD_VARIABLE}."
        ) from exc
    except OSError as exc:
        raise UserError(f"{exc.filename} cannot be read: {exc.strerror}. Name another file.") from exc
    return Tls(certfile, keyfile, password)
