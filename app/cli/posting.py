"""Post many books at once; a book is in memory only while it is posted."""

import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import asdict
from typing import Any

from app.catalog.marc import forms
from app.catalog.marc.description import metadata_of
from app.services.books import IngestRun, Outcome
from bookprint_client import Client, Interrupted, NoService, Refused, calls
from bookprint_core.errors import OtherCollection, Refusal
from bookprint_core.model import PAGE_BREAK, Submission
from bookprint_core.signatures.identifier import of_signatures, written
from bookprint_core.signatures.json_codec import encode
from bookprint_readers.unread import Unread

_NOT_ALLOWED = {401, 403}


ReadBook = tuple[Unread, Submission | Refusal]
"""A book of a file, or the reason why it was refused."""

TellOutcome = Callable[[Unread, Outcome], None]
"""A function that receives a book and its outcome."""


def post_all(
    service: Client, books: Iterable[ReadBook], jobs: int, run: IngestRun, report: TellOutcome
) -> NoService | None:
    """Post every book over `jobs` connections. Outcomes are counted in `run` and sent to `report` one by one.

    Ends early if the user interrupts or the service stops answering; returns the error in the second case.
    Posts that have begun are finished.
    """
    posting = _Posting(service, iter(books), run, report)
    with ThreadPoolExecutor(jobs, thread_name_prefix="post") as pool:
        try:
            works = [pool.submit(posting.work) for _ in range(jobs)]
            # Without a timeout the main thread would not see Ctrl-C on every platform.
            while wait(works, 0.2).not_done:
                pass
        except KeyboardInterrupt:
            run.interrupt()
            service.stop.set()
    if posting.error is not None:
        raise posting.error
    return posting.stopped


class _Posting:
    """State that the posting threads share."""

    def __init__(
        self, service: Client, books: Iterator[ReadBook], run: IngestRun, report: TellOutcome
    ) -> None:
        self.stopped: NoService | None = None
        self.error: BaseException | None = None
        self._service = service
        self._books = books
        self._run = run
        self._report = report
        self._reading = threading.Lock()
        self._reporting = threading.Lock()

    def work(self) -> None:
        """Post one book after another until none remains or the run is stopped."""
        try:
            while (book := self._next()) is not None:
                outcome = _post(self._service, book[1])
                with self._reporting:
                    self._run.counts[outcome.kind] += 1
                    self._report(book[0], outcome)
        except Interrupted:
            return
        except NoService as exc:
            with self._reporting:
                self.stopped = self.stopped or exc
            self._service.stop.set()
        except BaseException as exc:
            self.error = exc
            self._service.stop.set()

    def _next(self) -> ReadBook | None:
        with self._reading:
            return None if self._service.stop.is_set() else next(self._books, None)


def _post(service: Client, book: Submission | Refusal) -> Outcome:
    if isinstance(book, Refusal):
        return Outcome("failed", book)
    try:
        answer = service.send(calls.post_book(book_body(book)))
    except Refused as exc:
        if exc.http_status in _NOT_ALLOWED and exc.problem != OtherCollection.problem:
            # The service would refuse every other book with this key too.
            raise NoService(str(exc)) from exc
        return Outcome("failed", Refusal(str(exc), exc.problem or "invalid"))
    if not answer["created"]:
        return Outcome("already there")
    return Outcome("pending" if answer["status"] == "pending" else "created")


def book_body(book: Submission) -> dict[str, Any]:
    """Return the body of POST /v1/books for a book."""
    named = {name: _listed(value) for name, value in asdict(book.metadata).items()}
    body: dict[str, Any] = {name: value for name, value in named.items() if value not in (None, [])}
    if book.record is not None:
        record = forms.single(book.record)
        said = metadata_of(record)
        # A field that repeats the record would count as a correction of the record.
        body = {name: value for name, value in body.items() if value != _listed(getattr(said, name))}
        body["marc"] = forms.to_document(record)
    if book.content is not None and book.content.page_count is not None:
        body["pages"] = book.content.text.split(PAGE_BREAK)
    elif book.content is not None:
        body["text"] = book.content.text
    elif (sketch := book.sketch) is not None and sketch.identified is not None:
        identifier = of_signatures(sketch, sketch.word_count)
        assert identifier is not None  # the book is known by its identifier only
        body["identifier"] = written(identifier)
    elif book.sketch is not None:
        body["signatures"] = encode(book.sketch)
    if book.page_labels:
        body["page_labels"] = list(book.page_labels)
    return body


def _listed(value: object) -> object:
    return list(value) if isinstance(value, tuple) else value
