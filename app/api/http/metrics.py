"""Metrics for Prometheus: requests, books posted and stored, lookups, jobs, relations, webhooks.

If `serve` starts several API processes, they count in shared memory, and each of them returns the sums.
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
"""Environment variable with the file descriptor of the shared counts; unset if only one process counts."""


class Metrics:
    """The counters of this process, and the sums over all API processes."""

    def __init__(self) -> None:
        self._registry = CollectorRegistry()
        memory = os.environ.get(COUNTS)
        if memory is not None:
            SharedValue.part = ProcessCounts(int(memory))
            values.ValueClass = SharedValue
        self._requests = Histogram(
            "bookprint_request_seconds",
            "Seconds per request, by method, route and status.",
            ("method", "route", "status"),
            buckets=_SECONDS,
            registry=self._registry,
        )
        self._posted = Counter(
            "bookprint_books_posted", "Posts of books, by outcome.", ("outcome",), registry=self._registry
        )
        self._lookups = Counter(
            "bookprint_lookups", "Lookups of near books, by kind.", ("kind",), registry=self._registry
        )
        self._denied = Counter(
            "bookprint_denied",
            "Requests denied with 401, 403 or 429, by problem.",
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
        """Count an answered request; `route` is the template of its path, which limits the label values."""
        known = method if method in _METHODS else "other"
        self._requests.labels(known, route, status).observe(seconds)

    def count_post(self, created: bool) -> None:
        self._posted.labels("created" if created else "repeated").inc()

    def count_lookup(self, question: Question) -> None:
        self._lookups.labels(_kind(question)).inc()

    def count_denied(self, reason: str) -> None:
        """Count a denied request; `reason` is the name of a problem, which limits the label values."""
        self._denied.labels(reason).inc()

    def count_refused(self) -> None:
        self._refused.inc()

    async def exposition(self, services: Services) -> bytes:
        """Return all metrics in Prometheus text format; without Postgres, only those of the API processes."""
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
    """The latest metrics from Postgres; empty before the first read."""

    def __init__(self) -> None:
        self.metrics: list[Metric] = []

    def collect(self) -> Iterator[Metric]:
        """Return the metrics that were read last."""
        return iter(self.metrics)


def _book_metrics(books: float, pending: float) -> list[Metric]:
    return [
        GaugeMetricFamily(
            "bookprint_books", "Books in the catalogue, estimated above 100,000; NaN: unknown.", books
        ),
        GaugeMetricFamily(
            "bookprint_books_pending", "Books not yet in the band index; NaN: unknown.", pending
        ),
    ]


async def _relation_metrics(relations: Relations) -> list[Metric]:
    pairs = CounterMetricFamily(
        "bookprint_relations", "Compared pairs of books, by kind of relation.", labels=("kind",)
    )
    seconds = CounterMetricFamily(
        "bookprint_relation_seconds", "Seconds spent comparing pairs, by kind of relation.", labels=("kind",)
    )
    for counts in await relations.count():
        pairs.add_metric((counts.kind,), counts.pairs)
        seconds.add_metric((counts.kind,), counts.seconds)
    return [pairs, seconds]


async def _job_metrics(jobs: Jobs) -> list[Metric]:
    states = GaugeMetricFamily(
        "bookprint_jobs", "Waiting, running and failed jobs, by task and state.", labels=("task", "state")
    )
    for counts in await jobs.count():
        states.add_metric((counts.task, counts.state), counts.count)
    failures = CounterMetricFamily(
        "bookprint_job_failures", "Failed tries of jobs, by task.", labels=("task",)
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
