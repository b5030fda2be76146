"""`python -m workers`: one worker process, until SIGTERM or SIGINT."""

import argparse
import asyncio

import psycopg
import structlog
from procrastinate import PsycopgConnector
from procrastinate.exceptions import ProcrastinateException
from procrastinate.jobs import DeleteJobCondition

from app.logs import configure_logs
from app.settings import Settings
from app.wiring import House, open_house
from workers.tasks import create_queue
from workers.watch import watch_index

log = structlog.get_logger()

_POLLING_SECONDS = 1.0
"""Jobs here only mend what a post could not finish, so they need not be woken by a notification."""


async def run(settings: Settings, concurrency: int) -> None:
    """Work off jobs and watch the index."""
    # One group: should the watch ever fail, the process ends and is started anew, rather than going on blind.
    async with open_house(settings) as house, asyncio.TaskGroup() as group:
        watching = group.create_task(watch_index(house))
        await _work_off_jobs(house, settings, concurrency)
        watching.cancel()


async def _work_off_jobs(house: House, settings: Settings, concurrency: int) -> None:
    """Run the queue until a signal ends it; an outage of Postgres only makes it start over."""
    while True:
        connector = PsycopgConnector(
            conninfo=str(settings.database_url).replace("+psycopg", "", 1),
            min_size=1,
            max_size=concurrency + 2,
        )
        try:
            async with create_queue(connector, house).open_async() as queue:
                return await queue.run_worker_async(
                    concurrency=concurrency,
                    fetch_job_polling_interval=_POLLING_SECONDS,
                    listen_notify=False,
                    delete_jobs=DeleteJobCondition.SUCCESSFUL,
                )
        except (ProcrastinateException, psycopg.Error) as exc:
            log.warning("job queue cannot be reached; trying again", reason=str(exc))
            await asyncio.sleep(1)


def main() -> None:
    """Read the command line and run."""
    parser = argparse.ArgumentParser(prog="python -m workers", description=__doc__)
    parser.add_argument("-c", "--concurrency", type=int, default=4, help="jobs at the same time")
    arguments = parser.parse_args()
    settings = Settings()
    configure_logs(settings.log_format)
    asyncio.run(run(settings, arguments.concurrency))


if __name__ == "__main__":
    main()
