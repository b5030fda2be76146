"""The tables of pairs of books: relations, reviews and decisions."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    Double,
    ForeignKey,
    ForeignKeyConstraint,
    Identity,
    Index,
    Integer,
    LargeBinary,
    PrimaryKeyConstraint,
    Table,
    Text,
    Uuid,
    func,
)
from sqlalchemy.dialects.postgresql import JSONB, TIMESTAMP

from app.stores.postgres.schema import books, metadata

relations = Table(
    "relations",
    metadata,
    Column("left_id", ForeignKey(books.c.id, ondelete="CASCADE"), nullable=False),
    Column("right_id", ForeignKey(books.c.id, ondelete="CASCADE"), nullable=False),
    Column("left_entry", BigInteger, nullable=False),  # the contents that were compared
    Column("right_entry", BigInteger, nullable=False),
    Column("kind", Text, nullable=False),
    Column("direction", Text),  # of the left book
    Column("confidence", Double, nullable=False),
    Column("classifier", Text, nullable=False),
    Column("left_because", Text, nullable=False),
    Column("right_because", Text, nullable=False),
    Column("confidences", JSONB, nullable=False),
    Column("link", Double),  # share of text that joins the books in a cluster; null: not joined
    Column("doubt", Double),  # about the kind, 0 to 1; null: 1 - confidence
    Column("revised", Double),  # share of lines with other words or numbers; null: texts were not compared
    Column("signals", JSONB),  # null: too little text to measure
    Column("unit", Text),  # page or window
    Column("runs", JSONB, nullable=False, server_default="[]"),
    Column(
        "page_map", LargeBinary
    ),  # for each pair of pages: left page, right page, 255 · similarity, as little-endian int32
    Column("related_at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
    PrimaryKeyConstraint("left_id", "right_id"),
    CheckConstraint("left_id < right_id", name="ordered"),
)
Index("ix_relations_right_id", relations.c.right_id)

decisions = Table(
    "decisions",
    metadata,
    Column("left_id", ForeignKey(books.c.id, ondelete="CASCADE"), nullable=False),
    Column("right_id", ForeignKey(books.c.id, ondelete="CASCADE"), nullable=False),
    Column("left_entry", BigInteger, nullable=False),  # the contents that were judged
    Column("right_entry", BigInteger, nullable=False),
    Column("verdict", Text, nullable=False),  # confirmed, rejected or kind
    Column("kind", Text),  # confirmed, or named by the person; null: rejected
    Column("decided_at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
    Column("decided_by", Text),  # name of the actor; null: unknown
    PrimaryKeyConstraint("left_id", "right_id"),
    CheckConstraint("left_id < right_id", name="ordered"),
)
Index("ix_decisions_right_id", decisions.c.right_id)
Index(
    "ix_decisions_never",
    decisions.c.left_id,
    decisions.c.right_id,
    postgresql_where=(decisions.c.verdict == "rejected") | (decisions.c.kind == "UNRELATED"),
)

# One row for each relation in the queue.
reviews = Table(
    "reviews",
    metadata,
    Column("left_id", Uuid, nullable=False),
    Column("right_id", Uuid, nullable=False),
    Column("rank", Double, nullable=False),  # doubt, weighted by the number of affected books
    PrimaryKeyConstraint("left_id", "right_id"),
    ForeignKeyConstraint(
        ["left_id", "right_id"], [relations.c.left_id, relations.c.right_id], ondelete="CASCADE"
    ),
)
Index("ix_reviews_rank_left_id_right_id", reviews.c.rank, reviews.c.left_id, reviews.c.right_id)

# No foreign keys: the history also contains decisions on deleted books.
past_decisions = Table(
    "past_decisions",
    metadata,
    Column("sequence", BigInteger, Identity(always=True), primary_key=True),  # in order of writing
    Column("at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
    Column("left_id", Uuid, nullable=False),
    Column("right_id", Uuid, nullable=False),
    Column("author", Text, nullable=False),  # id of the key, else the name of the actor
    Column("name", Text),  # of the actor; null: unknown
    Column("verdict", Text, nullable=False),  # a verdict, or withdrawn, undone, unsure
    Column("kind", Text),
    Column("note", Text),
    Column("outcome", Text, nullable=False),  # counts, withdrawn, undone, unsure
    Column("left_entry", BigInteger),  # the contents that were judged; null: not known
    Column("right_entry", BigInteger),
    Column("before", BigInteger),  # the decision that counted until then; null: no decision
)
Index("ix_past_decisions_left_id_right_id", past_decisions.c.left_id, past_decisions.c.right_id)
Index("ix_past_decisions_right_id", past_decisions.c.right_id)
Index("ix_past_decisions_author_sequence", past_decisions.c.author, past_decisions.c.sequence)
Index("ix_past_decisions_name_sequence", past_decisions.c.name, past_decisions.c.sequence)

related_entries = Table(
    "related_entries",
    metadata,
    Column(
        "entry_id", ForeignKey(books.c.entry_id, ondelete="CASCADE"), primary_key=True, autoincrement=False
    ),
    Column("passed_over", Integer, nullable=False),  # number of candidates beyond those compared
)

relation_counts = Table(
    "relation_counts",
    metadata,
    Column("kind", Text, primary_key=True),
    Column("pairs", BigInteger, nullable=False),  # number of pairs ever compared
    Column("seconds", Double, nullable=False),  # duration of these comparisons
)
