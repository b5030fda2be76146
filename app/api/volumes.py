"""The contents of a volume, and their document."""

from collections.abc import Sequence
from typing import Self
from uuid import UUID

from pydantic import Field

from app.api.http.deps import BookId, ServicesDep
from app.api.http.routes import SubjectRouter
from app.api.schemas.clusters import ClusterNameAnswer
from app.api.schemas.documents import Document, Share
from app.services.volumes import PartKind, VolumeContents
from bookprint_core.clusters.cluster_name import ClusterName
from bookprint_core.relations.alignment import Unit
from bookprint_core.relations.volume import Span

Pages = tuple[int, int]


class PartBook(Document):
    """A book of the library that has a part of the volume, or has the volume as a part."""

    book_id: UUID
    title: str | None
    authors: list[str]
    year: int | None
    volume: str | None
    cluster: ClusterNameAnswer = Field(description="The copies of its text; the others are not listed.")
    pages: Pages | None = Field(
        description="In that book, from the first to the last; null where its pages are not known."
    )
    share: Share = Field(description="Of its text that the volume has, 0 to 1.")

    @classmethod
    def of(cls, contents: VolumeContents, book_id: UUID, pages: Span, share: float) -> Self:
        book = contents.books[book_id]
        metadata = book.metadata
        return cls(
            book_id=book_id,
            title=metadata.title,
            authors=list(metadata.authors),
            year=metadata.year,
            volume=metadata.volume,
            cluster=ClusterNameAnswer.model_validate(ClusterName("same_text", book.founder_id)),
            pages=None if book.page_count is None else pages,
            share=share,
        )


class VolumePartAnswer(Document):
    """Pages of the volume, counted from 0, the end exclusive."""

    kind: PartKind = Field(
        description="Work: the volume contains a book. Passage: a part of a book. Gap: known nowhere else."
    )
    pages: Pages
    labels: tuple[str | None, str | None] | None = Field(
        description="What is printed on the first and the last page as its number; null: none is known."
    )
    level: int = Field(description="How many longer works it lies within.")
    books: list[PartBook] = Field(
        description="Those that have these pages, one of each cluster: first the one that the volume has "
        "most of. Empty: a gap."
    )


class WholeAnswer(Document):
    """A book that contains the volume."""

    book_id: UUID
    title: str | None
    pages: list[Pages] = Field(description="Of that book; empty where its pages are not known.")


class SetVolumeAnswer(Document):
    """A volume of a set."""

    number: int
    book_id: UUID


class SetAnswer(Document):
    """The volumes among the parts of a whole, by the numbers in their metadata."""

    volumes: list[SetVolumeAnswer]
    total: int | None = Field(description="As metadata say it, as in: vol. 2 of 5.")
    missing: list[int] = Field(description="Numbers up to the total, or to the last, that are not there.")


class ContentsAnswer(Document):
    """The contents of a book, as far as other books of the library tell."""

    unit: Unit = Field(description="Windows of words stand for pages where these are not known.")
    page_count: int
    parts: list[VolumePartAnswer] = Field(
        description="In order. A work may lie within another; empty: no part of it is known elsewhere."
    )
    part_of: list[WholeAnswer]
    set: SetAnswer | None = Field(description="Null where metadata number none of its parts.")

    @classmethod
    def of(cls, contents: VolumeContents) -> Self:
        found, books = contents.set, contents.books
        return cls(
            unit="window" if contents.book.page_count is None else "page",
            page_count=contents.page_count,
            parts=[
                VolumePartAnswer(
                    kind=part.kind,
                    pages=part.pages,
                    labels=_labels(contents.labels, part.pages),
                    level=part.level,
                    books=[
                        PartBook.of(contents, source.book_id, source.pages, source.share)
                        for source in part.sources
                    ],
                )
                for part in contents.parts
            ],
            part_of=[
                WholeAnswer(
                    book_id=whole.book_id,
                    title=books[whole.book_id].metadata.title,
                    pages=[there for _, there in whole.spans] if books[whole.book_id].page_count else [],
                )
                for whole in contents.wholes
            ],
            set=found
            and SetAnswer(
                volumes=[
                    SetVolumeAnswer(number=number, book_id=each) for number, each in found.volumes.items()
                ],
                total=found.total,
                missing=list(found.missing),
            ),
        )


def _labels(labels: Sequence[str | None] | None, pages: Span) -> tuple[str | None, str | None] | None:
    return (labels[pages[0]], labels[pages[1] - 1]) if labels else None


router = SubjectRouter(
    "/v1/books/{book_id}/contents", tag="contents", description="The works and parts that a volume contains."
)


@router.get("", summary="Tell what a volume contains", scope="read")
async def read_contents(book_id: BookId, services: ServicesDep) -> ContentsAnswer:
    """Lists the books of the library whose pages a volume has, in the order of its pages, with the gaps.

    They come from the book's relations, page by page. Copies of one work are one part. A work that the
    volume contains is named before a passage that it shares with a part of another book.
    """
    return ContentsAnswer.of(await services.volumes.contents(book_id))
