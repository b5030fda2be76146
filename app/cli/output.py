"""The output of commands: results on standard output, everything else on standard error.

On a terminal a table is drawn and progress is a bar. Piped, a table is lines with tabs, and progress a line
every few seconds.
"""

import re
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import chain
from pathlib import Path
from types import TracebackType
from typing import IO, Annotated, Any, TypeVar

import orjson
import typer
from rich.box import SIMPLE_HEAD
from rich.console import Console, ConsoleOptions, RenderableType
from rich.progress import BarColumn, Progress, TaskID, TextColumn
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from app.core.csv_tables import CsvWriter
from app.core.errors import Refusal

T = TypeVar("T")

_SECONDS_BETWEEN_LINES = 5.0

_COMMANDS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\ud800-\udfff]")
"""What a terminal takes as a command, or as one to turn the writing round, and what it cannot be sent."""


class UserError(Exception):
    """An error that the user can mend; the message says how. `status` is the exit status."""

    def __init__(self, message: str, status: int = 1) -> None:
        super().__init__(message)
        self.status = status


def log_instead() -> None:
    """Have all that this process prints from now on be events of the log, one JSON object a line."""
    from app.logs import configure_logs

    global _console_type
    configure_logs("json")
    _console_type = _EventConsole


def results() -> Console:
    """The console for results."""
    return _console(stderr=False)


def notices() -> Console:
    """The console for progress, hints and errors."""
    return _console(stderr=True)


def printable(text: str) -> str:
    """The text with U+FFFD for each character that would command the terminal."""
    return _COMMANDS.sub("\ufffd", text)


class _Console(Console):
    """A console that prints texts of strangers: titles, names of files, reasons."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """The segments of what is printed, without commands but rich's own."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


class _EventConsole(_Console):
    """Logs what it is to print, each time as one event."""

    def print(self, *objects: Any, **_: Any) -> None:
        _log().info(" ".join(map(str, objects)))


_console_type: type[Console] = _Console


def _log() -> Any:
    import structlog  # here, because most commands do without

    return structlog.get_logger()


def _console(stderr: bool) -> Console:
    console = _console_type(stderr=stderr, highlight=False, markup=False)
    console.soft_wrap = not console.is_terminal  # piped lines are never broken
    return console


def complain(message: str) -> None:
    """Print an error."""
    if _console_type is _EventConsole:
        _log().error(message)
    else:
        notices().print(Text.assemble(("Error: ", "bold red"), message))


def print_json(document: object) -> None:
    """Print a result as one line of JSON, in which what would command the terminal is escaped."""
    text = orjson.dumps(document).decode()
    results().print(_COMMANDS.sub(lambda found: f"\\u{ord(found[0]):04x}", text), soft_wrap=True)


def show(
    items: Iterable[T],
    columns: Sequence[str],
    cells: Callable[[T], Sequence[str]],
    *,
    json: bool = False,
    drawn: Callable[[T], Mapping[str, RenderableType]] | None = None,
    wide: str,
    right: Sequence[str] = (),
) -> None:
    """Print items, each as one line: its JSON, or piped its `cells` with tabs between them.

    On a terminal they are a table, unless there are none. `drawn` says what stands there in place of the
    cells, by column; `wide` and `right` are those of `drawn_table`.
    """
    console = results()
    if json:
        for item in items:
            print_json(item)
    elif console.is_terminal:
        rows = [drawn(item) if drawn else dict(zip(columns, cells(item), strict=True)) for item in items]
        if rows:
            console.print(drawn_table(tuple(rows[0]), [tuple(row.values()) for row in rows], wide, right))
    else:
        for row in chain((columns,), map(cells, items)):
            # Past rich, which turns tabs into blanks.
            console.file.write("\t".join(printable(" ".join(cell.split())) for cell in row) + "\n")
        console.file.flush()


def write_csv(path: Path, columns: Sequence[str], rows: Iterable[Sequence[str]]) -> None:
    """Write a table to a CSV file; raises `UserError`."""
    try:
        file = path.open("w", encoding="utf-8", newline="")
    except OSError as exc:
        raise UserError(f"{path} cannot be written: {exc.strerror}.", 2) from exc
    with file:
        writer = CsvWriter(file)
        writer.row(columns)
        writer.rows(rows)


def stacked(first: str, *below: str) -> Text:
    """A cell of a table with lines below the first, where there is no room for columns of their own."""
    return Text.assemble(first, *((f"\n{line}", "dim") for line in below if line))


def drawn_table(
    columns: Sequence[str], rows: Sequence[Sequence[RenderableType]], wide: str, right: Sequence[str] = ()
) -> Table:
    """A table with thin lines; where there is no room the column `wide` is broken. `right` are numbers."""
    table = Table(box=SIMPLE_HEAD, pad_edge=False, header_style="bold")
    for column in columns:
        # Were no column to be broken, all would be cut, until ids and numbers are gone.
        table.add_column(
            column, justify="right" if column in right else "left", no_wrap=column != wide, overflow="fold"
        )
    for row in rows:
        table.add_row(*row)
    return table


def duration(seconds: float) -> str:
    """Seconds as m:ss or h:mm:ss."""
    minutes, second = divmod(round(seconds), 60)
    hours, minute = divmod(minutes, 60)
    return f"{hours}:{minute:02}:{second:02}" if hours else f"{minute}:{second:02}"


class Reporter:
    """Shows how far a long command has come, how fast it goes and how long it will take; safe for threads.

    `label` names the work, `noun` the things that are counted.
    """

    def __init__(self, label: str, noun: str) -> None:
        self._label = label
        self._noun = noun
        self._console = notices()
        self._lock = threading.Lock()
        self._bar: Progress | None = None
        self._task = TaskID(0)
        self._done = 0
        self._share = 0.0

    def __enter__(self) -> "Reporter":
        self._started = self._last_line = time.monotonic()
        if self._console.is_terminal:
            self._bar = Progress(
                TextColumn("{task.description}"),
                BarColumn(bar_width=None),
                TextColumn("{task.fields[state]}"),
                console=self._console,
                transient=True,
                expand=True,
            )
            self._task = self._bar.add_task(self._label, total=1.0, state="")
            self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.stop()

    def advance(self, done: int, share: float) -> None:
        """Say that `done` things and the `share` (0 to 1) of the work are done."""
        now = time.monotonic()
        with self._lock:
            self._done, self._share = done, min(1.0, share)
            if self._bar is not None:
                self._bar.update(self._task, completed=self._share, state=self._state(now))
            elif now - self._last_line >= _SECONDS_BETWEEN_LINES:
                self._last_line = now
                self._console.print(f"{self._label}: {self._state(now)}")

    def counted(self, done: int, total: int) -> None:
        """Say that `done` things of `total` are done."""
        self.advance(done, done / total if total else 1.0)

    def say(self, message: str) -> None:
        """Print a line above the bar."""
        console = self._console if self._bar is None else self._bar.console
        console.print(message)

    def _state(self, now: float) -> str:
        elapsed = max(now - self._started, 1e-3)
        left = duration(elapsed * (1 - self._share) / self._share) if self._share > 0 else "-:--"
        return f"{self._share:4.0%}  {self._done:,} {self._noun}  {self._done / elapsed:,.1f}/s  {left} left"


Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.csv",
        help="List what was refused: path, place in the file, reason, problem type.",
        dir_okay=False,
    ),
]
"""The option that names the file."""


class Refusals:
    """Names each refused book, and lists it in the file if there is one."""

    def __init__(self, report: Path | None, reporter: Reporter) -> None:
        self.count = 0
        self._reporter = reporter
        self._file: IO[str] | None = None
        if report is not None:
            try:
                self._file = report.open("w", encoding="utf-8", errors="backslashreplace", newline="")
            except OSError as exc:
                raise UserError(f"{report} cannot be written: {exc.strerror}.", 2) from exc
            self._writer = CsvWriter(self._file)
            self._writer.row(("path", "place", "reason", "type"))

    def __enter__(self) -> "Refusals":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._file is not None:
            self._file.close()

    def add(self, path: str, part: str, refusal: Refusal) -> None:
        """Note one book: its file, and its place there, empty where the file is one book."""
        self.count += 1
        place = f"{path}, {part}" if part else path
        self._reporter.say(f"{place}: {refusal.reason}")
        if self._file is not None:
            self._writer.row((path, part, refusal.reason, f"urn:bookprint:problem:{refusal.problem}"))
            self._file.flush()  # so that the list is whole after a kill
