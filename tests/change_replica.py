"""A copy of books, relations, decisions and clusters, kept by the changes of the feed alone."""

from dataclasses import dataclass, field
from typing import Any

from httpx import AsyncClient

from tests.api.posting import all_pages

Json = dict[str, Any]
Pair = tuple[str, str]


_TOLD = ("version", "external_id", "collection", "identifier")


@dataclass
class Replica:
    """What a client knows that has applied all changes."""

    books: dict[str, Json] = field(default_factory=dict)
    relations: dict[Pair, Json] = field(default_factory=dict)
    decisions: dict[Pair, Json] = field(default_factory=dict)
    clusters: dict[str, dict[str, str]] = field(
        default_factory=lambda: {"same_text": {}, "related": {}}
    )  # of each book

    def apply(self, item: Json) -> None:
        """Bring the copy up to date with a change; to apply one twice does no harm."""
        book, data = item["book_id"], item["data"]
        pair = (book, item["other_id"])
        match item["type"]:
            case "book.deleted":
                for known in (self.books, *self.clusters.values()):
                    known.pop(book, None)
            case "book.created":
                self.books[book] = {name: data[name] for name in _TOLD}
                for by, homes in self.clusters.items():
                    homes.setdefault(book, f"{by}-{book}")
            case "book.changed" | "book.content_replaced":
                self.books[book] = {name: data[name] for name in _TOLD}
            case "relation.found":
                self.relations[pair] = data
            case "relation.gone":
                self.relations.pop(pair, None)
            case "relation.decided" if data["verdict"] is None:
                self.decisions.pop(pair, None)
            case "relation.decided":
                self.decisions[pair] = data
            case "cluster.changed":
                self.clusters[data["by"]] |= dict.fromkeys(data["joined"], data["id"])


async def state_of(client: AsyncClient) -> Replica:
    """What the service itself answers about everything."""
    state = Replica()
    pages = await all_pages(client, "/v1/books", limit=1000)
    for book in [book for page in pages for book in page["items"]]:
        state.books[book["id"]] = {name: book[name] for name in _TOLD}
        for item in (await client.get(book["links"]["relations"])).json()["items"]:
            if item["via"] is None and book["id"] < item["book_id"]:
                _note(state, (book["id"], item["book_id"]), item)
        for by, homes in state.clusters.items():
            cluster = (await client.get(f"{book['links']['self']}/cluster", params={"by": by})).json()
            homes[book["id"]] = cluster["id"]
    return state


def _note(state: Replica, pair: Pair, item: Json) -> None:
    found = item["machine"] or (item if item["decision"] is None else None)
    if found is not None and found["kind"] is not None:
        state.relations[pair] = {name: found[name] for name in ("kind", "direction", "confidence")}
    if item["decision"] is not None:
        state.decisions[pair] = {name: item["decision"][name] for name in ("verdict", "kind", "decided_by")}


def rounded(state: Replica) -> Replica:
    """The copy with confidences as answers show them."""
    relations = {
        pair: relation | {"confidence": round(relation["confidence"], 4)}
        for pair, relation in state.relations.items()
    }
    return Replica(state.books, relations, state.decisions, state.clusters)
