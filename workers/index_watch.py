"""Notices within a second that Redis was flushed, restarted or replaced, and has the index rebuilt."""

import asyncio

import structlog

from app.core.errors import Unavailable
from app.stores.redis.epoch import IndexState
from app.wiring import Services

log = structlog.get_logger()

_SECONDS = 0.5


async def watch_index(services: Services, complete: asyncio.Event) -> None:
    """Read the index's state again and again, and have it completed. `complete` follows the state."""
    while True:
        try:
            state = await services.upkeep.state()
            if state is IndexState.COMPLETE:
                if not complete.is_set():
                    await services.relate.warm_up()
                    complete.set()
            else:
                complete.clear()
                log.info("band index is not complete", state=state.value)
                changed = await services.upkeep.catch_up()
                if changed is not None:
                    log.info(
                        "band index is complete again",
                        entries=changed.entries,
                        added=changed.added,
                        removed=changed.removed,
                    )
        except Unavailable as exc:
            complete.clear()
            log.warning("band index cannot be brought up to date yet", reason=str(exc))
        await asyncio.sleep(_SECONDS)
