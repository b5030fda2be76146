"""Content ready to be stored: the signatures that the suites ask for, computed or as they were sent."""

from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files

from app.catalog.iscc import text_code
from app.core.model import Content, NewContent, Sketch, require_same_recipe
from app.core.recipe import DEFAULT_PAGES, VECTORS, Suite, Suites, fingerprint_recipe
from app.core.signatures.digests import digests
from app.core.signatures.simhash import simhash
from app.core.signatures.sketch import sample, signature_key, sketch_under
from app.core.text.content import content_key
from app.core.text.normal_form import normalise
from app.core.vectors import VectorWeights, book_vector, unpack_weights
from app.stores.postgres.contents import compress


@dataclass(frozen=True, slots=True)
class Extras:
    """What is stored of a text beside the signatures that the suites ask for."""

    text: bool = False  # the text itself
    iscc: bool = False
    digests: bool = False
    vector: bool = False


def computed(content: Content, suites: Suites, extras: Extras, key: bytes | None = None) -> NewContent:
    """The signatures of a text under every suite, and the extras that are asked for.

    `key` is the content key where the caller has computed it.
    """
    serving, building = suites.serving, suites.building or suites.serving
    normal = normalise(content)
    sketch = sketch_under(serving, content, normal)
    if extras.digests:
        sketch = replace(sketch, digests=digests(content.text))
    next_fingerprint = next_sample = None
    if building.fingerprint != serving.fingerprint:
        next_fingerprint = simhash(normal, fingerprint_recipe(building.fingerprint))
    if building.sample != serving.sample:
        next_sample = sample(normal, building.sample)
    return NewContent(
        key=key or content_key(content),
        sketch=sketch,
        compressed_text=compress(content.text) if extras.text else None,
        iscc=text_code(content.text) if extras.iscc else None,
        vector=book_vector(normal, read_vector_weights()) if extras.vector else None,
        next_fingerprint=next_fingerprint,
        next_sample=next_sample,
        suites=suites,
    )


def signed(signatures: Sketch, suites: Suites) -> NewContent:
    """Signatures that came without a text.

    Raises RecipeMismatch where no lookup would ever compare them.
    """
    require_recipes(signatures, suites.serving)
    return NewContent(signature_key(signatures), signatures, None, suites=suites)


def require_recipes(signatures: Sketch, suite: Suite) -> None:
    """Raise RecipeMismatch where no lookup under this suite would ever compare the signatures."""
    if signatures.fingerprint is not None:
        require_same_recipe(signatures.fingerprint.recipe, suite.fingerprint)
    if signatures.minhash is not None:
        require_same_recipe(signatures.minhash.recipe, suite.minhash)
    if signatures.sample is not None:
        require_same_recipe(signatures.sample.recipe, suite.sample)
    if signatures.pages is not None:
        require_same_recipe(signatures.pages.recipe, DEFAULT_PAGES)


@cache
def read_vector_weights() -> VectorWeights:
    """The learnt weights of the recipe `VECTORS`, read once in a process."""
    return unpack_weights(files("app.services").joinpath("weights", f"{VECTORS}.bin").read_bytes())
