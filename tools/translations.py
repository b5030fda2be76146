"""The words of the pages in other languages: `python -m tools.translations` brings them up to date.

It adds what templates and modules say and app/web/translations does not, as untranslated, and takes out what
they say no more.
"""

import sys
from io import BytesIO
from pathlib import Path

from babel.messages.catalog import Catalog
from babel.messages.extract import extract_from_dir
from babel.messages.pofile import read_po, write_po

ROOT = Path(__file__).parents[1]
TRANSLATIONS = ROOT / "app" / "web" / "translations"

_SOURCES = [("**.py", "python"), ("templates/**", "jinja2")]
_TEMPLATES = {"templates/**": {"trim_blocks": "true", "lstrip_blocks": "true", "newstyle_gettext": "true"}}
_KEYWORDS = {"_": None, "gettext": None, "N_": None, "ngettext": (1, 2)}


def messages() -> Catalog:
    """Everything that the pages say, in English."""
    catalog = Catalog(fuzzy=False)
    found = extract_from_dir(ROOT / "app" / "web", _SOURCES, _TEMPLATES, _KEYWORDS)
    for file, _, message, _, _ in sorted(found, key=lambda each: each[:2]):
        catalog.add(message, locations=[(file, 0)])
    return catalog


def updated(file: Path) -> str:
    """The text of a translation with the messages that there are now."""
    text = file.read_bytes()
    catalog = read_po(BytesIO(text), locale=file.stem)
    catalog.update(messages(), no_fuzzy_matching=True)
    written = BytesIO()
    write_po(written, catalog, width=110, ignore_obsolete=True, include_lineno=False, omit_header=True)
    return text.decode().partition("\n\n")[0] + "\n\n" + written.getvalue().decode().strip() + "\n"


if __name__ == "__main__":
    for each in TRANSLATIONS.glob("*.po"):
        each.write_text(updated(each), encoding="utf-8")
        print(f"{each.relative_to(ROOT)} is written", file=sys.stderr)
