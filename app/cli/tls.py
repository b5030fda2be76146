"""TLS of `bookprint serve`: certificate and key, checked before anything is started."""

import os
import ssl
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from app.cli.output import UserError

PASSWORD_VARIABLE = "BOOKPRINT_SSL_KEYFILE_PASSWORD"


@dataclass(frozen=True, slots=True)
class Tls:
    """A certificate and its key, with the password of the key where it has one."""

    certfile: Path
    keyfile: Path
    password: str | None = field(default=None, repr=False)

    @property
    def arguments(self) -> list[str]:
        """The options of uvicorn; a password would be seen in the list of processes."""
        return ["--ssl-certfile", str(self.certfile), "--ssl-keyfile", str(self.keyfile)]

    @property
    def environment(self) -> Mapping[str, str]:
        """The variable in which uvicorn finds the password."""
        return {} if self.password is None else {"UVICORN_SSL_KEYFILE_PASSWORD": self.password}

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
    password = os.environ.pop(PASSWORD_VARIABLE, None)  # processes beside the API need not know it
    if certfile is None:
        if keyfile is not None or password_file is not None:
            raise UserError("There is a key and no certificate. Name the certificate with --ssl-certfile.")
        return None
    try:
        if password_file is not None:
            password = password_file.read_text(encoding="utf-8").rstrip("\r\n")
        tls = Tls(certfile, keyfile or certfile, password)
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        # Without a function, OpenSSL would ask for a missing password on the terminal.
        context.load_cert_chain(tls.certfile, tls.keyfile, lambda: password or "")
        tls.context()
    except (OSError, ValueError) as exc:
        raise UserError(
            f"The certificate and key cannot be used: {exc}. Name files in PEM form with --ssl-certfile and "
            "--ssl-keyfile, and the file of the key's password with --ssl-keyfile-password-file."
        ) from exc
    return tls
