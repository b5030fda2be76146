"""`bookprint changes` and `audit`: what has changed, and who has written what."""

from itertools import islice
from typing import Annotated

import typer
from rich.console import RenderableType

from app.cli.environment import DEFAULT_URL, AsJson, CollectionOption, KeyOption, Url, moment, service_at
from app.cli.output import notices, print_json, show, stacked
from bookprint_client import calls
from bookprint_client.answers import Action, AuditAnswer

_PATIENCE = 10.0  # seconds
_FOLLOWING_WAIT = 30.0  # seconds
_MOST_ITEMS = 1_000  # in one answer
_COLUMNS = ("at", "actor", "name", "key_id", "address", "action", "object_id", "other_id")

_Time = Annotated[str | None, typer.Option(metavar="TIME", help="As 2027-01-31 or 2027-01-31T18:00+01:00.")]


def changes(
    after: Annotated[
        str | None,
        typer.Option(help="Only what comes behind this cursor; `now` for the present end."),
    ] = None,
    collection: CollectionOption = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C, as changes come.")] = False,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
) -> None:
    """Print the changes of books, relations and clusters as JSON, one a line, oldest first.

    Each line has a `cursor`; go on behind it with --after. Changes are kept for thirty days.
    """
    # Who follows waits for as long as the service is away.
    patience, wait = (float("inf"), _FOLLOWING_WAIT) if follow else (_PATIENCE, None)
    with service_at(url, key, patience) as service:
        while True:
            asked = calls.list_changes(after, collection=collection, wait=wait, limit=_MOST_ITEMS)
            answer = service.send(asked)
            for item in answer["items"]:
                print_json(item)
            after = answer["next_cursor"]
            if not follow and not answer["items"]:
                return


def audit(
    key_id: Annotated[
        str | None, typer.Option(metavar="ID", help="Only what was done with the key of this id.")
    ] = None,
    action: Annotated[Action | None, typer.Option(help="Only this.")] = None,
    object_id: Annotated[
        str | None,
        typer.Option("--object", metavar="ID", help="Only what was done to this book, key or webhook."),
    ] = None,
    since: _Time = None,
    until: _Time = None,
    limit: Annotated[int, typer.Option(min=1, help="Most entries to print.")] = 100,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
) -> None:
    """Print who has written what, when and from where, the newest first.

    The service asks for a key with the scope admin. What happened at the time of --until is not included.
    """
    call = calls.list_audit(
        key_id=key_id,
        action=action,
        object_id=object_id,
        since=None if since is None else moment(since, "--since").isoformat(),
        until=None if until is None else moment(until, "--until").isoformat(),
        limit=min(limit + 1, _MOST_ITEMS),
    )
    with service_at(url, key) as service:
        entries = list(islice(service.items(call), limit + 1))
    shown = entries[:limit]
    show(shown, _COLUMNS, _cells, json=json, drawn=_drawn, wide="by")
    noun = "entry" if len(shown) == 1 else "entries"
    notices().print(f"{len(shown):,} {noun}{'; there are more' if len(entries) > limit else ''}.")


def _drawn(entry: AuditAnswer) -> dict[str, RenderableType]:
    """Without the ids of keys: side by side they do not fit an ordinary terminal."""
    actor, written = entry["actor"], entry["object"]
    return {
        "at": f"{entry['at'][:19]}Z",
        "action": stacked(entry["action"], written["id"], written["other_id"] or ""),
        "by": stacked(actor["name"], actor["address"] or ""),
    }


def _cells(entry: AuditAnswer) -> tuple[str, ...]:
    """An entry as the cells of `_COLUMNS`."""
    actor, written = entry["actor"], entry["object"]
    return (
        entry["at"],
        actor["kind"],
        actor["name"],
        actor["key_id"] or "",
        actor["address"] or "",
        entry["action"],
        written["id"],
        written["other_id"] or "",
    )
