"""The tables of the catalogue; the tables of pairs of books are in `pairs.schema`.

Migrations create the tables; a test compares migrations and tables.
"""

from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Computed,
    Dialect,
    Double,
    ForeignKey,
    Identity,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    PrimaryKeyConstraint,
    Sequence,
    Table,
    Text,
    Uuid,
    func,
    text,
)
from sqlalchemy.dialects.postgresql import ARRAY, JSONB, TIMESTAMP
from sqlalchemy.dialects.postgresql.asyncpg import PGDialect_asyncpg

from bookprint_core.metadata import FIELDS, MetadataField

DIALECT: Dialect = PGDialect_asyncpg()  # type: ignore[no-untyped-call]

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

entry_ids = Sequence("entry_ids", metadata=metadata)


def _of_metadata(field: MetadataField) -> Column[Any]:
    """Return the column of a metadata field."""
    if field.kind is tuple:
        return Column(field.name, ARRAY(Text), nullable=False, server_default="{}")
    kind = Integer if field.kind is int else Text
    return Column(field.name, kind, unique=True if field.name == "external_id" else None)


books = Table(
    "books",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column(
        "entry_id", BigInteger, entry_ids, nullable=False, unique=True, server_default=entry_ids.next_value()
    ),
    Column("version", Integer, nullable=False, server_default="1"),
    Column("content_key", LargeBinary, nullable=False),
    *(_of_metadata(each) for each in FIELDS),
    Column("title_words", ARRAY(Text), nullable=False, server_default="{}"),  # folded, for search
    Column("folded_title", Text(collation="C"), nullable=False, server_default=""),  # for search by prefix
    Column("name_keys", ARRAY(Integer), nullable=False, server_default="{}"),  # of title, authors and year
    Column("page_count", Integer),
    Column("page_labels", ARRAY(Text)),  # one per page, null for a page without a label; null: unknown
    Column("word_count", Integer, nullable=False),
    Column("character_count", BigInteger, nullable=False),
    Column("single_words", Integer),  # words that occur once; null: not counted
    Column("iscc", Text),  # of the present content; null: not computed
    Column("indexed_at", TIMESTAMP(timezone=True)),
    Column("created_at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
    Column("updated_at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
)
Index(
    "uq_books_content_key", books.c.content_key, unique=True, postgresql_where=books.c.external_id.is_(None)
)
Index("ix_books_identifiers", books.c.identifiers, postgresql_using="gin")
Index("ix_books_title_words", books.c.title_words, postgresql_using="gin")
Index("ix_books_iscc", books.c.iscc, postgresql_where=books.c.iscc.is_not(None))
Index("ix_books_folded_title", books.c.folded_title, books.c.id)
Index(
    "ix_books_name_keys",
    books.c.name_keys,
    postgresql_using="gin",
    postgresql_with={"gin_pending_list_limit": 256},  # kilobytes; every search reads this list
)
Index(
    "ix_books_collection",
    books.c.collection,
    books.c.id,
    postgresql_include=["entry_id"],
    postgresql_where=books.c.collection.is_not(None),
)
Index("ix_books_pending", books.c.entry_id, postgresql_where=books.c.indexed_at.is_(None))

signatures = Table(
    "signatures",
    metadata,
    Column("entry_id", ForeignKey(books.c.entry_id, ondelete="CASCADE"), nullable=False),
    Column("recipe", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
    Column("shingle_count", Integer),  # of a MinHash signature
    Column("unit", Text),  # of page signatures: page or window
    Column("places", LargeBinary),  # of the hashes of a sample; null: unknown
    Column(
        "written_by", BigInteger, nullable=False, server_default=text("pg_current_xact_id()::text::bigint")
    ),  # number of the transaction
    PrimaryKeyConstraint("entry_id", "recipe"),
)

Index(
    "ix_signatures_recipe_data",
    signatures.c.recipe,
    signatures.c.data,
    postgresql_where=signatures.c.recipe.in_(["md5-text", "textprofile-md5-v1"]),
)

Index(
    "ix_signatures_written_by_entry_id",
    signatures.c.written_by,
    signatures.c.entry_id,
    postgresql_where=signatures.c.recipe == "tfidf-simhash1024-v1",
)

texts = Table(
    "texts",
    metadata,
    Column("entry_id", ForeignKey(books.c.entry_id, ondelete="CASCADE"), primary_key=True),
    Column("codec", Text, nullable=False),
    Column("data", LargeBinary, nullable=False),
)

marc_records = Table(
    "marc_records",
    metadata,
    Column("book_id", ForeignKey(books.c.id, ondelete="CASCADE"), primary_key=True),
    Column("format", Text, nullable=False),  # marc, marcxml or marc-json
    Column("data", LargeBinary, nullable=False),  # as it was sent
    Column("changed", ARRAY(Text), nullable=False, server_default="{}"),  # fields that a client changed later
)

tombstones = Table(
    "tombstones",
    metadata,
    Column("entry_id", BigInteger, primary_key=True, autoincrement=False),
    Column("deleted_at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
)

queued_jobs = Table("procrastinate_jobs", metadata, Column("id", BigInteger, primary_key=True))
"""The table of the job queue, which its library defines; declared here only for a foreign key."""

job_failures = Table(
    "job_failures",
    metadata,
    Column("job_id", ForeignKey(queued_jobs.c.id, ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("reason", Text, nullable=False),  # of the last try that failed
    Column("deaths", Integer, nullable=False, server_default="0"),  # tries during which the worker died
    Column("failed_at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
)

failure_counts = Table(
    "failure_counts",
    metadata,
    Column("task", Text, primary_key=True),
    Column("tries", BigInteger, nullable=False),  # number of tries that ever failed
)

# No foreign keys below: they would lock books that a transaction waiting for the clusters has locked.
cluster_members = Table(
    "cluster_members",
    metadata,
    Column("by", Text, nullable=False),  # same_text or related
    Column("book_id", Uuid, nullable=False),
    Column("founder_id", Uuid, nullable=False),  # the oldest member, which names the cluster
    PrimaryKeyConstraint("by", "book_id"),
)
Index(
    "ix_cluster_members_by_founder_id_book_id",
    cluster_members.c.by,
    cluster_members.c.founder_id,
    cluster_members.c.book_id,
)

AGREEMENT_RANK = "CASE WHEN measured THEN coalesce(agreement, 2) ELSE 3 END"
"""SQL that ranks the weakest clusters first and unmeasured clusters last."""

clusters = Table(
    "clusters",
    metadata,
    Column("by", Text, nullable=False),
    Column("founder_id", Uuid, nullable=False),
    Column("size", Integer, nullable=False),
    Column(
        "written_by", BigInteger, nullable=False, server_default=text("pg_current_xact_id()::text::bigint")
    ),  # number of the transaction of the last change
    Column("measured", Boolean, nullable=False, server_default="false"),  # figures are of the present links:
    Column("agreement", Double),  # share of the weakest link; null: decided by a person, or too many books
    Column("kinds", JSONB),  # number of links of each kind; null: too many books
    Column("best_id", Uuid),
    Column(
        "size_rank", Double, Computed("-size", persisted=True), nullable=False
    ),  # the ranks order the lists
    Column("agreement_rank", Double, Computed(AGREEMENT_RANK, persisted=True), nullable=False),
    PrimaryKeyConstraint("by", "founder_id"),
)
Index("ix_clusters_by_size_rank_founder_id", clusters.c.by, clusters.c.size_rank, clusters.c.founder_id)
Index(
    "ix_clusters_by_agreement_rank_founder_id",
    clusters.c.by,
    clusters.c.agreement_rank,
    clusters.c.founder_id,
)
Index("ix_clusters_unmeasured", clusters.c.by, clusters.c.founder_id, postgresql_where=~clusters.c.measured)

cluster_borders = Table(
    "cluster_borders",
    metadata,
    Column("by", Text, nullable=False),
    Column("left_id", Uuid, nullable=False),  # founders of two separated clusters
    Column("right_id", Uuid, nullable=False),
    PrimaryKeyConstraint("by", "left_id", "right_id"),
    CheckConstraint("left_id < right_id", name="ordered"),
)
Index("ix_cluster_borders_by_right_id", cluster_borders.c.by, cluster_borders.c.right_id)

cluster_heirs = Table(
    "cluster_heirs",
    metadata,
    Column("by", Text, nullable=False),
    Column("book_id", Uuid, nullable=False),  # a deleted book
    Column("heir_id", Uuid, nullable=False),  # the oldest other book of its cluster
    PrimaryKeyConstraint("by", "book_id"),
)
Index("ix_cluster_heirs_by_heir_id", cluster_heirs.c.by, cluster_heirs.c.heir_id)

completeness = Table(
    "completeness",
    metadata,
    Column("book_id", Uuid, primary_key=True),
    Column(
        "written_by", BigInteger, nullable=False, server_default=text("pg_current_xact_id()::text::bigint")
    ),  # number of the transaction that last changed its copies or their pages
    Column("looked", Boolean, nullable=False, server_default="false"),  # compared since then
    Column("compared_with", ARRAY(Uuid)),  # null: no comparison was possible
    Column("findings", JSONB, nullable=False, server_default="[]"),
    Column("rank", Double),  # order of scans with faults; null: no faults
)
Index(
    "ix_completeness_stale",
    completeness.c.written_by,
    completeness.c.book_id,
    postgresql_where=~completeness.c.looked,
)
Index(
    "ix_completeness_rank_book_id",
    completeness.c.rank,
    completeness.c.book_id,
    postgresql_where=completeness.c.rank.is_not(None),
)

# No foreign keys below either: the feed also contains changes of deleted books.
unnumbered_changes = Table(
    "unnumbered_changes",
    metadata,
    Column("sequence", BigInteger, Identity(always=True), primary_key=True),  # in order of writing
    Column("at", TIMESTAMP(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("type", Text, nullable=False),
    Column("book_id", Uuid, nullable=False),
    Column("other_id", Uuid),  # of a relation
    Column("data", JSONB, nullable=False),
)

changes = Table(
    "changes",
    metadata,
    Column("position", BigInteger, primary_key=True, autoincrement=False),  # in order of commits, no gaps
    Column("at", TIMESTAMP(timezone=True), nullable=False),  # later than at the position before
    Column("type", Text, nullable=False),
    Column("book_id", Uuid, nullable=False),
    Column("other_id", Uuid),
    Column("data", JSONB, nullable=False),
)

webhooks = Table(
    "webhooks",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("url", Text, nullable=False),
    Column("types", ARRAY(Text)),  # of changes to deliver; null: all types
    Column("secret", Text, nullable=False),
    Column("former_secret", Text),  # also signs, until `former_until`
    Column("former_until", TIMESTAMP(timezone=True)),
    Column("position", BigInteger, nullable=False),  # all changes up to this position are delivered
    Column("created_at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
    Column("claimed_until", TIMESTAMP(timezone=True)),  # end of the claim of a worker
    Column("failures", Integer, nullable=False, server_default="0"),  # since the last delivery
    Column("failing_since", TIMESTAMP(timezone=True)),  # time of the first failure of the undelivered change
    Column("next_try_at", TIMESTAMP(timezone=True)),
    Column("last_error", Text),
    Column("disabled_at", TIMESTAMP(timezone=True)),
    Column("disabled_because", Text),
)

keys = Table(
    "keys",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("name", Text, nullable=False),
    Column("scopes", ARRAY(Text), nullable=False),
    Column("hash", LargeBinary, nullable=False, unique=True),  # SHA-256 of the key
    Column("requests_per_minute", Integer),  # null, here and below: the default limit
    Column("lookups_per_minute", Integer),
    Column("bytes_per_minute", BigInteger),
    Column("collection", Text),  # the only collection it writes to; null: all
    Column("created_at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
    Column("expires_at", TIMESTAMP(timezone=True)),  # null: never
    Column("revoked_at", TIMESTAMP(timezone=True)),
)

# Sessions of people who have signed in to the web pages.
sessions = Table(
    "sessions",
    metadata,
    Column("id", Uuid, primary_key=True),
    Column("hash", LargeBinary, nullable=False, unique=True),  # SHA-256 of the token
    Column("key_hash", LargeBinary, nullable=False),  # SHA-256 of the key, which may be the admin key
    Column("created_at", TIMESTAMP(timezone=True), nullable=False, server_default=func.now()),
    Column("expires_at", TIMESTAMP(timezone=True), nullable=False),
)

# No foreign keys: the log also contains entries about deleted objects.
audit = Table(
    "audit",
    metadata,
    Column("sequence", BigInteger, Identity(always=True), primary_key=True),  # in order of writing
    Column("at", TIMESTAMP(timezone=True), nullable=False, server_default=func.clock_timestamp()),
    Column("actor", Text, nullable=False),  # key, admin_key, anyone or command
    Column("key_id", Uuid),
    Column("name", Text, nullable=False),  # of the key at that time, or of the system user
    Column("address", Text),  # of the client, or name of the command's host
    Column("action", Text, nullable=False),
    Column("object_id", Uuid, nullable=False),
    Column("other_id", Uuid),  # of a decision
)
Index("ix_audit_at", audit.c.at, postgresql_using="brin")
Index(
    "ix_audit_action_sequence",
    audit.c.action,
    audit.c.sequence,
    postgresql_where=audit.c.action != "book.created",  # most entries are, so an index would not help
)
Index("ix_audit_object_id", audit.c.object_id)
Index("ix_audit_key_id", audit.c.key_id, postgresql_where=audit.c.key_id.is_not(None))
Index("ix_audit_other_id", audit.c.other_id, postgresql_where=audit.c.other_id.is_not(None))
