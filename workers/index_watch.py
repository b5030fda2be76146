"""Notices within a second that Redis was flushed, restarted or replaced, and has the index made whole."""

import asyncio

import structlog

from app.core.errors import Unavailable
from app.stores.redis.epoch import Life
from app.wiring import House

log = structlog.get_logger()

_SECONDS = 0.5


async def watch_index(house: House, whole: asyncio.Event) -> None:
    """Look at the index's epoch again and again; reconcile whenever it is not whole. `whole` follows it."""
    while True:
        try:
            life = await house.indexes.epoch.life()
            if life is Life.WHOLE:
                if not whole.is_set():
                    await house.relate.rehearse()
                    whole.set()
            else:
                whole.clear()
                log.info("band index is not whole", life=life.value)
                report = await house.reindex.reconcile()
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
