"""Changes as they are written, in the transactions that make them and before they have a position.

Each is written after the row or the lock that it tells of is held. So of two changes of one book the later
one has the higher sequence number, and its transaction commits later.
"""

from collections.abc import Mapping, Sequence
from uuid import UUID

from app.core.clusters.clustering import By
from app.core.model import Book, ChangeType, Fingerprint
from app.core.signatures import identifier
from app.stores.postgres.changes.cluster_moves import ClusterMoves
from app.stores.postgres.connections import Connection, rows
from app.stores.postgres.statements import SQL

_INSERT_CREATED = SQL("""
    INSERT INTO unnumbered_changes (type, book_id, data)
    SELECT 'book.created', id, jsonb_build_object(
        'version', 1, 'external_id', external_id, 'identifier', identifier
    )
    FROM unnest($ids::uuid[], $external_ids::text[], $identifiers::text[])
        AS created (id, external_id, identifier)
""")
_INSERT_CLUSTERS = SQL("""
    INSERT INTO unnumbered_changes (type, book_id, data)
    SELECT 'cluster.changed', book_id, data
    FROM jsonb_to_recordset($changes::jsonb) AS changed (book_id uuid, data jsonb)
""")


def insert_book_changes(kind: ChangeType, books: str) -> str:
    """SQL that writes a change of each row of a table with the columns id, version and external_id.

    For use within the statement that changes the books, which has a parameter `identifier`.
    """
    return f"""
        INSERT INTO unnumbered_changes (type, book_id, data)
        SELECT '{kind}', id, jsonb_build_object(
            'version', version, 'external_id', external_id, 'identifier', $identifier::text
        )
        FROM {books}
    """


def insert_pair_changes(kind: ChangeType, pairs: str, *data: str) -> str:
    """SQL that writes a change of each pair in a table; `data` are the columns of it to tell."""
    named = ", ".join(f"'{column}', {column}" for column in data)
    return f"""
        INSERT INTO unnumbered_changes (type, book_id, other_id, data)
        SELECT '{kind}', left_id, right_id, jsonb_build_object({named}) FROM {pairs}
    """


def insert_withdrawals(pairs: str) -> str:
    """SQL that writes that the decision on each pair in a table is withdrawn."""
    return insert_pair_changes(
        "relation.decided",
        f"""(
            SELECT left_id, right_id, NULL AS verdict, NULL AS kind, NULL AS decided_by FROM {pairs}
        ) AS withdrawn""",
        *("verdict", "kind", "decided_by"),
    )


def identifier_of(fingerprint: Fingerprint | None, word_count: int) -> str | None:
    """The identifier that a change of a book tells; none without a fingerprint."""
    return None if fingerprint is None else identifier.encode(fingerprint, word_count)


def identifier_of_book(book: Book) -> str | None:
    """The identifier of a book as it is stored."""
    return identifier_of(book.fingerprint, book.word_count)


async def insert_created(connection: Connection, books: Mapping[UUID, tuple[str | None, str | None]]) -> None:
    """Write that these books were created, in their order: id, and external id and identifier."""
    await rows(
        connection,
        _INSERT_CREATED,
        ids=list(books),
        external_ids=[external_id for external_id, _ in books.values()],
        identifiers=[each for _, each in books.values()],
    )


async def insert_cluster_changes(
    connection: Connection, by: By, moves: ClusterMoves, deleted: UUID | None
) -> None:
    """Write which clusters books have joined and left; a book that is `deleted` has joined none."""
    changes: Sequence[Mapping[str, object]] = moves.changes(by, deleted)
    if changes:
        await rows(connection, _INSERT_CLUSTERS, changes=changes)
