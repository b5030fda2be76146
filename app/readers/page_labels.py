"""Page labels as readers find them: white space as one blank, and what is no label taken out."""

from dataclasses import replace

from app.core.text.page_labels import LONGEST_LABEL, known_labels
from app.readers.extraction import Extraction


def with_plain_labels(extraction: Extraction) -> Extraction:
    """The same book with labels that can be stored.

    A label without a letter or a digit stands for a page without one, as " - " in a METS. One of more than 32
    characters is left out with a warning. A text without pages has no labels.
    """
    labels = [_plain(label) for label in extraction.labels] if extraction.paginated else []
    long = [index for index, label in enumerate(labels) if label and len(label) > LONGEST_LABEL]
    for index in long:
        labels[index] = None
    warnings = list(extraction.warnings)
    if long:
        warnings.append(
            f"Page labels of more than {LONGEST_LABEL} characters were left out: {len(long):,}, the first on "
            f"page {long[0] + 1}."
        )
    return replace(extraction, labels=known_labels(labels), warnings=warnings)


def _plain(label: str | None) -> str | None:
    shown = "".join(character if character.isprintable() else " " for character in label or "")
    return " ".join(shown.split()) if any(map(str.isalnum, shown)) else None
