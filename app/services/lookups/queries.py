"""Signatures of a query that is not stored: computed from its text, or taken as they were sent."""

from app.core.model import Content, Entry, Fingerprint, Sketch
from app.core.recipe import Suite
from app.core.signatures.sketch import sketch_under


def query_entry(
    suite: Suite, content: Content | None, sketch: Sketch | None, fingerprint: Fingerprint | None
) -> Entry:
    """The entry to look for, made from the first of these that is given; computed under the suite."""
    if content is not None:
        sketch = sketch_under(suite, content)
    return sketch.to_entry(0) if sketch is not None else Entry(0, fingerprint, None)
