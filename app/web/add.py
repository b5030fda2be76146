"""The page that adds books from files and shows the result of each file."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import PurePath

import structlog
from fastapi import Request
from starlette.datastructures import UploadFile
from starlette.responses import Response

from app.api.http.deps import ActorDep, MetricsDep, ServicesDep
from app.api.http.files import changes_in_form, shown_name, spooled
from app.api.http.problems import Problem, RequestRefusal, problem_of
from app.api.http.usage import count_lookups
from app.services.books import told_of_post
from app.services.index.questions import Match, Verified
from app.web.rendering import page
from app.web.routes import PageRouter
from bookprint_core.errors import InvalidInput, Unavailable
from bookprint_core.metadata import FIELDS
from bookprint_core.model import Book

log = structlog.get_logger()

MOST_NEAR = 5  # near-duplicates shown for a book

_OF_SEVERAL = {"language", "collection"}  # fields that may be set for several files at once
_OF_ONE = [each for each in FIELDS if each.name not in _OF_SEVERAL | {"external_id"}]

router = PageRouter()


@router.get("/add", scope="ingest")
async def show_add(request: Request) -> Response:
    """Show the form for files and the fields of a book."""
    return page(request, "add.html", outcomes=None, fields=_OF_ONE)


@router.post("/add", scope="ingest")
async def add_files(
    request: Request, services: ServicesDep, actor: ActorDep, metrics: MetricsDep
) -> Response:
    """Add the files one after another. An unreadable file does not stop the other files."""
    form = await request.form()
    files = [file for file in form.getlist("file") if isinstance(file, UploadFile) and file.filename]
    if not files:
        raise InvalidInput("No file was sent. Choose at least one file.", "file")
    known, record = await changes_in_form(form)
    if len(files) > 1 and (record is not None or not known.keys() <= _OF_SEVERAL):
        names = ", ".join(each.label for each in _OF_ONE)
        raise InvalidInput(
            f"{names} and a record describe one book, but several files were sent. Leave these fields empty, "
            "or send the files one by one."
        )

    async def added(file: UploadFile) -> _AddedFile:
        name = shown_name(file.filename)
        try:
            descriptor = await asyncio.to_thread(spooled, file.file)
            sent = await request.app.state.reading.read(descriptor, name, known, record)
            if sent.metadata.title is None:
                title = PurePath(name).stem.replace("_", " ").strip()
                sent = replace(sent, metadata=replace(sent.metadata, title=title or None))
            stored = await services.ingest.post(sent, actor=actor)
            metrics.count_post(stored.created)
        except Exception as error:
            problem = problem_of(error)
            if problem.status == 500:
                log.exception("file failed", name=name)
            return _AddedFile(name, problem=problem)
        warnings, near = [*sent.warnings, *told_of_post(stored, sent, actor)], None
        with suppress(Unavailable, RequestRefusal):
            await count_lookups(request.scope, 1)
            metrics.count_lookup(Verified())
            near = await services.lookup.near_duplicates(stored.book.id, Verified(), None, MOST_NEAR)
        return _AddedFile(name, stored.book, stored.created, warnings, None if near is None else near.matches)

    return page(request, "add.html", outcomes=[await added(file) for file in files], fields=_OF_ONE)


@dataclass(frozen=True, slots=True)
class _AddedFile:
    """Result of one file: its book, or the problem with it."""

    name: str
    book: Book | None = None
    is_new: bool = False
    warnings: Sequence[str] = ()
    near: Sequence[Match] | None = None  # None: the lookup failed
    problem: Problem | None = None
