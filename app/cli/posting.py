"""Posting many books at once; each is in memory only while it is being posted."""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass, field
from typing import Any

from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of
from app.core.model import PAGE_BREAK, Submission
from app.core.signatures.json_codec import encode
from app.readers.reading import Refusal
from app.readers.unread import Unread
from app.services.storing import KINDS, Kind
from bookprint_client import Client, Interrupted, NoService, Refused, calls

_NOT_ALLOWED = {401, 403}


@dataclass(frozen=True, slots=True, eq=False)
class Record:
    """One book of a file, or the reason why it is none."""

    place: str  # the file, and the line where a file holds several books
    position: int  # bytes of the file read up to the end of this book
    book: Submission | Refusal
    path: str = ""  # the file alone
    part: str = ""  # which of its books


@dataclass(frozen=True, slots=True, eq=False)
class Outcome:
    """The fate of one record."""

    record: Record
    kind: Kind
    reason: str | None = None  # of a failure
    problem: str | None = None  # last part of its problem type
    answer: Mapping[str, Any] = field(default_factory=dict)  # the service's JSON


@dataclass(slots=True)
class Tally:
    """The number of records by outcome, and the reason why posting stopped early, if it did."""

    counts: dict[Kind, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    stopped: NoService | None = None
    interrupted: bool = False

    @property
    def total(self) -> int:
        """Records that have an outcome."""
        return sum(self.counts.values())

    @property
    def complete(self) -> bool:
        """Whether every record was posted and none failed."""
        return self.stopped is None and not self.interrupted and not self.counts["failed"]


def post_all(
    service: Client, records: Iterable[Record], jobs: int, report: Callable[[Outcome, Tally], None]
) -> Tally:
    """Post every record with `jobs` connections; `report` gets each outcome, one at a time.

    Ends early when the service stays away or the user interrupts; posts under way are still finished.
    """
    run = _Run(service, iter(records), report)
    with ThreadPoolExecutor(jobs, thread_name_prefix="post") as pool:
        try:
            works = [pool.submit(run.work) for _ in range(jobs)]
            # Without a timeout the main thread would not see Ctrl-C on every platform.
            while wait(works, 0.2).not_done:
                pass
        except KeyboardInterrupt:
            run.tally.interrupted = True
            service.stop.set()
    if run.error is not None:
        raise run.error
    return run.tally


class _Run:
    """The state that the posting threads share."""

    def __init__(
        self, service: Client, records: Iterator[Record], report: Callable[[Outcome, Tally], None]
    ) -> None:
        self.tally = Tally()
        self.error: BaseException | None = None
        self._service = service
        self._records = records
        self._report = report
        self._reading = threading.Lock()
        self._reporting = threading.Lock()

    def work(self) -> None:
        """Post one record after the other until there are none or the run is stopped."""
        try:
            while (record := self._next()) is not None:
                outcome = _post(self._service, record)
                with self._reporting:
                    self.tally.counts[outcome.kind] += 1
                    self._report(outcome, self.tally)
        except Interrupted:
            return
        except NoService as exc:
            with self._reporting:
                self.tally.stopped = self.tally.stopped or exc
            self._service.stop.set()
        except BaseException as exc:
            self.error = exc
            self._service.stop.set()

    def _next(self) -> Record | None:
        with self._reading:
            return None if self._service.stop.is_set() else next(self._records, None)


def _post(service: Client, record: Record) -> Outcome:
    if isinstance(record.book, Refusal):
        return Outcome(record, "failed", record.book.reason, record.book.problem)
    try:
        answer = service.send(calls.post_book(book_body(record.book)))
    except Refused as exc:
        if exc.http_status in _NOT_ALLOWED:
            # No other book would be taken with this key.
            raise NoService(str(exc)) from exc
        return Outcome(record, "failed", str(exc), exc.problem)
    if not answer["created"]:
        return Outcome(record, "already there", answer=answer)
    return Outcome(record, "pending" if answer["status"] == "pending" else "created", answer=answer)


def to_record(book: Unread, result: Submission | Refusal) -> Record:
    """The book as it is posted."""
    return Record(book.place, book.position, result, book.path, book.part)


def book_body(book: Submission) -> dict[str, Any]:
    """The book as POST /v1/books takes it."""
    metadata = book.metadata
    named = {
        "title": metadata.title,
        "authors": list(metadata.authors),
        "language": metadata.language,
        "year": metadata.year,
        "volume": metadata.volume,
        "external_id": metadata.external_id,
        "identifiers": list(metadata.identifiers),
    }
    body: dict[str, Any] = {name: value for name, value in named.items() if value not in (None, [])}
    if book.record is not None:
        record = forms.single(book.record)
        said = metadata_of(record)
        # What the record says itself would count as said otherwise.
        body = {name: value for name, value in body.items() if value != _listed(getattr(said, name))}
        body["marc"] = forms.to_document(record)
    if book.content is not None and book.content.page_count is not None:
        body["pages"] = book.content.text.split(PAGE_BREAK)
    elif book.content is not None:
        body["text"] = book.content.text
    elif book.sketch is not None:
        body["signatures"] = encode(book.sketch)
    if book.page_labels:
        body["page_labels"] = list(book.page_labels)
    return body


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
