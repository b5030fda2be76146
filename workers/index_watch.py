"""Notices within a second that Redis was flushed, restarted or replaced, and has the index made whole."""

import asyncio

import structlog

from app.core.errors import Unavailable
from app.core.model import IndexState
from app.wiring import Services

log = structlog.get_logger()

_SECONDS = 0.5


async def watch_index(services: Services, whole: asyncio.Event) -> None:
    """Look at the index's epoch again and again; reconcile whenever it is not whole. `whole` follows it."""
    while True:
        try:
            state = await services.reindex.state()
            if state is IndexState.COMPLETE:
                if not whole.is_set():
                    await services.relate.warm_up()
                    whole.set()
            else:
                whole.clear()
                log.info("band index is not whole", state=state.value)
                report = await services.reindex.reconcile()
                if report is not None:
                    log.info(
                        "band index is whole again",
                        entries=report.entries,
                        added=report.missing,
                        swept=report.stale,
                    )
        except Unavailable as exc:
            whole.clear()
            log.warning("band index cannot be reconciled yet", reason=str(exc))
        await asyncio.sleep(_SECONDS)
