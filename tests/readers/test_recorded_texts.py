"""The text that is read from each file is the recorded one, byte for byte.

A book is found again by its text, so a reader that is written anew must read what the one before it read.
`recorded_texts.json` holds a digest of the pages of each real file of BOOKPRINT_FORMATS, and of markup that
is made here of pieces in a random order. `python -m tests.readers.test_recorded_texts` records them anew.
"""

import hashlib
import json
import os
import random
from collections.abc import Mapping
from pathlib import Path

import pytest

from app.core.errors import UnusableFile
from app.readers.recognition import read_book
from app.readers.source import Source
from tests.readers.made_files import zipped

FOLDER = Path(os.environ.get("BOOKPRINT_FORMATS", "/nonexistent"))
RECORDED = Path(__file__).with_name("recorded_texts.json")
CASES = 40
"""Made files of each format."""

PIECES = 30
"""Of each made file."""

WORDS = (
    b"word ",
    b"next-",
    b"more ",
    b"\n  ",
    b"\r\n",
    b"a \xc2\xac\n",
    b"&amp;",
    b"&#x2014;",
    b"&eacute;",
    b"\xc2\xa0",
)

HTML = (
    b"<!-- c <b> -->", b"<![CDATA[ a & b <i> ]]>", b"<script>var a='<p>';</script>", b"<style>p{}</style>",
    b"<br/>", b"<pre>a\n b\n</pre>", b"<ruby>\xe6\xbc\xa2<rp>(</rp><rt>kan</rt><rp>)</rp></ruby>",
    b"&nbsp;", b"&shy;", b"&copy", b"&lt;p&gt;", b"&unknown;", b"&#150;", b"&",
    b"<table><tr><td>one<table><tr><td>two</table>three</table>", b"<p>", b"</p>", b"<div>", b"</div>",
    b"<i><b>x</i>y</b>", b"<a name=p1>", b"<span class=pagenum>12</span>", b"<title>t",
    b"<span epub:type='pagebreak' title='12'/>", b"<svg><text>t</text></svg>", b"<?php echo 1 ?>",
    b"<!DOCTYPE x>", b"\0", b"\x0b", b"\x0c", b"\x1f", b"\xff", b"\xe9t\xe9", b"<b", b"<b a='", b"</",
    b"<li>one<li>two", b"<hr>", b"<span class=ocr_line>line", b"<span class='ocrx_word'>w</span>",
    b"<div class=ocr_page>", b"<del>x</del>",
)  # fmt: skip

TEI = (
    b"<lb/>", b"<lb break='no'/>", b"-<lb/>", b"-\n <lb break='no'/>\n", b"<pb n='4'/>",
    b"<pb break='no'/>", b"<pb ed='B'/>", b"<choice>a<sic>hte</sic><corr>the</corr></choice>",
    b"<note>n</note>", b"<w>a</w><w>b</w>", b"<choice><orig>vse<pb n='9'/></orig><reg>use</reg></choice>",
    b"<app><lem>a</lem><rdg>b</rdg></app>", b"<fw>Head<lb/></fw>", b"<w part='I'>a</w><w part='F'>b</w>",
    b"<del>gone<pb/></del>", b"<!-- c -->", b"<?pi x?>", b"<![CDATA[a <b>]]>", b"&unknown;",
    b"<milestone unit='page' n='2'/>", b"<p>x</p>", b"<hi>x</hi>", b"&own;",
    b"<figure><head>h</head><figDesc>d</figDesc></figure>",
    b"<floatingText><body><p>x</p></body></floatingText>",
    b"<choice><unclear>a<pb/></unclear><unclear>b<pb/><pb/></unclear></choice>", b"<text>inner</text>",
    b"<cb/>",
)  # fmt: skip


def made_files() -> Mapping[str, bytes]:
    """Files of pieces in a random order, by a name for each."""
    draw = random.Random(7)
    found: dict[str, bytes] = {}
    for number in range(CASES):
        html = b"".join(draw.choices((*WORDS, *HTML), k=PIECES))
        tei = b"".join(draw.choices((*WORDS, *TEI), k=PIECES))
        found[f"html {number}"] = b"<html><title>t</title><body><p>" + html
        found[f"hocr {number}"] = b"<html><body><div class=ocr_page>first<p class=ocr_par>" + html
        found[f"epub {number}"] = _epub(html)
        found[f"tei {number}"] = (
            b'<!DOCTYPE TEI SYSTEM "x.dtd" [<!ENTITY own "of <hi>its</hi> own">]><TEI><teiHeader/>'
            b"<text><body><p>first" + tei + b"</p></body></text></TEI>"
        )
    return found


def digest_of(source: Source) -> str:
    """A digest of the pages of a book; why it is refused where it is."""
    try:
        pages = list(read_book(source).pages)
    except UnusableFile as exc:
        return type(exc).__name__
    return hashlib.sha256(json.dumps(pages).encode()).hexdigest()[:16]


def recorded(group: str) -> Mapping[str, str]:
    """The digests of a group of files, "real" or "made", by the file."""
    found: Mapping[str, str] = json.loads(RECORDED.read_text(encoding="utf-8"))[group]
    return found


@pytest.mark.formats
@pytest.mark.skipif(not FOLDER.is_dir(), reason="BOOKPRINT_FORMATS names no folder")
@pytest.mark.parametrize("path", recorded("real"))
def test_the_text_of_a_real_file_is_as_recorded(path: str) -> None:
    assert digest_of(Source.of_file(FOLDER / path)) == recorded("real")[path]


def test_the_texts_of_made_files_are_as_recorded() -> None:
    assert {name: digest_of(Source.of_bytes(data, name)) for name, data in made_files().items()} == recorded(
        "made"
    )


def _epub(text: bytes) -> bytes:
    opf = (
        b'<package xmlns="http://www.idpf.org/2007/opf"><manifest>'
        b'<item id="t" href="t.xhtml" media-type="application/xhtml+xml"/>'
        b'<item id="n" href="n.xhtml" media-type="application/xhtml+xml" properties="nav"/>'
        b'</manifest><spine><itemref idref="t"/></spine></package>'
    )
    navigation = (
        b'<html xmlns:e="http://www.idpf.org/2007/ops"><nav e:type="page-list"><a href="t.xhtml#p1">i</a>'
        b'<a href="#epubcfi(/6/2!/4/2/1:2)">ii</a><a href="#epubcfi(/6/2!/4/4)">iii</a></nav></html>'
    )
    document = b"<html><head/><body><p>first</p><p>" + text
    return zipped({"a.opf": opf, "t.xhtml": document, "n.xhtml": navigation})


def _record() -> None:
    real = [str(path.relative_to(FOLDER)) for path in sorted(FOLDER.glob("*/**/*")) if path.is_file()]
    digests = {
        "real": {path: digest_of(Source.of_file(FOLDER / path)) for path in real},
        "made": {name: digest_of(Source.of_bytes(data, name)) for name, data in made_files().items()},
    }
    RECORDED.write_text(json.dumps(digests, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    _record()
