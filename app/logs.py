"""Logs of the processes of Bookprint: plain lines for people, JSON for collectors."""

import logging
import sys
import threading
from types import TracebackType
from typing import Literal

import structlog
from structlog.stdlib import ProcessorFormatter


def configure_logs(log_format: Literal["console", "json"]) -> None:
    """Send structured events, and the warnings of libraries, to standard error.

    As JSON each is one object in one line, and so is an error that nothing catches, with its traceback.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    processors: list[structlog.typing.Processor] = [
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
                    structlog.processors.format_exc_info,
                    renderer,
                ],
            )
        )
        logging.captureWarnings(True)
        sys.excepthook = _log_uncaught
        threading.excepthook = sys.unraisablehook = _log_left
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    # Started by its own command, uvicorn has a handler by now.
    logging.getLogger("uvicorn").handlers.clear()
    logging.getLogger("uvicorn").propagate = True
    structlog.configure(
        processors=[*processors, structlog.processors.format_exc_info, renderer],
        wrapper_class=structlog.make_filtering_bound_logger(logging.INFO),
        logger_factory=structlog.WriteLoggerFactory(sys.stderr),
    )


def _log_left(error: "threading.ExceptHookArgs | sys.UnraisableHookArgs") -> None:
    _log_uncaught(error.exc_type, error.exc_value, error.exc_traceback)


def _log_uncaught(
    kind: type[BaseException], error: BaseException | None, trace: TracebackType | None
) -> None:
    structlog.get_logger().critical("an error that nothing catches", exc_info=(kind, error, trace))
