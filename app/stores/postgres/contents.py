"""The content of a book as statements store it: its signatures, its text, and the job that relates it."""

from typing import Any

from app.core.model import NewContent
from app.stores.postgres.changes import identifier_of
from app.stores.postgres.jobs import insert_relate_jobs_of
from app.stores.postgres.rows import content_signature_values, page_label_values
from app.stores.postgres.suites import LOCKED_SUITES, suite_lines
from app.stores.postgres.texts import CODEC

LOCK_SUITES = f"""
    held AS MATERIALIZED ({LOCKED_SUITES}),
    agreed AS MATERIALIZED (
        SELECT count(*) = cardinality($suites::text[]) AND bool_and(suite = ANY($suites::text[]))
            AS agreed
        FROM held
    )
"""
"""Whether the content was computed for the suites that are indexed, which stay so until the end."""

STORE_CONTENT = f"""
    signed AS (
        INSERT INTO signatures (entry_id, recipe, data, shingle_count, unit)
        SELECT entry_id, signature.*
        FROM stored, unnest(
            $recipes::text[], $signatures::bytea[], $counts::integer[], $units::text[]
        ) AS signature
    ),
    kept AS (
        INSERT INTO texts (entry_id, codec, data)
        SELECT entry_id, $codec, $text::bytea FROM stored WHERE $text::bytea IS NOT NULL
    ),
    deferred AS MATERIALIZED ({insert_relate_jobs_of("stored")})
    SELECT agreed, entry_id FROM agreed LEFT JOIN stored ON true LEFT JOIN deferred ON true
"""
"""The signatures, the text and the relate job of the entry in `stored`."""


def content_values(content: NewContent) -> dict[str, Any]:
    """The content as parameters of a statement that stores it."""
    signatures = content_signature_values(content)
    return {
        "suites": suite_lines(content.suites),
        "content_key": content.key,
        "identifier": identifier_of(content.sketch.fingerprint, content.sketch.word_count),
        "page_count": content.sketch.page_count,
        "page_labels": page_label_values(content.page_labels),
        "word_count": content.sketch.word_count,
        "character_count": content.sketch.character_count,
        "iscc": content.iscc,
        "recipes": [row["recipe"] for row in signatures],
        "signatures": [row["data"] for row in signatures],
        "counts": [row["shingle_count"] for row in signatures],
        "units": [row["unit"] for row in signatures],
        "codec": CODEC,
        "text": content.compressed_text,
    }
