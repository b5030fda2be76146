"""A page about one book for people, small enough for a frame beside a table; it loads nothing else."""

from collections.abc import Iterator
from html import escape

from app.catalog.reconciliation import BookFacts, book_name, plain_values

_STYLE = """
body { margin: 0; padding: .6em .8em; font: 13px/1.4 sans-serif; color: #1b1b1b; background: #fff }
h1 { margin: 0; font-size: 1.2em } p { margin: .1em 0 .5em } dl, ul { margin: 0; padding: 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .1em .8em } dt { color: #555 }
dd { margin: 0; overflow-wrap: anywhere } ul { list-style: none }
"""

_FACTS = {
    "identifiers": "Identifiers",
    "identifier": "Content",
    "language": "Language",
    "volume": "Volume",
    "page_count": "Pages",
    "word_count": "Words",
    "cluster": "Cluster",
}

_MOST_RELATIONS = 20

POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""What a browser may load with the page (Content-Security-Policy): nothing but its own style."""


def book_page(facts: BookFacts) -> str:
    """The whole page."""
    title = escape(_name(facts))
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{title}</title><style>{_STYLE}</style></head>\n"
        f"<body>\n{book_fragment(facts)}\n</body>\n</html>\n"
    )


def book_fragment(facts: BookFacts) -> str:
    """The book as a fragment of HTML."""
    metadata = facts.book.metadata
    byline = ", ".join([*metadata.authors, *([] if metadata.year is None else [str(metadata.year)])])
    lines = [f'<h1 dir="auto">{escape(_name(facts))}</h1>', f'<p dir="auto">{escape(byline)}</p>', "<dl>"]
    lines += [f"<dt>{label}</dt><dd>{escape(text)}</dd>" for label, text in _facts(facts)]
    if facts.relations:
        lines.append(f"<dt>Related</dt><dd><ul>{''.join(_relations(facts))}</ul></dd>")
    return "\n".join([*lines, "</dl>"])


def _name(facts: BookFacts) -> str:
    return book_name(facts.book.metadata.title, facts.book.id)


def _facts(facts: BookFacts) -> Iterator[tuple[str, str]]:
    for name, label in _FACTS.items():
        if values := plain_values(name, facts.book):
            yield label, ", ".join(f"{value:,}" if isinstance(value, int) else value for value in values)


def _relations(facts: BookFacts) -> Iterator[str]:
    for related in facts.relations[:_MOST_RELATIONS]:
        name = escape(book_name(related.title, related.book_id))
        kind = related.summary.kind.replace("_", " ").lower()
        yield f'<li><a href="{related.book_id}" target="_blank">{name}</a> ({kind})</li>'
    if (more := len(facts.relations) - _MOST_RELATIONS) > 0:
        yield f"<li>and {more:,} more</li>"
