"""The text of HTML and XHTML in document order, with the places where printed pages begin.

Both are read by a parser of HTML, which refuses nothing: books are often not well-formed.
"""

import re
from collections.abc import Sequence
from itertools import accumulate

from selectolax.lexbor import LexborHTMLParser, LexborNode

from app.core.errors import FileTooLarge
from app.readers.cfi import Cfi, mark_at
from app.readers.encoding import Decoded, bytes_of_text, decoded
from app.readers.source import Source

PAGE, TARGET = "\ufdd0", "\ufdd1"
"""Noncharacters that stand in a text for a mark of a page break, and for a place that a page list names."""

_LINE, _FURNITURE, _END = "\ufdd2", "\ufdd3", "\ufdd4"
_MARKS = (PAGE, TARGET, _LINE, _FURNITURE, _END)

_BLOCKS = (
    "address,article,aside,blockquote,caption,center,dd,details,dialog,dir,div,dl,dt,fieldset,figcaption,"
    "figure,footer,form,h1,h2,h3,h4,h5,h6,header,hgroup,hr,legend,li,main,menu,nav,ol,p,pre,section,summary,"
    "table,td,th,tr,ul,"
    "docauthor,doctitle,line,linegroup,list,level,level1,level2,level3,level4,pagenum,poem,prodnote,sidebar"
)
"""Elements that begin and end lines; the last row is of DTBook, which EPUB 2 allows."""

_LEFT_OUT = [
    *(
        "annotation",
        "annotation-xml",
        "audio",
        "button",
        "canvas",
        "head",
        "iframe",
        "noscript",
        "object",
        "rp",
    ),
    *("rt", "script", "select", "style", "svg", "template", "textarea", "video"),
]
"""Elements whose text is none of the book; ruby readings (rt) repeat what they stand beside."""

_PAGE_MARKS = '[epub\\:type~="pagebreak"],[role~="doc-pagebreak"],pagenum'
_PAGE_NUMBERS = ".pagenum,.pageno,.pagenumber,.page-number,.x-ebookmaker-pageno"
_PAGE_NUMBER = re.compile(
    f"([{PAGE}{_FURNITURE}])[^{PAGE}{TARGET}{_FURNITURE}{_END}]{{,40}}{_END}"  # what is longer is text
)
_LETTERS = re.compile("[^\\W\\d_\u2e80-\u9fff\uac00-\ud7ff]{1,30}")  # of scripts that part words

_DECLARED = re.compile(
    rb"""<\?xml[^>]{,200}?encoding\s*=\s*["']([\w.:-]+)|<meta[^>]{,500}?charset\s*=\s*["']?([\w.:-]+)""",
    re.IGNORECASE,
)
_DECLARED_WITHIN = 4096
_SELF_CLOSED = re.compile(
    r"<(?!(?:area|base|br|col|embed|hr|img|input|link|meta|source|track|wbr)\b)([a-z][\w:.-]*)([^<>]*)/>",
    re.IGNORECASE,
)
_NESTING = re.compile(
    r"<(/?)(?!(?:area|base|br|col|dd|dt|embed|hr|img|input|li|link|meta|option|p|t[dhr]|wbr)\b)[a-z]",
    re.IGNORECASE,
)
_TAG = re.compile(r"<[^<>]*>")
_STEPS = {"": 1, "/": -1}
_MOST_TAGS = 2_000_000
_DEEPEST = 2_000
"""Elements within one another; the parser's time grows with the square of their number."""


def decoded_markup(source: Source) -> Decoded | None:
    """The markup of a file, by the encoding that it declares; None where its bytes are no text.

    Raises FileTooLarge.
    """
    data = bytes_of_text(source)
    declared = _DECLARED.search(data[:_DECLARED_WITHIN])
    return decoded(data, (declared[1] or declared[2]).decode() if declared else None)


def parsed(markup: str) -> LexborHTMLParser:
    """The document; where elements are nested absurdly deep, its text without them. Raises FileTooLarge."""
    tags = markup.count("<")
    if tags > _MOST_TAGS:
        raise FileTooLarge(f"A document has more than {_MOST_TAGS:,} tags. Split it into its books.")
    for character in _MARKS:
        markup = markup.replace(character, "")
    # To a parser of HTML, <title/> and <script/> of XHTML would hold all that follows.
    if "/>" in markup:
        markup = _SELF_CLOSED.sub(r"<\1\2></\1>", markup)
    if (
        tags > _DEEPEST * 10
        and max(accumulate(map(_STEPS.__getitem__, _NESTING.findall(markup))), default=0) > _DEEPEST
    ):
        markup = _TAG.sub("\n", markup)
    return LexborHTMLParser(markup)


def marked_text(document: LexborHTMLParser, targets: Sequence[str | Cfi] = ()) -> str:
    """The text of a document, with PAGE for each mark of a page break and TARGET for each of the targets.

    A target is the `id` of an element, a place in the document, or empty for its start. One that is missing
    is passed over. Page numbers are left out. The document is changed.
    """
    body = document.body
    if body is None:
        return ""
    _mark_targets(document, targets)
    document.strip_tags(_LEFT_OUT, recursive=True)
    for pre in document.css("pre"):
        for node in [node for node in pre.traverse(include_text=True) if node.is_text_node]:
            node.replace_with(node.text(deep=False).replace("\n", _LINE))
    for element in document.css(_BLOCKS):
        element.insert_before(_LINE)
        element.insert_after(_LINE)
    for element in document.css("br"):
        element.insert_before(_LINE)
    for mark, selector in ((PAGE, _PAGE_MARKS), (_FURNITURE, _PAGE_NUMBERS)):
        for element in document.css(selector):
            element.insert_before(mark)
            element.insert_after(_END)
    text = (TARGET if "" in targets else "") + body.text()
    if _END in text:
        for _ in range(2):  # a page number may stand in a mark of its page
            text = _PAGE_NUMBER.sub(r"\1", text)
        text = text.replace(_FURNITURE, "").replace(_END, "")
    for blank in "\r\n\t\f":
        text = text.replace(blank, " ")  # a line break of the source is none of the text
    text = "\n".join(map(str.strip, text.split(_LINE)))
    return _after_words(_after_words(text, PAGE), TARGET)


def pages_of(text: str) -> list[str]:
    """The pages of a text with PAGE or TARGET in it, by whichever there are more of; one without them.

    What stands before the first of them is a page where it has a letter or a digit.
    """
    by, other = (TARGET, PAGE) if text.count(TARGET) > text.count(PAGE) else (PAGE, TARGET)
    first, *pages = (page.strip() for page in text.replace(other, "").split(by))
    return [first, *pages] if not pages or any(map(str.isalnum, first)) else pages


def _after_words(text: str, mark: str) -> str:
    """The text with each mark after the word that it stands in: a page divides none without a hyphen."""
    before, *rest = text.split(mark)
    parts = [before]
    for part in rest:
        word = _LETTERS.match(part) if parts[-1][-1:].isalpha() else None
        end = word.end() if word else 0
        parts[-1] += part[:end]
        parts.append(part[end:])
    return mark.join(parts)


def _mark_targets(document: LexborHTMLParser, targets: Sequence[str | Cfi]) -> None:
    root = document.root
    if root is None or not targets:
        return
    elements: dict[str, LexborNode] = {}
    for element in document.css("[id],a[name]"):
        elements.setdefault(element.attributes.get("id") or element.attributes.get("name") or "", element)
    # From the last place to the first, since a mark shifts the characters behind it.
    for target in reversed(targets):
        if isinstance(target, Cfi):
            mark_at(root, elements, target, TARGET)
        elif target in elements:
            elements[target].insert_before(TARGET)
