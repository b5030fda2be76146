"""Texts of the two collections whose markup is their own, and of files that readers know."""

from bench.public.book_texts import book_text

AOZORA = """題名
著者

-------------------------------------------------------
【テキスト中に現れる記号について】

《》：ルビ
-------------------------------------------------------

　吾輩《わがはい》は猫である。［＃「猫」に傍点］名前は｜まだ無い《まだない》。
-------------------------------------------------------
　終り。

底本：「全集」書房
入力：だれか
"""

OPENITI = """######OpenITI#
#META# 020.BookTITLE\t:: العنوان
#META#Header#End#

### | باب
# أول السطر
~~وآخره PageV01P002
# صفحة أخرى @P01@ ms012 %~% نهاية
"""


def test_aozora_loses_head_readings_notes_and_colophon() -> None:
    text = book_text(AOZORA.replace("\n", "\r\n").encode("cp932"), "aozorahack/aozorabunko_text", "a.txt")
    assert "吾輩は猫である。名前はまだ無い。" in text
    assert text.strip().endswith("終り。")
    assert not any(mark in text for mark in ("題名", "ルビ", "わがはい", "傍点", "底本", "全集"))


def test_openiti_joins_lines_and_breaks_pages() -> None:
    first, second = book_text(OPENITI.encode(), "OpenITI/0300AH", "a").split("\f")
    assert first.split() == ["باب", "أول", "السطر", "وآخره"]
    assert second.split() == ["صفحة", "أخرى", "نهاية"]
