"""PAGE-XML: reading order, the reading that counts, and what is read where lines have none."""

import pytest

from bookprint_readers.extraction import Extraction
from bookprint_readers.formats import ocr_xml
from bookprint_readers.source import Source

NAMESPACE = "http://schema.primaresearch.org/PAGE/gts/pagecontent/2019-07-15"


def read(inner: str, namespace: str = NAMESPACE) -> Extraction:
    xml = f'<PcGts xmlns="{namespace}"><Metadata/><Page imageFilename="a.png">{inner}</Page></PcGts>'
    return ocr_xml.read_page(Source.of_bytes(xml.encode(), "page.xml"))


def equiv(text: str, attributes: str = "") -> str:
    return f"<TextEquiv {attributes}><Unicode>{text}</Unicode></TextEquiv>"


def line(text: str) -> str:
    return f"<TextLine>{equiv(text)}</TextLine>"


def region(name: str, *lines: str, inner: str = "") -> str:
    return f'<TextRegion id="{name}">{inner}{"".join(map(line, lines))}</TextRegion>'


def test_lines_come_in_order_whatever_the_version() -> None:
    for year in ("2009-03-16", "2013-07-15", "2019-07-15", "2099-01-01"):
        namespace = f"http://schema.primaresearch.org/PAGE/gts/pagecontent/{year}"
        found = read(region("a", "one", "two-"), namespace)
        assert list(found.pages) == ["one\ntwo-"]
        assert found.paginated
        assert found.printed_lines


def test_the_reading_order_goes_by_index_and_into_groups() -> None:
    order = """<ReadingOrder><OrderedGroup id="g">
        <RegionRefIndexed index="10" regionRef="d"/>
        <UnorderedGroupIndexed index="2"><RegionRef regionRef="c"/>
        <RegionRef regionRef="b"/></UnorderedGroupIndexed>
        <RegionRefIndexed index="0" regionRef="a"/>
        <RegionRefIndexed index="1" regionRef="missing"/>
        <RegionRefIndexed index="11" regionRef="a"/></OrderedGroup></ReadingOrder>"""
    found = read(order + "".join(region(name, name) for name in "xdcba"))
    assert found.pages[0].split() == ["a", "c", "b", "d", "x"]


def test_cells_of_a_table_come_row_by_row() -> None:
    def cell(row: int, column: int) -> str:
        role = f'<Roles><TableCellRole rowIndex="{row}" columnIndex="{column}"/></Roles>'
        return region(f"r{row}{column}", f"{row}/{column}", inner=role)

    cells = [cell(0, 0), cell(1, 0), cell(0, 1), cell(1, 1)]
    assert read(f"<TableRegion>{''.join(cells)}</TableRegion>").pages[0].split() == [
        "0/0",
        "0/1",
        "1/0",
        "1/1",
    ]
    cells = [f'<TableCell row="{row}" col="0">{line(str(row))}</TableCell>' for row in (1, 0)]
    assert read(f"<TableRegion>{''.join(cells)}</TableRegion>").pages[0].split() == ["0", "1"]


@pytest.mark.parametrize(
    ("readings", "best"),
    [
        (equiv("second", 'index="1"') + equiv("first", 'index="0"'), "first"),
        (equiv("weak", 'conf="0.2"') + equiv("sure", 'conf="0.9"'), "sure"),
        (equiv("sure", 'conf="0.9"') + equiv("main", 'index="0" conf="0.1"'), "main"),
        (equiv("one", 'index="x" conf="nan"') + equiv("two", 'conf=""'), "one"),
        ("<TextEquiv><PlainText>plain</PlainText></TextEquiv>", "plain"),
        (equiv("") + equiv("filled"), "filled"),
        (equiv(" ", 'index="0"') + equiv("filled", 'index="1"'), "filled"),
    ],
)
def test_one_of_several_readings_counts(readings: str, best: str) -> None:
    assert read(f"<TextRegion><TextLine>{readings}</TextLine></TextRegion>").pages[0] == best


def test_the_text_of_a_region_is_read_only_where_it_has_no_lines() -> None:
    both = f"<TextRegion>{line('line')}{equiv('region')}</TextRegion>"
    alone = f"<TextRegion>{equiv('region alone')}</TextRegion>"
    assert read(both + alone).pages[0] == "line\nregion alone"


@pytest.mark.parametrize("written", ['type="{}"', 'custom="structure {{type:{};}}"'])
@pytest.mark.parametrize("kind", ["header", "footer", "page-number", "signature-mark", "catch-word"])
def test_page_furniture_that_is_marked_is_left_out(written: str, kind: str) -> None:
    marked = f"<TextRegion {written.format(kind)}>{line('Of Boats')}</TextRegion>"
    assert read(marked + region("r", "text")).pages[0] == "text"
    assert read(f'<TextRegion id="o">{marked}{line("text")}</TextRegion>').pages[0] == "text"
    assert read(marked).pages[0] == "Of Boats"  # where a page has nothing else
    kept = marked.replace(kind, "paragraph")
    assert read(kept + region("r", "text")).pages[0] == "Of Boats\ntext"


def test_a_heading_within_a_page_stays_though_it_is_called_header() -> None:
    heading = f'<TextRegion type="header">{line("Of Mills")}</TextRegion>'
    assert read(region("r", "text") + heading + region("s", "more")).pages[0] == "text\nOf Mills\nmore"


@pytest.mark.parametrize(
    ("numbers", "labels"),
    [
        (["\u2014 17 \u2014"], ["17"]),
        (["[xii]"], ["[xii]"]),
        (["12 b."], ["12 b"]),
        (["17", "17"], ["17"]),
        (["17", "18"], []),
        (["\u00a7\u00a7"], []),
        (["EMMA"], []),
    ],
)
def test_a_region_with_the_page_number_gives_the_label(numbers: list[str], labels: list[str]) -> None:
    regions = [f'<TextRegion type="page-number">{line(number)}</TextRegion>' for number in numbers]
    assert list(read("".join(regions) + region("r", "text")).labels) == labels


def test_a_page_without_regions_is_blank() -> None:
    assert list(read("").pages) == [""]
    assert list(read('<ImageRegion id="i"/>').pages) == [""]
