"""The sentences in which the core gives its reasons, for pages in other languages.

A sentence, or what stands before or behind a colon in it, is known by its words; `{}` stands for each number.
"""

import re

from babel.numbers import format_decimal, format_percent
from markupsafe import Markup, escape

from app.web.languages import N_, WRITTEN_IN, current_language, gettext

_SENTENCES = (
    # How two books are related
    N_("{} of the text pages of this book and {} of the other's match one to one with the same page breaks."),
    N_(
        "{} of the text pages of this book are one span of the other book, with the same page "
        "breaks, and make up {} of it."
    ),
    N_(
        "{} of the text pages of the other book are one span of this book, with the same page "
        "breaks, and make up {} of it."
    ),
    N_(
        "{} of the text of this book and {} of the other's is found in both, wrong letters aside, "
        "and {} of the pages lie across page breaks of the other book."
    ),
    N_(
        "{} of the text of this book and {} of the other's is found in both, wrong letters aside; "
        "the pages of at least one are not known."
    ),
    N_("{} of the text of this book is found in the other book and makes up {} of it:"),
    N_("{} of the text of the other book is found in this book and makes up {} of it:"),
    N_("a part, but not known to be one span with the same page breaks."),
    N_(
        "{} of the text of this book is found in the other, {} of the other's in this; that fits "
        "none of the closer relations."
    ),
    N_("No more than {} of the text of either book is found in the other."),
    N_("The pages are the same, but in {} of the lines compared the books have other words or numbers:"),
    N_("another issue of the same form, not a copy."),
    # Why a look is worth while
    N_("Nothing speaks against it."),
    N_("It joins {} and {} books."),
    N_("It keeps apart {} and {} books."),
    N_("The machine is sure of it by {} alone."),
    N_("{} of either book is found in the other, and {} decides."),
    N_("{} of both books is found in each other, and {} decides."),
    N_("{} of the pages match one to one, and {} decides."),
    N_("{} of the pages lie across page breaks, and {} decides."),
    N_("{} of the part is one span of the whole, and {} decides."),
    N_("{} of the lines have other words, and {} decides."),
    N_("The volumes have other numbers, but the text is the same."),
    N_("The titles have little in common, but the text is the same."),
    N_("The authors are others, but the text is the same."),
    N_("The identifiers are others, but the text is the same."),
    N_("Both books have the same identifier, but not the same text."),
    N_("Both books have the same title, but not the same text."),
    N_("Books of other authors or titles share some of their text."),
    N_("No more than {} of either book is shared, as of a common appendix."),
    N_("What they share begins or ends both books, as advertisements do."),
    # Why a copy is the best
    N_("It is the only copy of its text."),
    N_("It alone is complete:"),
    N_("Of {} that are complete its pages agree best with those of other copies, by {}:"),
    N_(
        "Of the {} complete copies it has the smallest share of words that occur only once, as "
        "misread words do, {} against {}:"
    ),
    N_(
        "Of the {} best of {} complete copies it has the smallest share of words that occur only "
        "once, as misread words do, {} against {}:"
    ),
    N_("Nothing tells the {} complete copies apart; the first by external id was taken:"),
    N_("Nothing tells the {} complete copies apart; the first by content key was taken:"),
    N_("Nothing tells the {} best of {} complete copies apart; the first by external id was taken:"),
    N_("Nothing tells the {} best of {} complete copies apart; the first by content key was taken:"),
    N_("{} characters, where the fullest of {} copies has {}."),
    N_("The fullest of {} related books has this text."),
)

_END = re.compile(r"(?<=[.:]) ")
_NUMBER = re.compile(r"\d[\d,]*(?:\.\d+)?%?")


def reason(text: str) -> Markup:
    """The reason in the language of the page; marked as English where it has no translation."""
    if current_language() == WRITTEN_IN:
        return escape(text)
    told = [_translated(sentence) for sentence in _END.split(text)]
    if None in told:
        return Markup('<span lang="{}">{}</span>').format(WRITTEN_IN, text)
    return escape(" ".join(map(str, told)))


def _translated(sentence: str) -> str | None:
    form = _NUMBER.sub("{}", sentence)
    if (translation := gettext(form)) == form:
        return None
    return translation.format(*map(_number, _NUMBER.findall(sentence)))


def _number(text: str) -> str:
    value, language = float(text.rstrip("%").replace(",", "")), current_language()
    if text.endswith("%"):
        return format_percent(value / 100, locale=language, decimal_quantization=False)
    return format_decimal(value, locale=language)
