"""`bookprint jobs` on a running service."""

import os
import re
import sys
import time

import psutil
import pytest
import sqlalchemy as sa

from app.embedded import running_servers
from tests.cli.command_line import Service, bookprint


@pytest.fixture
def failed_job(service: Service) -> int:
    """A job that has failed, of a queue that no worker reads."""
    servers = running_servers(service.data_dir)
    assert servers is not None
    engine = sa.create_engine(servers.database_url, poolclass=sa.NullPool)
    with engine.begin() as connection:
        job_id = connection.scalar(
            sa.text(
                "INSERT INTO procrastinate_jobs (queue_name, task_name, status, attempts) "
                "VALUES ('nobody', 'relate', 'failed', 6) RETURNING id"
            )
        )
        connection.execute(
            sa.text("INSERT INTO job_failures (job_id, reason) VALUES (:id, 'ValueError: no')"),
            {"id": job_id},
        )
    assert isinstance(job_id, int)
    return job_id


def test_failed_jobs_are_listed_with_their_reason_and_put_back(service: Service, failed_job: int) -> None:
    listed = bookprint("jobs", "--data-dir", service.data_dir)
    assert listed.returncode == 0, listed.stderr
    assert re.search(r"^relate\tfailed\t1$", listed.stdout, re.MULTILINE)
    assert f"{failed_job}\trelate\t-\tValueError: no\n" in listed.stdout

    put_back = bookprint("jobs", "--retry", str(failed_job), "--data-dir", service.data_dir)
    assert (put_back.returncode, put_back.stdout) == (0, "1 failed job is to be tried again\n")
    again = bookprint("jobs", "--retry", str(failed_job), "--data-dir", service.data_dir)
    assert again.returncode == 1
    assert "only failed jobs" in again.stderr
    every = bookprint("jobs", "--retry", "all", "--data-dir", service.data_dir)
    assert (every.returncode, every.stdout) == (0, "0 failed jobs are to be tried again\n")
    assert "ValueError" not in bookprint("jobs", "--data-dir", service.data_dir).stdout


@pytest.mark.parametrize(("which", "status"), [("some", 2), ("-1", 2), ("987654321", 1)])
def test_what_cannot_be_put_back_is_said(service: Service, which: str, status: int) -> None:
    done = bookprint("jobs", "--retry", which, "--data-dir", service.data_dir)
    assert done.returncode == status
    assert done.stderr.startswith("Error: ")
    assert "Traceback" not in done.stderr


def _is(process: psutil.Process, name: str) -> bool:
    """Whether it has this name; one that has just ended has none."""
    try:
        return process.name() == name
    except psutil.Error:
        return False


def test_workers_of_serve_give_way_to_the_api(service: Service) -> None:
    deadline = time.monotonic() + 20
    while True:
        workers = [process for process in service.family() if _is(process, "worker 1")]
        if workers and all(_gives_way(process) for process in workers):
            break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    [api] = [process for process in service.family() if _is(process, "api 1")]
    assert api.nice() == psutil.Process().nice()
    assert not _is_idle_class(api)


def _gives_way(worker: psutil.Process) -> bool:
    return worker.nice() == 19 and (sys.platform != "linux" or _is_idle_class(worker))


def _is_idle_class(process: psutil.Process) -> bool:
    return sys.platform == "linux" and os.sched_getscheduler(process.pid) == os.SCHED_IDLE
