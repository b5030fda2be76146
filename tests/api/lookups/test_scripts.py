"""Copies in scripts with optional marks and in scripts without spaces, over HTTP."""

import re

from httpx import AsyncClient

from tests.api.posting import look_up, post
from tests.api.test_checks import check
from tests.vectors import texts

PLAIN, FOLDED = "gap-simhash128-v1", "gap-simhash128-folded-v1"
ARABIC = re.sub("[\u0640\u064b-\u0652]", "", texts.text("arabic", 1400, 7))
THAI = texts.text("thai", 1400, 8)


def hocr_of_letters(text: str) -> bytes:
    """The text as tesseract writes it, each code point a word."""
    words = " ".join(f"<span class='ocrx_word'>{letter}</span>" for letter in text if not letter.isspace())
    head = "<head><meta name='ocr-system' content='tesseract'/></head>"
    return f"<html>{head}<body><div class='ocr_page'>{words}</div></body></html>".encode()


async def test_arabic_is_one_book_with_and_without_marks(client: AsyncClient) -> None:
    plain = await post(client, text=ARABIC)
    marked = await post(client, text=re.sub(r"(\w)", "\\1\u0651\u064e", ARABIC))
    assert plain["fingerprint"]["recipe"] == PLAIN
    assert marked["fingerprint"] == {"recipe": FOLDED, "hex": plain["fingerprint"]["hex"]}
    assert marked["word_count"] == plain["word_count"]
    stretched = {"text": re.sub(r"(\w)", "\\1\u0640", ARABIC)}
    for query in (stretched, *({name: marked[name]} for name in ("identifier", "fingerprint"))):
        found = (await look_up(client, query, d=0))["items"]
        assert {each["identifier"] for each in found} == {plain["identifier"], marked["identifier"]}
    [answer] = await check(client, stretched)
    assert answer["verdict"] == "have"


async def test_thai_is_found_by_recognised_letters(client: AsyncClient) -> None:
    book = await post(client, text=THAI)
    file = {"file": ("page.hocr", hocr_of_letters(THAI), "text/html")}
    [found] = (await client.post("/v1/lookups", files=file)).json()["items"]
    assert (found["id"], found["distance"]) == (book["id"], 0)
    assert found["containment"] == {"this_in_other": 1, "other_in_this": 1}
    posted = (await client.post("/v1/books", files=file)).json()
    assert posted["word_count"] == book["word_count"]
