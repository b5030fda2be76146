"""A book in the types that catalogues read: MARC 21 in its three forms, and JSON-LD."""

from typing import Any

import orjson
from starlette.responses import Response

from app.api.http.negotiation import JSON_LD, MARC, MARC_JSON, MARCXML
from app.catalog import json_ld
from app.catalog.marc import forms
from app.catalog.marc.links import with_links
from app.core.model import RecordFormat
from app.services.descriptions import Description

_FORMS: dict[str, RecordFormat] = {MARCXML: "marcxml", MARC: "marc", MARC_JSON: "marc-json"}
_TEXT = {"schema": {"type": "string"}}
_BYTES = {"schema": {"type": "string", "format": "binary"}}
_OBJECT = {"schema": {"type": "object"}}

ANSWERS: dict[str, Any] = {"content": {MARCXML: _TEXT, MARC: _BYTES, MARC_JSON: _OBJECT, JSON_LD: _OBJECT}}
"""These types in the description of an answer."""


def described(description: Description, media_type: str) -> Response:
    """The book as one of these types; raises TooLongForBinary."""
    if media_type == JSON_LD:
        document = json_ld.document(description.book, description.record, description.standing)
        body = orjson.dumps(document)
    else:
        body = forms.write(with_links(description.record, description.standing), _FORMS[media_type])
    return Response(body, headers={"Content-Type": media_type, "Vary": "Accept"})
