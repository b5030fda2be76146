"""`bookprint master-copy`: the text of a cluster, in the reading that most of its copies share."""

from collections.abc import Iterator
from typing import Annotated

import typer

from app.cli.environment import DEFAULT_URL, KeyOption
from app.cli.lookup import named_book
from app.cli.output import notices, print_json, printable, results
from app.core.clusters.cluster_name import ClusterName
from app.core.clusters.clustering import By
from app.core.model import PAGE_BREAK
from bookprint_client import Client, calls
from bookprint_client.answers import MasterCopyAnswer, MasterPageAnswer

_PATIENCE = 10.0  # seconds
_PAGES_AT_ONCE = 50


def master_copy(
    cluster: Annotated[
        str,
        typer.Argument(
            metavar="CLUSTER|BOOK_ID|EXTERNAL_ID",
            help="Id or key of a cluster, or the id or external id of a book in it.",
        ),
    ],
    by: Annotated[By, typer.Option(help="Of a book: which of its two clusters.")] = "same_text",
    url: Annotated[str, typer.Option(help="Where the service answers.")] = DEFAULT_URL,
    key: KeyOption = None,
    json: Annotated[bool, typer.Option("--json", help="Print the pages as JSON, one a line.")] = False,
) -> None:
    """Print the master copy of a cluster: page by page, the reading that most copies share.

    Pages have U+000C between them. It takes three copies to correct one of them.
    """
    with Client(url, patience=_PATIENCE, key=key) as service:
        service.insist()
        answers = service.pages(calls.read_master_copy(_cluster(service, cluster, by), limit=_PAGES_AT_ONCE))
        report = _Report()
        between = ""
        for page in report.read(answers):
            if json:
                print_json(page)
            else:
                text = printable(page["text"]) if results().is_terminal else page["text"]
                results().file.write(f"{between}{text}")
                between = PAGE_BREAK
        results().file.flush()
    report.summarise()


class _Report:
    """Reads pages, and remembers from whom they are."""

    def __init__(self) -> None:
        self._answer: MasterCopyAnswer | None = None
        self._changed = 0

    def read(self, answers: Iterator[MasterCopyAnswer]) -> Iterator[MasterPageAnswer]:
        """All pages."""
        for answer in answers:
            self._answer = answer
            self._changed += sum(page["changed"] > 0 for page in answer["items"])
            yield from answer["items"]

    def summarise(self) -> None:
        """Say how many copies voted, and which books did not and why."""
        answer = self._answer
        assert answer is not None
        copies, unit = len(answer["copies"]), f"{answer['unit']}s"
        voted = "1 copy has" if copies == 1 else f"{copies} copies have"
        notices().print(
            f"{voted} voted; {self._changed:,} of {answer['page_count']:,} {unit} have other words than the "
            f"best copy, {answer['best_copy']['book_id']}."
        )
        for book in answer["left_out"]:
            notices().print(f"{book['book_id']} has not voted: {book['because']}")


def _cluster(service: Client, cluster: str, by: By) -> str:
    """The id of the cluster that is meant."""
    if ClusterName.read(cluster) is not None:
        return cluster
    return service.send(calls.cluster_of_book(named_book(service, cluster), by=by, limit=1))["id"]
