"""`bookprint jobs` on a running service."""

import re

import pytest
import sqlalchemy as sa

from tests.cli.command_line import Service, bookprint


@pytest.fixture
def failed_job(service: Service) -> int:
    """A job that has failed, of a queue that no worker reads."""
    engine = sa.create_engine(service.servers["DATABASE_URL"], poolclass=sa.NullPool)
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
    listed = bookprint("jobs", **service.servers)
    assert listed.returncode == 0, listed.stderr
    assert re.search(r"^relate\tfailed\t1$", listed.stdout, re.MULTILINE)
    assert f"{failed_job}\trelate\t\tValueError: no\n" in listed.stdout

    put_back = bookprint("jobs", "--retry", str(failed_job), **service.servers)
    assert (put_back.returncode, put_back.stdout) == (0, "1 failed job will be retried\n")
    again = bookprint("jobs", "--retry", str(failed_job), **service.servers)
    assert again.returncode == 1
    assert "only failed jobs" in again.stderr
    every = bookprint("jobs", "--retry", "all", **service.servers)
    assert (every.returncode, every.stdout) == (0, "0 failed jobs will be retried\n")
    assert "ValueError" not in bookprint("jobs", **service.servers).stdout
    wrong = bookprint("jobs", "--retry", "some", **service.servers)
    assert (wrong.returncode, "all" in wrong.stderr) == (2, True)
