"""Content ready to be stored: the signatures that the suites ask for, computed or as they were sent."""

from dataclasses import replace

from app.catalog.iscc import text_code
from app.core.model import Content, NewContent, Sketch, require_same_recipe
from app.core.recipe import DEFAULT_PAGES, Suite, Suites
from app.core.signatures.digests import digests
from app.core.signatures.sketch import fingerprint, signature_key, sketch_under
from app.core.text.content import content_key
from app.stores.postgres.texts import compress


def computed(
    content: Content,
    suites: Suites,
    *,
    keep_text: bool,
    with_iscc: bool = False,
    with_digests: bool = False,
    key: bytes | None = None,
) -> NewContent:
    """The signatures of a text under every suite, and the text itself where it is kept.

    `with_iscc` asks for its ISCC, too, and `with_digests` for its digests. `key` is the content key where
    the caller has computed it.
    """
    serving, *others = suites.kept
    sketch = sketch_under(serving, content)
    if with_digests:
        sketch = replace(sketch, digests=digests(content.text))
    fingerprints = (fingerprint(content, suite.fingerprint) for suite in others)
    known = tuple(each for each in fingerprints if each is not None)
    text = compress(content.text) if keep_text else None
    iscc = text_code(content.text) if with_iscc else None
    return NewContent(key or content_key(content), sketch, text, iscc, known, suites)


def signed(signatures: Sketch, suites: Suites) -> NewContent:
    """Signatures that came without a text.

    Raises RecipeMismatch where no lookup would ever compare them.
    """
    _require_recipes(signatures, suites.serving)
    return NewContent(signature_key(signatures), signatures, None, suites=suites)


def _require_recipes(signatures: Sketch, suite: Suite) -> None:
    if signatures.fingerprint is not None:
        require_same_recipe(signatures.fingerprint.recipe, suite.fingerprint)
    if signatures.minhash is not None:
        require_same_recipe(signatures.minhash.recipe, suite.minhash)
    if signatures.sample is not None:
        require_same_recipe(signatures.sample.recipe, suite.sample)
    if signatures.pages is not None:
        require_same_recipe(signatures.pages.recipe, DEFAULT_PAGES)
