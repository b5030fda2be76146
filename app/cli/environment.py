"""Settings, shared options, servers and the acting user: inputs of a command besides its own arguments."""

import os
import pwd
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from pydantic import ValidationError

from app.cli.output import UserError, notices
from app.embedded import EmbeddedServers, running_servers
from app.secrets import SECRETS
from app.settings import Settings
from bookprint_client import Client

if TYPE_CHECKING:
    from app.stores.postgres.audit import Actor

DEFAULT_URL = "http://127.0.0.1:8000"

Url = Annotated[str, typer.Option(help="Address of the service.")]
"""Option with the address of the service."""

KeyOption = Annotated[
    str | None,
    typer.Option(
        "--key",
        envvar="BOOKPRINT_KEY",
        help="API key. Set the variable instead: other users can see the arguments of a command.",
    ),
]
"""Option with the API key."""

AsJson = Annotated[bool, typer.Option("--json", help="Print the items as JSON, one per line.")]
"""Option for output that programs read."""

CollectionOption = Annotated[
    str | None, typer.Option("--collection", metavar="NAME", help="Only books of this collection.")
]
"""Option that limits the answer to one collection."""

DataDir = Annotated[
    Path | None,
    typer.Option(help="Folder of the embedded servers [BOOKPRINT_DATA_DIR, else ./data].", file_okay=False),
]
"""Option with the data folder."""


@contextmanager
def service_at(url: str, key: str | None, patience: float = 10.0) -> Iterator[Client]:
    """Yield a client that waits for the service up to `patience` seconds, then raises NoService."""
    with Client(url, patience=patience, key=key) as service:
        service.insist()
        yield service


def load_settings(data_dir: Path | None) -> Settings:
    """Read the settings from the environment; `data_dir` overrides BOOKPRINT_DATA_DIR."""
    try:
        settings = Settings()
    except ValidationError as exc:
        lines = [f"{error['loc'][0]}: {error['msg'].removeprefix('Value error, ')}" for error in exc.errors()]
        raise UserError("The environment cannot be used.\n  " + "\n  ".join(lines)) from exc
    return settings if data_dir is None else settings.model_copy(update={"data_dir": data_dir})


def name_unknown() -> None:
    """Print a notice about environment variables that look like misspelt settings."""
    prefix = "BOOKPRINT_"
    aliases = (str(field.alias) for field in Settings.model_fields.values())
    known = {name.removeprefix(prefix) for name in (*aliases, *SECRETS) if name.startswith(prefix)}
    given = {name.upper().removeprefix(prefix) for name in os.environ if name.upper().startswith(prefix)}
    for name in sorted(given - known):
        if meant := get_close_matches(name, known, 1, 0.8):
            notices().print(f"{prefix}{name} is not a variable of Bookprint. Do you mean {prefix}{meant[0]}?")


def running(settings: Settings) -> Settings | None:
    """Return settings that name both servers: as set, or as running in the data folder. None if neither."""
    if settings.database_url is not None and settings.redis_url is not None:
        return settings
    servers = running_servers(settings.data_dir)
    if servers is None:
        return None
    return settings.model_copy(
        update={
            "database_url": settings.database_url or servers.database_url,
            "redis_url": settings.redis_url or servers.redis_url,
        }
    )


def require_running(settings: Settings, status: int = 1) -> Settings:
    """Return settings that name running servers. Raises UserError with this exit status if none run."""
    if (servers := running(settings)) is not None:
        return servers
    raise UserError(
        f"No service runs in {settings.data_dir}. Start one with bookprint serve, name its folder with "
        "--data-dir, or set DATABASE_URL and REDIS_URL.",
        status,
    )


@contextmanager
def started(settings: Settings, new: bool = False) -> Iterator[Settings]:
    """Start the servers of the data folder for this command, and yield settings that name them.

    Raises UserError if the folder contains no library, unless a `new` one may be made.
    """
    if not new and not os.path.isdir(settings.data_dir / "postgres"):
        raise UserError(
            f"There is no library in {settings.data_dir}. Name its folder with --data-dir, set DATABASE_URL "
            "and REDIS_URL, or start a new one with: bookprint serve"
        )
    notices().print(f"No service runs in {settings.data_dir}; starting its servers for this command.")
    embedded = EmbeddedServers(
        settings.data_dir, database_url=settings.database_url, redis_url=settings.redis_url
    )
    with embedded as servers:
        yield settings.model_copy(
            update={"database_url": servers.database_url, "redis_url": servers.redis_url}
        )


def moment(text: str, option: str) -> datetime:
    """Parse the value of an option that is a time; raises UserError."""
    try:
        named = datetime.fromisoformat(text)
    except ValueError as exc:
        raise UserError(
            f"{option} must be a time such as 2027-01-31 or 2027-01-31T18:00+01:00, in UTC by default.",
            2,
        ) from exc
    return named if named.tzinfo is not None else named.replace(tzinfo=UTC)


def acting_user() -> "Actor":
    """Return the actor for the audit log: the system user who runs this command, on this host."""
    # Imported late: the stores load slowly, and most commands do not need them.
    from app.stores.postgres.audit import Actor

    return Actor("command", _user(), address=socket.gethostname())


def _user() -> str:
    # Read from the process: a variable such as LOGNAME could contain any name.
    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:  # in containers, users may lack a name
        return f"uid {os.getuid()}"
