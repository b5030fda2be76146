"""`bookprint changes`: what has changed, as lines of JSON."""

from typing import Annotated

import typer

from app.cli.environment import DEFAULT_URL, KeyOption
from app.cli.output import print_json
from bookprint_client import Client, calls

_PATIENCE = 10.0  # seconds
_FOLLOWING_WAIT = 30.0  # seconds
_MOST_ITEMS = 1000  # in one answer


def changes(
    after: Annotated[
        str | None,
        typer.Option(help="Only what comes behind this cursor; `now` for the present end."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", help="Go on until Ctrl-C, as changes come.")] = False,
    url: Annotated[str, typer.Option(help="Where the service answers.")] = DEFAULT_URL,
    key: KeyOption = None,
) -> None:
    """Print the changes of books, relations and clusters as JSON, one a line, oldest first.

    Each line has a `cursor`; go on behind it with --after. Changes are kept for thirty days.
    """
    # Who follows waits for as long as the service is away.
    with Client(url, patience=float("inf") if follow else _PATIENCE, key=key) as service:
        service.insist()
        wait = _FOLLOWING_WAIT if follow else None
        while True:
            answer = service.send(calls.list_changes(after, wait=wait, limit=_MOST_ITEMS))
            for item in answer["items"]:
                print_json(item)
            after = answer["next_cursor"]
            if not follow and not answer["items"]:
                return
