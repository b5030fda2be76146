"""What processes do with a book that is to be stored: read, check and sign it, or refuse it."""

from dataclasses import dataclass, replace

from app.core.errors import InvalidInput
from app.core.model import Submission
from app.core.recipe import Suites
from app.core.signatures.sketch import signature_key
from app.core.text.content import content_key
from app.readers.processes import Ask, Question
from app.readers.reading import Check, Refusal, refusal_of
from app.readers.unread import Unread
from app.services.bulk.storing import BulkOutcome, PreparedBook
from app.services.signing import Extras, computed, signed


@dataclass(frozen=True, slots=True)
class Known(Question):
    """Asks what would become of a book with this content key and external id.

    The answer is its outcome, or where it is new the suites to compute.
    """

    key: bytes
    external_id: str | None


@dataclass(frozen=True, slots=True)
class Prepare:
    """Reads a book and computes what is to be stored, unless the parent knows the outcome."""

    check: Check
    extras: Extras

    def __call__(self, book: Unread, ask: Ask) -> PreparedBook | Refusal | BulkOutcome:
        """The book ready to be stored, or the outcome where `Known` was answered with one."""
        try:
            submission = self.check(book.read())
            key = _key(submission)
            known: Suites | BulkOutcome = ask(Known(key, submission.metadata.external_id))
            if isinstance(known, BulkOutcome):
                return known
            if submission.content is not None:
                content = computed(submission.content, known, self.extras, key)
            else:
                assert submission.sketch is not None  # else it has no key
                content = signed(submission.sketch, known)
            content = replace(content, page_labels=submission.page_labels)
            return PreparedBook(submission.metadata, content, submission.record)
        except Exception as exc:
            return refusal_of(exc)


def _key(submission: Submission) -> bytes:
    if submission.content is not None:
        return content_key(submission.content)
    if submission.sketch is None:
        raise InvalidInput("A book needs one of text, pages or signatures.", "text")
    return signature_key(submission.sketch)
