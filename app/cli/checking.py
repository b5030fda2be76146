"""The rules of the HTTP interface, for books that do not come over it."""

from dataclasses import asdict, replace

from pydantic import ValidationError

from app.api.submissions import MetadataBody
from app.core.errors import FileTooLarge, InvalidInput
from app.core.json_limits import MAX_PAGES
from app.core.model import Submission


def checked(submission: Submission) -> Submission:
    """The book as a post of it would be taken; raises InvalidInput."""
    metadata, content = submission.metadata, submission.content
    if content is not None and (content.page_count or 0) > MAX_PAGES:
        raise FileTooLarge(f"The book has more than {MAX_PAGES:,} pages. Split it into its volumes.")
    fields = {
        name: list(value) if isinstance(value, tuple) else value for name, value in asdict(metadata).items()
    }
    try:
        body = MetadataBody.model_validate(fields)
    except ValidationError as exc:
        [first, *_] = exc.errors(include_url=False, include_input=False)
        where = ".".join(map(str, first["loc"]))
        raise InvalidInput(f"{where}: {first['msg']}.", where) from exc
    return replace(submission, metadata=body.to_metadata())
