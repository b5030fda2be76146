"""`python -m tests.faults.impatient_worker`: a worker that counts as dead after three seconds of silence."""

import asyncio
from datetime import timedelta

from app.settings import Settings
from workers.process import run
from workers.queue_worker import Pace

if __name__ == "__main__":
    asyncio.run(run(Settings(), 2, Pace(poll=0.1, heartbeat=0.5, dead_after=timedelta(seconds=3), grace=1.0)))
