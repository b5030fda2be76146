"""The works and parts that a volume contains, as a document."""

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
    """A book of the library that shares pages with the volume."""

    book_id: UUID
    title: str | None
    authors: list[str]
    year: int | None
    volume: str | None
    cluster: ClusterNameAnswer = Field(description="Cluster of the book's copies; only this copy is listed.")
    pages: Pages | None = Field(
        description="Pages of that book, from 0, end exclusive; null: page breaks unknown."
    )
    share: Share = Field(description="Share of that book's text that the volume contains, 0 to 1.")

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
    """Pages of the volume, counted from 0, end exclusive."""

    kind: PartKind = Field(
        description="work: a whole book. passage: a part of a book. gap: found in no other book."
    )
    pages: Pages
    labels: tuple[str | None, str | None] | None = Field(
        description="Page labels of the first and the last page; null: unknown."
    )
    level: int = Field(description="Number of longer works that contain this part.")
    books: list[PartBook] = Field(
        description="Books with these pages, one per cluster, the largest share first. Empty for a gap."
    )


class WholeAnswer(Document):
    """A book that contains the volume."""

    book_id: UUID
    title: str | None
    pages: list[Pages] = Field(description="Pages of that book; empty: page breaks unknown.")


class SetVolumeAnswer(Document):
    """A book with a volume number."""

    number: int
    book_id: UUID


class SetAnswer(Document):
    """The volumes of a set that the book contains, by the volume numbers in their metadata."""

    volumes: list[SetVolumeAnswer]
    total: int | None = Field(description="Number of volumes by the metadata, as in: vol. 2 of 5.")
    missing: list[int] = Field(description="Missing numbers up to the total, or up to the last volume.")


class ContentsAnswer(Document):
    """The parts of a book that occur in other books of the library."""

    unit: Unit = Field(description="window: the book has no pages, so windows of words replace them.")
    page_count: int
    parts: list[VolumePartAnswer] = Field(
        description="Parts in order; a work may contain another. Empty: no part is in another book."
    )
    part_of: list[WholeAnswer]
    set: SetAnswer | None = Field(description="Null if no part has a volume number in its metadata.")

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


@router.get("", summary="Read what a volume contains", scope="read")
async def read_contents(book_id: BookId, services: ServicesDep) -> ContentsAnswer:
    """Lists the books of the library that a volume contains, in the order of its pages, with gaps.

    The result is derived from the book's relations, page by page. Copies of one work are one part. A whole
    work takes precedence over a passage shared with another book.
    """
    return ContentsAnswer.of(await services.volumes.contents(book_id))
