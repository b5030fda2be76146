"""The books that a command refuses, as the HTTP interface would: each named, and listed in a CSV file."""

import csv
from pathlib import Path
from types import TracebackType
from typing import IO, Annotated

import typer

from app.cli.output import Reporter, UserError
from app.core.errors import Refusal

Report = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE.csv",
        help="List what was refused: path, place in the file, reason, problem type.",
        dir_okay=False,
    ),
]
"""The option that names the file."""

_COLUMNS = ("path", "place", "reason", "type")


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
            self._writer = csv.writer(self._file)
            self._writer.writerow(_COLUMNS)

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
            self._writer.writerow((path, part, refusal.reason, f"urn:bookprint:problem:{refusal.problem}"))
            self._file.flush()  # so that the list is whole after a kill
