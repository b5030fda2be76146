"""Tables on a terminal."""

import io

from rich.console import Console

from app.cli.output import drawn_table


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
