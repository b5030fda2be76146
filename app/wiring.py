"""The one place where stores and services are put together, for the API, the workers and the command line."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from app.core.matching.candidates import SelectionLimits
from app.core.recipe import DEFAULT_SUITE
from app.services.books import Books
from app.services.clusters import Clusters
from app.services.health import Health
from app.services.index.recipe_switch import Recipes
from app.services.index.reconcile import Reindex
from app.services.ingest import Ingest
from app.services.jobs import Jobs
from app.services.lookup import Lookup
from app.services.relate import Relate
from app.services.relations import Relations
from app.settings import Settings
from app.stores.postgres.books import BookStore
from app.stores.postgres.candidates import CandidateQueries
from app.stores.postgres.cluster_queries import ClusterQueries
from app.stores.postgres.decisions import DecisionStore
from app.stores.postgres.entries import EntryStore, RecipesLock, ReconcileLock
from app.stores.postgres.job_records import JobStore
from app.stores.postgres.queries import open_queries
from app.stores.postgres.relation_queries import RelationQueries
from app.stores.postgres.relations import RelationStore
from app.stores.postgres.signatures import SignatureReader
from app.stores.postgres.suites import SuiteStore
from app.stores.postgres.unsigned import MissingFingerprints
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import open_client
from app.stores.redis.indexes import Indexes


@dataclass(frozen=True, slots=True)
class Services:
    """Every service of one process, and the stores that maintenance commands need."""

    engine: AsyncEngine
    signatures: SignatureReader
    entries: EntryStore
    suites: SuiteStore
    indexes: Indexes
    books: Books
    ingest: Ingest
    lookup: Lookup
    reindex: Reindex
    recipes: Recipes
    relate: Relate
    relations: Relations
    clusters: Clusters
    jobs: Jobs
    health: Health

    @property
    def index(self) -> BandIndex:
        """The band index of the default suite."""
        return self.indexes.of(DEFAULT_SUITE)


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Connect lazily to Postgres and Redis, and disconnect at the end."""
    if settings.database_url is None or settings.redis_url is None:
        raise ValueError("DATABASE_URL and REDIS_URL must be set; `bookprint serve` sets them by itself.")
    engine = create_async_engine(
        settings.database_url,
        pool_size=settings.database_connections,
        max_overflow=0,
        pool_timeout=10,
        connect_args={"connect_timeout": 5},
    )
    try:
        async with (
            open_client(settings.redis_url) as client,
            open_queries(engine.url, settings.database_connections) as queries,
            open_queries(engine.url, settings.database_connections, whole_tables=True) as whole,
        ):
            indexes, suites = Indexes(client), SuiteStore(engine, queries)
            catalogue, entries = BookStore(engine, queries), EntryStore(engine, queries)
            signatures = SignatureReader(whole)

            def reconcile_lock() -> ReconcileLock:
                return ReconcileLock(engine)

            reindex = Reindex(entries, signatures, indexes, suites, reconcile_lock)
            yield Services(
                engine=engine,
                signatures=signatures,
                entries=entries,
                suites=suites,
                indexes=indexes,
                books=Books(catalogue),
                ingest=Ingest(catalogue, entries, indexes, suites, keep_texts=settings.texts == "postgres"),
                lookup=Lookup(entries, indexes, suites),
                reindex=reindex,
                recipes=Recipes(
                    suites,
                    indexes,
                    reindex,
                    MissingFingerprints(engine, whole),
                    lambda: RecipesLock(engine),
                    reconcile_lock,
                ),
                relate=Relate(
                    entries,
                    indexes,
                    suites,
                    reindex,
                    CandidateQueries(engine, queries),
                    RelationStore(engine),
                    SelectionLimits(),
                ),
                relations=Relations(RelationQueries(queries), DecisionStore(engine)),
                clusters=Clusters(ClusterQueries(engine)),
                jobs=Jobs(JobStore(engine)),
                health=Health(engine, reindex, indexes),
            )
    finally:
        await engine.dispose()
