"""TEI: what is text, where pages begin, which words go on over a line's end, and the header."""

import pytest

from bookprint_core.errors import NoText, SeveralBooks
from bookprint_readers.extraction import Extraction
from bookprint_readers.formats import tei
from bookprint_readers.source import Source

HEADER = "<teiHeader><fileDesc><titleStmt><title>A Title</title></titleStmt></fileDesc></teiHeader>"


def read_bytes(data: bytes) -> Extraction:
    return tei.read(Source.of_bytes(data, "book.xml"))


def read(body: str, header: str = HEADER) -> Extraction:
    xml = f'<TEI xmlns="http://www.tei-c.org/ns/1.0">{header}<text><body>{body}</body></text></TEI>'
    return read_bytes(xml.encode())


def words(body: str) -> list[str]:
    return read(body).pages[0].split()


def test_the_text_is_front_body_and_back_without_header_and_facsimiles() -> None:
    found = read_bytes(
        b"<TEI><teiHeader><fileDesc><titleStmt><title>T</title></titleStmt></fileDesc></teiHeader>"
        b"<facsimile><surface><zone>no</zone></surface></facsimile><sourceDoc><line>no</line></sourceDoc>"
        b"<text><front><p>one</p></front><body><p>two</p></body><back><p>three</p></back></text>"
        b"<standOff><p>no</p></standOff></TEI>"
    )
    assert found.pages[0].split() == ["one", "two", "three"]
    assert not found.paginated
    assert found.metadata.title == "T"


def test_pages_begin_anywhere_also_within_words() -> None:
    found = read('<pb n="1"/><p>one wo<hi>r<pb n="2"/></hi>d</p><p>two</p><pb/>')
    assert found.paginated
    assert [page.split() for page in found.pages] == [["one", "wor"], ["d", "two"], []]


@pytest.mark.parametrize(
    "divided",
    [
        'di<lb break="no"/>vided',
        'di-<lb break="no"/>vided',
        'di-\n  <lb break="no"/>\n vided',
        'di\u2e17<lb break="no"/>vided',
        'di<g ref="char:EOLhyphen"/>vided',
        "<w>di<hi>vi</hi></w>ded",
        "<choice><orig>di-<lb/>uided</orig><reg>divided</reg></choice>",
    ],
)
def test_a_divided_word_is_one(divided: str) -> None:
    assert words(f"<p>a {divided} word</p>") == ["a", "divided", "word"]


def test_what_the_printer_and_the_editor_added_is_left_out() -> None:
    body = (
        "<fw type='header'>Running<pb/> head</fw><p>one "
        "<gap><desc>illegible</desc></gap><supplied>two</supplied>"
        "<del>three</del><figure><figDesc>A picture</figDesc><head>four</head></figure></p>"
    )
    assert " ".join(read(body).pages).split() == ["one", "two", "four"]
    assert read(body).paginated


def test_page_furniture_is_left_out_and_gives_labels_that_pb_has_not() -> None:
    found = read(
        "<pb/><p>one<lb/>two<lb/>three<lb/></p><fw>Catchword</fw><pb/><fw type='pageNum'>- 4 -</fw>four"
    )
    assert list(found.pages) == ["one\ntwo\nthree", "four"]
    assert list(found.labels) == [None, "4"]
    numbers = '<fw type="pageNum">xii.</fw>one<pb n="5"/><fw type="page-number">6</fw>two'
    assert list(read(f"<pb/>{numbers}").labels) == ["xii", "5"]


SOURCE = """<TEI><teiHeader/><sourceDoc><surfaceGrp><surface n="1r"><graphic url="a"/><zone type="header">
<line>Of Boats</line></zone><zone><line>first</line><line>sec-</line><line>ond <hi>word</hi></line></zone>
</surface>
<surface><zone type="page-number"><line>17</line></zone><surface><zone><line>patch</line></zone></surface>
<zone>one<lb/>two</zone></surface></surfaceGrp><surface n="2v"/></sourceDoc>{}</TEI>"""


@pytest.mark.parametrize("more", ["", "<text><body><p> </p></body></text>", "<standOff>no</standOff>"])
def test_a_transcription_without_text_is_read_from_its_surfaces(more: str) -> None:
    found = read_bytes(SOURCE.format(more).encode())
    assert [page.split() for page in found.pages] == [
        ["first", "sec-", "ond", "word"],
        ["patch", "one", "two"],
        [],
    ]
    assert (list(found.labels), found.printed_lines) == (["1r", "17", "2v"], True)


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ("<quote>one</quote><quote>two</quote>", "one two"),
        ("<address><addrLine>one</addrLine><addrLine>two</addrLine></address>three", "one two three"),
        ("<cit><q>one</q><bibl>two</bibl></cit><said>three</said>", "one two three"),
        ("<forename>one</forename><surname>two</surname>", "one two"),
        ("<p>one<q>two</q>three <q>four</q>, five</p>", "onetwothree four, five"),
        ("<hi>o</hi><hi>ne</hi>", "one"),
    ],
)
def test_elements_side_by_side_without_a_blank_are_no_word(body: str, text: str) -> None:
    assert " ".join(words(body)) == text


@pytest.mark.parametrize(
    ("body", "text"),
    [
        ('river<ref target="#n">1</ref> was', "river 1 was"),
        ('river<ref target="#n"><hi rend="sup">12</hi></ref>was', "river 12 was"),
        ('river<hi rend="superscript">[3]</hi>', "river [3]"),
        ('river<hi rendition="#sup">3</hi>', "river 3"),
        ('the 2<hi rend="sup">nd</hi> day', "the 2nd day"),
        ('18<hi rend="bold">12</hi>', "1812"),
        ("see<ref>page</ref>", "seepage"),
    ],
)
def test_the_number_of_a_note_stands_apart(body: str, text: str) -> None:
    assert " ".join(words(body)) == text


@pytest.mark.parametrize(
    ("choice", "kept"),
    [
        ("<choice><sic>hte</sic><corr>the</corr></choice>", "the"),
        ("<choice><reg>use</reg><orig>vse</orig></choice>", "use"),
        ("<choice>\n <abbr>Dr</abbr>\n <expan>Doctor</expan>\n</choice>", "Doctor"),
        ("<choice><unclear>a</unclear><unclear>b</unclear></choice>", "a"),
        ("<choice><orig>a<choice><sic>x</sic><corr>y</corr></choice></orig><reg>b</reg></choice>", "b"),
        ("<choice><reg>a<choice><sic>x</sic><corr>y</corr></choice></reg><orig>b</orig></choice>", "ay"),
        ("<app><rdg>other</rdg><lem>chosen</lem></app>", "chosen"),
        ("<sic>alone</sic>", "alone"),
        ("<choice/>", ""),
    ],
)
def test_of_several_readings_the_chosen_one_is_kept(choice: str, kept: str) -> None:
    assert words(f"<p>a {choice} b</p>") == ["a", *kept.split(), "b"]


def test_notes_blocks_and_tokens_keep_words_apart() -> None:
    assert words("<p>word<note place='foot'>a note</note>, next</p><p>third</p>") == [
        "word",
        "a",
        "note",
        ",",
        "next",
        "third",
    ]
    assert words("<table><row><cell>a</cell><cell>b</cell></row></table>") == ["a", "b"]
    assert words("<p><w>one</w><w>two</w><pc>,</pc> <w part='I'>th</w><w part='F'>ree</w></p>") == [
        "one",
        "two,",
        "three",
    ]


def test_a_corpus_of_several_texts_is_refused_and_one_of_one_is_read() -> None:
    one = f"<TEI>{HEADER}<text><body><p>text</p></body></text></TEI>"
    corpus_header = HEADER.replace("A Title", "A Corpus")
    with pytest.raises(SeveralBooks, match="bulk"):
        read_bytes(f"<teiCorpus>{corpus_header}{one}{one}</teiCorpus>".encode())
    found = read_bytes(f"<teiCorpus>{corpus_header}{one}</teiCorpus>".encode())
    assert found.metadata.title == "A Title"


def test_a_header_without_text_has_none() -> None:
    with pytest.raises(NoText, match=r"book\.xml"):
        read_bytes(f"<TEI>{HEADER}</TEI>".encode())


def test_the_header_describes_the_book() -> None:
    header = """<teiHeader xml:lang="en"><fileDesc>
      <titleStmt><title type="sub">A Novel</title><title type="main">The
        Title</title><title type="volume" n="2">Second Volume</title>
        <author><persName><surname>Eliot</surname><forename>George</forename></persName>
        <idno>123</idno></author>
        <author>Regnard, Jean</author><editor><name>No Author</name></editor></titleStmt>
      <publicationStmt><date when="2021-04-09"/><idno type="URN">urn:nbn:de:1</idno>
      <idno>x</idno></publicationStmt>
      <sourceDesc><bibl type="digitalSource"><date>2007</date><publisher>A site</publisher></bibl>
      <bibl><date>c. 1861</date><publisher>Blackwood</publisher></bibl></sourceDesc>
      </fileDesc><profileDesc><langUsage><language ident="la" usage="5"/>
      <language ident="en" usage="95"/></langUsage>
      </profileDesc></teiHeader>"""
    found = read("<p>text</p>", header).metadata
    assert found.title == "The Title"
    assert found.authors == ("George Eliot", "Regnard, Jean")
    assert found.language == "en"
    assert found.year == 1861
    assert found.volume == "2"
    assert found.publisher == "Blackwood"
    assert found.identifiers == ("urn:nbn:de:1",)
