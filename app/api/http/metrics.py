"""Metrics for Prometheus: requests, books posted and stored, lookups, jobs, relations, webhooks.

Where `serve` starts several API processes, each counts into memory that they share, and whichever is asked
tells the sums.
"""

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import assert_never

from prometheus_client import CollectorRegistry, Counter, Histogram, values
from prometheus_client.exposition import generate_latest
from prometheus_client.metrics_core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from app.api.http.shared_counts import ProcessCounts, SharedValue, SummedCounts
from app.services.index.questions import Alike, Nearest, Question, Verified, Within
from app.services.jobs import Jobs
from app.services.pairs.relations import Relations
from app.wiring import Services
from bookprint_core.errors import Unavailable

_SECONDS = (0.001, 0.002, 0.003, 0.005, 0.01, 0.02, 0.03, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
_METHODS = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
_SCRAPE_SECONDS = 2.0

COUNTS = "BOOKPRINT_COUNTS"
"""The variable with the number of the memory in which API processes count; unset: this one counts alone."""


class Metrics:
    """The counters of one process, and the sums of all that share their counts."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        memory = os.environ.get(COUNTS)
        if memory is not None:
            SharedValue.part = ProcessCounts(int(memory))
            values.ValueClass = SharedValue
        self._requests = Histogram(
            "bookprint_request_seconds",
            "Requests and how long they took, by method, route and status.",
            ("method", "route", "status"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._posted = Counter(
            "bookprint_books_posted", "Posts of books, by outcome.", ("outcome",), registry=self._registry
        )
        self._lookups = Counter(
            "bookprint_lookups", "Questions for near books, by kind.", ("kind",), registry=self._registry
        )
        self._denied = Counter(
            "bookprint_denied",
            "Requests denied for their key with 401, 403 or 429, by the problem that was answered.",
            ("reason",),
            registry=self._registry,
        )
        self._refused = Counter(
            "bookprint_refused", "Requests refused with 503 because too many waited.", registry=self._registry
        )
        self._shared = _Snapshot()
        summed = self._registry
        if memory is not None:
            summed = CollectorRegistry()
            summed.register(SummedCounts())
        summed.register(self._shared)
        self._summed = summed

    def count_request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Note an answered request; `route` is a template, so that there are few of them."""
        known = method if method in _METHODS else "other"
        self._requests.labels(known, route, status).observe(seconds)

    def count_post(self, created: bool) -> None:
        self._posted.labels("created" if created else "repeated").inc()

    def count_lookup(self, question: Question) -> None:
        self._lookups.labels(_kind(question)).inc()

    def count_denied(self, reason: str) -> None:
        """Note a request that was denied; `reason` is the name of a problem, so that there are few."""
        self._denied.labels(reason).inc()

    def count_refused(self) -> None:
        self._refused.inc()

    async def exposition(self, services: Services) -> bytes:
        """All metrics in the text format of Prometheus; without Postgres, what the API processes count."""
        books = pending = float("nan")
        metrics: list[Metric] = []
        with suppress(Unavailable, TimeoutError):
            async with asyncio.timeout(_SCRAPE_SECONDS):
                books = await services.entries.count_roughly()
                pending = await services.entries.count_pending()
                metrics += await _job_metrics(services.jobs)
                metrics += await _relation_metrics(services.relations)
                webhooks = GaugeMetricFamily("bookprint_webhooks", "Webhooks, by state.", labels=("state",))
                for state, count in (await services.webhooks.count_by_state()).items():
                    webhooks.add_metric((state,), count)
                metrics.append(webhooks)
        self._shared.metrics = [*_book_metrics(books, pending), *metrics]
        return generate_latest(self._summed)


class _Snapshot(Collector):
    """Metrics of all processes, as Postgres counts them; none until they are read."""

    def __init__(self) -> None:
        self.metrics: list[Metric] = []

    def collect(self) -> Iterator[Metric]:
        """The metrics that were read last."""
        return iter(self.metrics)


def _book_metrics(books: float, pending: float) -> list[Metric]:
    return [
        GaugeMetricFamily(
            "bookprint_books", "Books in the catalogue, above 100,000 an estimate; NaN: not known.", books
        ),
        GaugeMetricFamily(
            "bookprint_books_pending", "Books that wait for the band index; NaN: not known.", pending
        ),
    ]


async def _relation_metrics(relations: Relations) -> list[Metric]:
    pairs = CounterMetricFamily(
        "bookprint_relations", "Pairs of books that were compared, by kind of relation.", labels=("kind",)
    )
    seconds = CounterMetricFamily(
        "bookprint_relation_seconds", "Seconds that it took to compare them.", labels=("kind",)
    )
    for counts in await relations.count():
        pairs.add_metric((counts.kind,), counts.pairs)
        seconds.add_metric((counts.kind,), counts.seconds)
    return [pairs, seconds]


async def _job_metrics(jobs: Jobs) -> list[Metric]:
    states = GaugeMetricFamily(
        "bookprint_jobs", "Jobs that wait, run or have failed, by task.", labels=("task", "state")
    )
    for counts in await jobs.count():
        states.add_metric((counts.task, counts.state), counts.count)
    failures = CounterMetricFamily(
        "bookprint_job_failures", "Tries of jobs that failed, by task.", labels=("task",)
    )
    for task, tries in (await jobs.count_failures()).items():
        failures.add_metric((task,), tries)
    return [states, failures]


def _kind(question: Question) -> str:
    match question:
        case Within():
            return "within"
        case Nearest():
            return "nearest"
        case Verified():
            return "verified"
        case Alike():
            return "alike"
        case _:
            assert_never(question)
