"""The content of a book as statements store it: its signatures, its text, and the job that relates it."""

from typing import Any

from app.core.model import NewContent
from app.stores.postgres.changes import identifier_of
from app.stores.postgres.jobs import insert_relate_jobs_of
from app.stores.postgres.rows import SIGNATURE_COLUMNS, content_signature_values, content_values
from app.stores.postgres.schema import array_parameters, signatures
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

_OF_SIGNATURE = SIGNATURE_COLUMNS[1:]  # but for the entry

STORE_CONTENT = f"""
    signed AS (
        INSERT INTO signatures ({", ".join(SIGNATURE_COLUMNS)})
        SELECT entry_id, signature.*
        FROM stored, unnest({array_parameters(signatures, _OF_SIGNATURE)}) AS signature
    ),
    kept AS (
        INSERT INTO texts (entry_id, codec, data)
        SELECT entry_id, $codec, $text::bytea FROM stored WHERE $text::bytea IS NOT NULL
    ),
    deferred AS MATERIALIZED ({insert_relate_jobs_of("stored")})
    SELECT agreed, entry_id FROM agreed LEFT JOIN stored ON true LEFT JOIN deferred ON true
"""
"""The signatures, the text and the relate job of the entry in `stored`."""


def stored_values(content: NewContent) -> dict[str, Any]:
    """The content as parameters of a statement that stores it."""
    made = content_signature_values(content)
    return content_values(content) | {
        "suites": suite_lines(content.suites),
        "identifier": identifier_of(content.sketch.fingerprint, content.sketch.word_count),
        **{name: [row[name] for row in made] for name in _OF_SIGNATURE},
        "codec": CODEC,
        "text": content.compressed_text,
    }
