"""The one book that a command line names: by a file or folder, by its id or by its external id."""

from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import orjson

from app.cli.output import UserError, notices
from app.client import Client, calls
from app.core.errors import InvalidInput

if TYPE_CHECKING:
    from app.core.model import Submission


def read_one_book(file: Path) -> "Submission":
    """The book of a file or a folder; prints what was left out of it. Raises UserError."""
    from app.services.reading import read_path

    try:
        found = read_path(file)
    except InvalidInput as exc:
        raise UserError(f"{file}: {exc}") from exc
    except OSError as exc:
        raise _unreadable(file, exc) from exc
    for warning in found.warnings:
        notices().print(f"{file}: {warning}")
    return found


def read_signatures(file: Path) -> Any:
    """The document in a file that `bookprint sign` has written for one book; raises UserError."""
    try:
        return orjson.loads(file.read_bytes())
    except orjson.JSONDecodeError as exc:
        raise UserError(f"{file} does not hold signatures as `bookprint sign` prints them: {exc}") from exc
    except OSError as exc:
        raise _unreadable(file, exc) from exc


def named_book(service: Client, name: str) -> UUID:
    """The id of the book with this id or external id; raises UserError."""
    try:
        return UUID(name)
    except ValueError:
        for book in service.send(calls.list_books(external_id=name, limit=1))["items"]:
            return UUID(book["id"])
    raise UserError(
        f"{name} is no file, no identifier and no cluster, and no book has it as its id or external id.", 2
    )


def _unreadable(file: Path, error: OSError) -> UserError:
    return UserError(f"{file} cannot be read: {error.strerror}", 2)
