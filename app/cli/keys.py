"""`bookprint keys`: make, list, rotate and revoke the API keys of a service."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated, TypeVar
from uuid import UUID

import typer

from app.cli.environment import DataDir, acting_user, load_settings, moment
from app.cli.maintenance import library, within
from app.cli.output import Listing, UserError, notices, print_list, results
from app.settings import LEAST_BYTES_PER_MINUTE, MOST_PER_MINUTE

if TYPE_CHECKING:
    from app.services.access.keys import Keys, ShownKey
    from app.stores.postgres.keys import Key, KeyLimits
    from app.wiring import Services

T = TypeVar("T")

_KeyId = Annotated[str, typer.Argument(metavar="ID", help="Id of the key, as `keys list` prints it.")]


class _ScopeName(StrEnum):
    """The scopes, as choices of an option."""

    READ = "read"
    INGEST = "ingest"
    DECIDE = "decide"
    ADMIN = "admin"


def create(
    name: Annotated[str, typer.Option(help="Name of the key: its owner or purpose.")],
    scope: Annotated[
        list[_ScopeName],
        typer.Option(
            help="Scope of the key; ingest and decide include read, admin includes all. Repeatable."
        ),
    ],
    expires: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Expiry time, such as 2027-01-31 or 2027-01-31T18:00+01:00 [never]."
        ),
    ] = None,
    requests_per_minute: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=MOST_PER_MINUTE,
            help="Maximum requests per minute [BOOKPRINT_REQUESTS_PER_MINUTE of the service].",
        ),
    ] = None,
    lookups_per_minute: Annotated[
        int | None,
        typer.Option(min=1, max=MOST_PER_MINUTE, help="Maximum lookups per minute [as the service]."),
    ] = None,
    bytes_per_minute: Annotated[
        int | None,
        typer.Option(min=LEAST_BYTES_PER_MINUTE, help="Maximum body bytes per minute [as the service]."),
    ] = None,
    collection: Annotated[
        str | None,
        typer.Option(help="The only collection that the key may write to [all]."),
    ] = None,
    data_dir: DataDir = None,
) -> None:
    """Make a key and print it once. Only its hash is stored."""
    from app.stores.postgres.keys import KeyLimits  # late: the stores load slowly

    expires_at = None if expires is None else moment(expires, "--expires")
    limits = KeyLimits(requests_per_minute, lookups_per_minute, bytes_per_minute)
    made = _with_keys(
        data_dir,
        lambda keys: keys.create(
            name, [each.value for each in scope], expires_at, limits, collection, actor=acting_user()
        ),
        new=True,
    )
    _print_once(made)


def list_keys(data_dir: DataDir = None) -> None:
    """List the names, scopes and states of all keys, oldest first."""
    found = _with_keys(data_dir, lambda keys: keys.list_keys())
    if not found:
        notices().print("There is no key. Make one with: bookprint keys create --name NAME --scope SCOPE")
        return
    print_list(_KEYS, found)


def revoke(key_id: _KeyId, data_dir: DataDir = None) -> None:
    """Revoke a key for ever; it stops working within two seconds."""
    wanted = _uuid(key_id)
    ended = _with_keys(data_dir, lambda keys: keys.revoke(wanted, actor=acting_user()))
    results().print(f"The key {ended.name} ({ended.id}) is revoked.", soft_wrap=True)


def rotate(key_id: _KeyId, data_dir: DataDir = None) -> None:
    """Replace the secret of a key and print it. The old secret stops working within two seconds."""
    wanted = _uuid(key_id)
    _print_once(_with_keys(data_dir, lambda keys: keys.rotate(wanted, actor=acting_user())))


KEY_COMMANDS: dict[str, Callable[..., None]] = {
    "create": create,
    "list": list_keys,
    "revoke": revoke,
    "rotate": rotate,
}
"""The subcommands of `bookprint keys`, by name."""


def _with_keys(data_dir: DataDir, work: "Callable[[Keys], Awaitable[T]]", new: bool = False) -> T:
    async def on_services(services: "Services") -> T:
        return await work(services.keys)

    with library(load_settings(data_dir), new=new) as settings:
        return within(settings, on_services)


def _print_once(made: "ShownKey") -> None:
    # The key is alone on standard output, so that a script can read it.
    results().print(made.text, soft_wrap=True)
    bound = f", bound to the collection {made.key.collection}" if made.key.collection else ""
    notices().print(
        f"This is printed only once. It is the key {made.key.id} of {made.key.name}, with the scopes "
        f"{', '.join(made.key.scopes)}{bound}.",
        soft_wrap=True,
    )


def _limits(limits: "KeyLimits") -> str:
    named = {
        "requests/min": limits.requests_per_minute,
        "lookups/min": limits.lookups_per_minute,
        "bytes/min": limits.bytes_per_minute,
    }
    return ", ".join(f"{most} {name}" for name, most in named.items() if most is not None) or "-"


def _state(key: "Key") -> str:
    if key.revoked_at is not None:
        return "revoked"
    return "expired" if key.expires_at is not None and key.expires_at <= datetime.now(UTC) else "valid"


def _shown(moment: datetime) -> str:
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%MZ")


_KEYS = Listing(
    "keys",
    {
        "id": "id",
        "name": "name",
        "scopes": lambda key: " ".join(key.scopes),
        "state": _state,
        "created": lambda key: _shown(key.created_at),
        "expires": lambda key: "never" if key.expires_at is None else _shown(key.expires_at),
        "limits of its own": lambda key: _limits(key.limits),
        "collection": "collection",
    },
    wide="name",
)


def _uuid(text: str) -> UUID:
    try:
        return UUID(text)
    except ValueError as exc:
        raise UserError("This is not the id of a key. List the ids with: bookprint keys list", 2) from exc
