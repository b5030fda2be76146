"""Tables on a terminal."""

import io
import re

import pytest
from rich.console import Console

from app.cli.output import Listing, drawn_table, notices, print_json, print_list, results


def test_a_long_text_is_broken_and_every_other_column_stays_whole() -> None:
    columns = ("failed", "task", "book", "reason")
    reason = "Unavailable: the catalogue (Postgres) cannot be reached; try again in a moment. " * 3
    book = "01a1fdc9-ebce-72ec-ba75-c1353caacab1"
    console = Console(file=io.StringIO(), width=80)
    console.print(drawn_table(columns, [("120412", "relate", book, reason)], wide="reason"))
    assert isinstance(console.file, io.StringIO)
    output = console.file.getvalue()
    assert all(word in output for word in (*columns, "120412", "relate", book, *reason.split()))
    assert max(map(len, output.splitlines())) <= 80


COMMANDS = "\x1b]52;c;QQ==\x07\x9b2J\u202e\u2066\x7f\r\udce9"
"""Sets the clipboard, clears the screen and turns the writing round, where a terminal obeys it."""


@pytest.mark.parametrize("terminal", [True, False])
def test_no_text_commands_the_terminal(
    terminal: bool, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    if terminal:
        monkeypatch.setenv("FORCE_COLOR", "1")
        monkeypatch.setenv("TERM", "dumb")
    title = f"Emma{COMMANDS} and Harriet"

    results().print(title)
    results().print(drawn_table(("title",), [(title,)], wide="title"))
    notices().print(f"{title}: it is refused.\n\tAnother line")
    print_list(Listing("books", {"title": "title"}, wide="title"), [{"title": title}])
    print_json({"title": title.replace("\udce9", "")})

    printed = capsys.readouterr()
    for text in (printed.out, printed.err):
        own = re.sub(r"\x1b\[[0-9;]*m", "", text)  # rich's own, that make letters bold
        assert not re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\udce9]", own)
        assert "Emma\ufffd" in text
        assert "and Harriet" in text
    assert "\n" in printed.err


def test_a_list_has_its_narrow_columns_beside_its_lines_on_a_terminal(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    listing = Listing(
        "books",
        {"size": "0.size", "title": "1.title", "year": lambda item: item[1]["year"], "authors": "1.authors"},
        wide="book",
        narrow=("size",),
        lines=("{title} · {year}", "by {authors}"),
    )
    first, second = (
        {"title": "Emma", "year": 1815, "authors": ["A", "B"]},
        dict.fromkeys(("title", "year", "authors")),
    )
    items = [({"size": 0.123456}, first), (None, second)]
    assert print_list(listing, items) == 2
    assert capsys.readouterr().out == ("size\ttitle\tyear\tauthors\n0.1235\tEmma\t1815\tA; B\n\t\t\t\n")
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "dumb")
    assert print_list(listing, items) == 2
    drawn = re.sub(r"\x1b\[[0-9;]*m", "", capsys.readouterr().out)
    lines = [" ".join(line.split()) for line in drawn.splitlines()]
    assert [line for line in lines if line and "──" not in line] == [
        *("size book", "0.1235 Emma · 1815", "by A; B", "– untitled"),
    ]
