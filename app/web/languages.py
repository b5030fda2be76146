"""The languages of the pages: which one a browser asks for, and the words in it.

The pages are written in English. A file `translations/LANGUAGE.po` (gettext) adds a language.
"""

from collections.abc import Mapping
from contextvars import ContextVar
from functools import cache
from gettext import NullTranslations
from importlib.resources import files
from io import BytesIO

from babel import Locale, negotiate_locale
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from babel.support import Translations

from app.api.http.deps import accepted_range

WRITTEN_IN = "en"

_language: ContextVar[str] = ContextVar("language", default=WRITTEN_IN)


def N_(text: str) -> str:  # noqa: N802 (gettext's own name)
    """Mark a text that a template translates later."""
    return text


@cache
def languages() -> Mapping[str, str]:
    """The codes of the languages (ISO 639-1), and what each calls itself."""
    found = [file.name.removesuffix(".po") for file in files("app.web").joinpath("translations").iterdir()]
    codes = [WRITTEN_IN, *sorted(found)]
    return {code: (Locale(code).display_name or code).capitalize() for code in codes}


def asked_language(wanted: str | None, accepted: str) -> str:
    """The language to answer in: the one `wanted`, else the best of the header Accept-Language.

    >>> asked_language(None, "fr-CH, fr;q=0.9, de;q=0.7, *;q=0.5")
    'de'
    """
    if wanted is not None and wanted in languages():
        return wanted
    ranges = sorted(map(accepted_range, accepted.split(",")), key=lambda asked: -asked[1])
    names = [name.replace("-", "_") for name, quality in ranges if quality]
    return negotiate_locale(names, languages()) or WRITTEN_IN


def answer_in(language: str) -> None:
    """Have the words of this request translated into a language."""
    _language.set(language)


def current_language() -> str:
    """The language of this request."""
    return _language.get()


def gettext(text: str) -> str:
    """The text in the language of this request."""
    return _translations(_language.get()).gettext(text)


def ngettext(one: str, many: str, count: int) -> str:
    """The text for this number in the language of this request."""
    return _translations(_language.get()).ngettext(one, many, count)


@cache
def _translations(language: str) -> NullTranslations:
    if language == WRITTEN_IN:
        return NullTranslations()
    compiled = BytesIO()
    with files("app.web").joinpath("translations", f"{language}.po").open("rb") as source:
        write_mo(compiled, read_po(source, locale=language))
    compiled.seek(0)
    return Translations(compiled)
