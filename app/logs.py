"""Logs of all processes: plain lines for people, JSON for collectors."""

import logging
import sys
import threading
import time
import traceback
from collections.abc import Callable
from types import TracebackType
from typing import Literal

import structlog
from structlog.stdlib import ProcessorFormatter

_SECONDS_UNTOLD = 20.0
"""Seconds of an outage before each log line. Servers that have just started answer sooner."""

_SECONDS_OF_PEACE = 120.0
"""Seconds without errors after which the next error counts as a new outage."""

_MOST_FRAMES = 40
_SECONDS_BETWEEN_TRACEBACKS = 1.0
_LONGEST = 200  # characters of an error without its traceback


def configure_logs(log_format: Literal["console", "json"]) -> None:
    """Write structured events, and the warnings of libraries, to standard error.

    In JSON, each event and each uncaught error with its traceback is one object per line.
    """
    seldom = Seldom()
    logging.getLogger("psycopg.pool").addFilter(lambda record: seldom.is_due(str(record.msg)))
    format_errors = structlog.processors.ExceptionRenderer(Tracebacks())
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    processors: list[structlog.typing.Processor] = [
        seldom,
        structlog.contextvars.merge_contextvars,
        structlog.processors.add_log_level,
        structlog.processors.TimeStamper(fmt="iso", utc=True),
    ]
    renderer: structlog.typing.Processor = structlog.dev.ConsoleRenderer(colors=False)
    if log_format == "json":
        renderer = structlog.processors.JSONRenderer()
        handler.setFormatter(
            ProcessorFormatter(
                foreign_pre_chain=[*processors, structlog.stdlib.add_logger_name],
                processors=[
                    ProcessorFormatter.remove_processors_meta,
                    format_errors,
                    renderer,
                ],
            )
        )
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught
        threading.excepthook = sys.unraisablehook = _log_left
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    # If uvicorn's own command started this process, uvicorn already has a handler.
    logging.getLogger("uvicorn").handlers.clear()
    logging.getLogger("uvicorn").propagate = True
    structlog.configure(
        processors=[*processors, format_errors, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )


class Seldom:
    """A filter that passes an event with `outage` once every 20 seconds, because clients retry often."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._told: dict[str, tuple[float, float]] = {}  # start or last line of an outage, and last event

    def is_due(self, event: str) -> bool:
        now = self._clock()
        since, last = self._told.get(event, (now, now))
        if now - last > _SECONDS_OF_PEACE:
            since = now
        is_due = now - since >= _SECONDS_UNTOLD
        self._told[event] = (now if is_due else since, now)
        return is_due

    def __call__(self, _: object, __: str, event: structlog.typing.EventDict) -> structlog.typing.EventDict:
        if "outage" in event and not self.is_due(event["event"]):
            raise structlog.DropEvent
        return event


class Tracebacks:
    """A formatter of errors with their last frames; a repeated error gets them once per second."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._written: dict[tuple[type[BaseException], str, int], float] = {}

    def __call__(self, exc_info: tuple[type[BaseException], BaseException, TracebackType | None]) -> str:
        kind, value, trace = exc_info
        last = traceback.extract_tb(trace, limit=-1)
        place = (kind, last[0].filename, last[0].lineno or 0) if last else (kind, "", 0)
        now, written = self._clock(), self._written.get(place)
        if written is not None and now < written + _SECONDS_BETWEEN_TRACEBACKS:
            return f"{kind.__name__} at the same place again: {value}"[:_LONGEST]
        self._written[place] = now
        return "".join(traceback.format_exception(kind, value, trace, limit=-_MOST_FRAMES)).rstrip()


def _log_left(error: "threading.ExceptHookArgs | sys.UnraisableHookArgs") -> None:
    _log_uncaught(error.exc_type, error.exc_value, error.exc_traceback)


def _log_uncaught(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    structlog.get_logger().critical("uncaught error", exc_info=(kind, error, trace))
