"""Similar books and the map as JSON answers; their fields are explained at /docs."""

from typing import TypedDict


class SimilarBookJson(TypedDict):
    """A book with another text that is like the one asked about."""

    id: str
    title: str | None
    authors: list[str]
    similarity: float


class SimilarBooksJson(TypedDict):
    """The books most like a book."""

    recipe: str
    items: list[SimilarBookJson]


class MapPlaceJson(TypedDict):
    """A book and its place on the map."""

    id: str
    title: str | None
    authors: list[str]
    language: str | None
    x: float
    y: float


class MapJson(TypedDict):
    """A page of the map of books."""

    recipe: str
    items: list[MapPlaceJson]
    next_cursor: str | None
