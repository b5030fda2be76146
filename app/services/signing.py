"""Contents ready to be stored, with computed or sent signatures."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from app.catalog.iscc import text_code
from app.stores.postgres.contents import compress
from bookprint_core.model import Content, NewContent, Sketch, require_same_recipe
from bookprint_core.recipe import DEFAULT_FINGERPRINT, DEFAULT_MINHASH, DEFAULT_PAGES, DEFAULT_SAMPLE, VECTORS
from bookprint_core.signatures.digests import digests
from bookprint_core.signatures.sketch import signature_key, sketch
from bookprint_core.text.content import content_key
from bookprint_core.text.normal_form import normalise
from bookprint_core.vectors import VectorWeights, book_vector, unpack_weights


@dataclass(frozen=True, slots=True)
class Extras:
    """Values to store for a text beside its signatures."""

    text: bool = False  # the text itself
    iscc: bool = False
    digests: bool = False
    vector: bool = False


def computed(content: Content, extras: Extras, key: bytes | None = None) -> NewContent:
    """Return the signatures of a text, and the requested extras.

    `key` is the content key, if the caller has computed it.
    """
    normal = normalise(content)
    signatures = sketch(content, text=normal)
    if extras.digests:
        signatures = replace(signatures, digests=digests(content.text))
    return NewContent(
        key=key or content_key(content),
        sketch=signatures,
        compressed_text=compress(content.text) if extras.text else None,
        iscc=text_code(content.text) if extras.iscc else None,
        vector=book_vector(normal, read_vector_weights()) if extras.vector else None,
    )


def signed(signatures: Sketch) -> NewContent:
    """Return the content for signatures that were sent without a text.

    Raises RecipeMismatch if no lookup would compare the signatures.
    """
    require_recipes(signatures)
    return NewContent(signature_key(signatures), signatures, None)


def require_recipes(signatures: Sketch) -> None:
    """Raise RecipeMismatch if no lookup would compare the signatures."""
    for signature, recipe in (
        (signatures.fingerprint, DEFAULT_FINGERPRINT),
        (signatures.minhash, DEFAULT_MINHASH),
        (signatures.sample, DEFAULT_SAMPLE),
        (signatures.pages, DEFAULT_PAGES),
    ):
        if signature is not None:
            require_same_recipe(signature.recipe, recipe)


@cache
def read_vector_weights() -> VectorWeights:
    """Return the learnt weights of the recipe `VECTORS`; each process reads them once."""
    return unpack_weights(files("app.services").joinpath("weights", f"{VECTORS}.bin").read_bytes())
