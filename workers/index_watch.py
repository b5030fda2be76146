"""Notices within a second that Redis was flushed, restarted or replaced, and has the index rebuilt."""

import asyncio

import structlog

from app.core.errors import Unavailable
from app.stores.redis.epoch import IndexState
from app.wiring import Services

log = structlog.get_logger()

_SECONDS = 0.5


async def watch_index(services: Services, complete: asyncio.Event) -> None:
    """Read the index's state again and again; reconcile an incomplete index. `complete` follows the state."""
    while True:
        try:
            state = await services.reindex.state()
            if state is IndexState.COMPLETE:
                if not complete.is_set():
                    await services.relate.warm_up()
                    complete.set()
            else:
                complete.clear()
                log.info("band index is not complete", state=state.value)
                report = await services.reindex.reconcile()
                if report is not None:
                    log.info(
                        "band index is complete again",
                        entries=report.entries,
                        added=report.missing,
                        swept=report.stale,
                    )
        except Unavailable as exc:
            complete.clear()
            log.warning("band index cannot be reconciled yet", reason=str(exc))
        await asyncio.sleep(_SECONDS)
