"""The pace at which a body must arrive, so that no sender holds a request for ever.

The time that the service itself takes between two parts does not count.
"""

import asyncio
from collections.abc import AsyncIterator
from time import monotonic

from starlette.exceptions import HTTPException

GRACE_SECONDS = 20.0
"""Seconds that a sender may be waited for in any case."""

BULK_GRACE_SECONDS = 300.0
"""The same where lines are sent as they come into being."""

MIN_BYTES_A_SECOND = 4_096
"""Each so many bytes that have arrived allow one more second of waiting."""


class BodyTooSlow(HTTPException):
    """The request body arrives more slowly than this service waits for."""

    problem = "body-too-slow"

    def __init__(self, seconds: float, size: int) -> None:
        # The rest of the body may still arrive on this connection, and must not be taken for a request.
        super().__init__(
            408,
            f"{size:,} bytes of the body arrived in {seconds:.0f} seconds of waiting.",
            headers={"Connection": "close"},
        )


async def paced(parts: AsyncIterator[bytes], grace: float) -> AsyncIterator[bytes]:
    """The parts of a body as they arrive; raises BodyTooSlow for one that falls behind.

    It may be waited for `grace` seconds, and one more for each MIN_BYTES_A_SECOND that have arrived.
    """
    waited, size = 0.0, 0
    while True:
        asked = monotonic()
        try:
            async with asyncio.timeout(max(0.0, grace + size / MIN_BYTES_A_SECOND - waited)):
                part = await anext(parts, None)
        except TimeoutError:
            raise BodyTooSlow(waited + monotonic() - asked, size) from None
        if part is None:
            return
        waited += monotonic() - asked
        size += len(part)
        yield part
