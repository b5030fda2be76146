"""TLS of `bookprint serve`: certificate and key, checked before anything is started."""

import os
import ssl
from dataclasses import dataclass, field
from pathlib import Path

from app.cli.output import UserError
from app.secrets import TLS_PASSWORD_VARIABLE


@dataclass(frozen=True, slots=True)
class Tls:
    """A certificate and its key, with the password of the key where it has one."""

    certfile: Path
    keyfile: Path
    password: str | None = field(default=None, repr=False)

    def context(self) -> ssl.SSLContext:
        """What a client on this machine needs to ask the service: trust in this certificate, and in no other.

        The name is not compared, because the service is asked at a loopback address.
        """
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.check_hostname = False
        context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
        context.load_verify_locations(self.certfile)
        return context


def read_tls(certfile: Path | None, keyfile: Path | None, password_file: Path | None) -> Tls | None:
    """The certificate and key that the options name, None without; raises UserError if they are of no use."""
    password = os.environ.get(TLS_PASSWORD_VARIABLE)
    if certfile is None:
        if keyfile is not None or password_file is not None:
            raise UserError("There is a key and no certificate. Name the certificate with --ssl-certfile.")
        return None
    if password_file is not None:
        password = _content(password_file, "--ssl-password-file").rstrip("\r\n")
    tls = Tls(certfile, keyfile or certfile, password)
    for file, option in ((tls.certfile, "--ssl-certfile"), (tls.keyfile, "--ssl-keyfile")):
        _content(file, option)
    try:
        tls.context()
    except (ssl.SSLError, ValueError) as exc:
        raise UserError(
            f"{certfile} holds no certificate in PEM form. Name a file that does with --ssl-certfile."
        ) from exc
    _check_key(tls)
    return tls


def _content(file: Path, option: str) -> str:
    try:
        return file.read_text(encoding="utf-8", errors="replace")
    except OSError as exc:
        raise UserError(f"{file} cannot be read: {exc.strerror}. Name another file with {option}.") from exc


def _check_key(tls: Tls) -> None:
    """Raise UserError where the key is not that of the certificate, or its password does not open it."""
    is_locked = False

    def unlock() -> str:  # without a function, OpenSSL would ask on the terminal
        nonlocal is_locked
        is_locked = True
        return tls.password or ""

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(tls.certfile, tls.keyfile, unlock)
    except (ssl.SSLError, ValueError) as exc:
        if getattr(exc, "reason", None) == "KEY_VALUES_MISMATCH":
            reason = f"{tls.keyfile} is not the key of the certificate in {tls.certfile}. Name that one with"
            raise UserError(f"{reason} --ssl-keyfile.") from exc
        if not is_locked:
            reason = f"{tls.keyfile} holds no key in PEM form."
            raise UserError(f"{reason} Name a file that does with --ssl-keyfile.") from exc
        reason = "needs a password" if tls.password is None else "is not opened by its password"
        raise UserError(
            f"The key in {tls.keyfile} {reason}. Name a file with the right one with "
            f"--ssl-password-file, or set {TLS_PASSWORD_VARIABLE}."
        ) from exc
