"""`bookprint clusters`: books that belong together, with how well they hang together."""

from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Literal

import typer
from rich.console import RenderableType

from app.cli.environment import DEFAULT_URL, AsJson, CollectionOption, KeyOption, Url, service_at
from app.cli.output import UserError, notices, show, stacked, write_csv
from app.core.clusters.clustering import By
from bookprint_client import Client, calls
from bookprint_client.answers import ListedClusterAnswer

_PAGE = 1_000
_NUMBERS = ("size", "agreement")
_COLUMNS = (*_NUMBERS, "kinds", "id", "key", "founder_id", "founder_title", "best_id", "best_title")


def clusters(
    by: Annotated[By, typer.Option(help="Copies of one text, or books with any verified relation.")] = (
        "same_text"
    ),
    order: Annotated[
        Literal["size", "agreement"],
        typer.Option(help="The largest first; or those first that hang together least."),
    ] = "size",
    min_size: Annotated[int | None, typer.Option(min=2, help="Fewest books [2].")] = None,
    max_size: Annotated[int | None, typer.Option(min=2, help="Most books [any].")] = None,
    collection: CollectionOption = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most clusters to print [all].")] = None,
    url: Url = DEFAULT_URL,
    key: KeyOption = None,
    json: AsJson = False,
    table: Annotated[
        Path | None,
        typer.Option("--csv", metavar="FILE", help="Write them to a CSV file instead.", dir_okay=False),
    ] = None,
) -> None:
    """List clusters of two books or more: size, kinds of links, the weakest of these, and the best copy."""
    if json and table is not None:
        raise UserError("Give --json or --csv, not both.", 2)
    call = calls.list_clusters(
        by,
        min_size=min_size,
        max_size=max_size,
        collection=collection,
        order=order,
        limit=_PAGE if limit is None else min(limit, _PAGE),
    )
    count = pending = 0

    def read(service: Client) -> Iterator[ListedClusterAnswer]:
        nonlocal count, pending
        for page in service.pages(call):
            pending = page["pending"]
            for item in page["items"]:
                if count == limit:
                    return
                count += 1
                yield item

    with service_at(url, key) as service:
        if table is not None:
            write_csv(table, _COLUMNS, map(_cells, read(service)))
        else:
            show(read(service), _COLUMNS, _cells, json=json, drawn=_drawn, wide="cluster", right=_NUMBERS)
    told = f"; {pending:,} are not measured yet, ask again in a moment" if pending else ""
    notices().print(f"{count:,} {'cluster' if count == 1 else 'clusters'}{told}.")


def _drawn(item: ListedClusterAnswer) -> dict[str, RenderableType]:
    cells = dict(zip(_COLUMNS, _cells(item), strict=True))
    best = f"best copy {cells['best_id']} {cells['best_title']}".rstrip() if cells["best_id"] else ""
    told = stacked(cells["founder_title"] or "untitled", item["id"], best, cells["kinds"])
    return {**{name: cells[name] or "–" for name in _NUMBERS}, "cluster": told}


def _cells(item: ListedClusterAnswer) -> list[str]:
    """An item as the cells of `_COLUMNS`."""
    founder, best = item["founder"], item["best_copy"]
    return [
        str(item["size"]),
        "" if item["agreement"] is None else f"{item['agreement']:.4f}",
        " ".join(f"{kind}:{count}" for kind, count in sorted((item["kinds"] or {}).items())),
        *(item["id"], item["key"], founder["book_id"], founder["title"] or ""),
        *(("", "") if best is None else (best["book_id"], best["title"] or "")),
    ]
