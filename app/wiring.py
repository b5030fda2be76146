"""Construction of all stores and services, for the API, the workers and the command line."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING

from app.services.access.audit import Audit
from app.services.access.keys import Keys
from app.services.access.limits import Limits
from app.services.access.sessions import Sessions
from app.services.books import Backlog, Books, Ingest
from app.services.changes import Changes
from app.services.checks import Checks
from app.services.clusters import Clusters, MasterCopies
from app.services.completeness import Completeness
from app.services.conflicts import Conflicts
from app.services.descriptions import Descriptions
from app.services.health import Health
from app.services.index.missing_signatures import (
    MissingSignatures,
    missing_digests,
    missing_vectors,
    outdated_signatures,
)
from app.services.index.upkeep import IndexUpkeep
from app.services.jobs import Jobs
from app.services.library import WholeLibrary
from app.services.lookups import Lookup
from app.services.pairs.decisions import Decisions
from app.services.pairs.evidence import EvidenceOfPairs
from app.services.pairs.relate import Relate
from app.services.pairs.relations import Relations
from app.services.reconciliation import BookFinder, Reconciliation
from app.services.signing import Extras
from app.services.similar import SimilarBooks
from app.services.volumes import Volumes
from app.services.webhooks import Webhooks
from app.settings import ProcessShare, Settings, optimal_bands
from app.stores.postgres.bulk import BulkStore
from app.stores.postgres.changes import ChangeFeed
from app.stores.postgres.connections import Database, ReconcileLock, SchemaQueries, open_database
from app.stores.postgres.contents import MarcRecordStore, TextStore
from app.stores.postgres.entries import EntryStore
from app.stores.postgres.keys import KeyLimits
from app.stores.postgres.pairs.candidates import CandidateStore
from app.stores.postgres.pairs.completeness import CompletenessStore
from app.stores.postgres.pairs.relations import RelationStore
from app.stores.postgres.signatures import SignatureQueries
from app.stores.postgres.webhooks import WebhookStore
from app.stores.redis.band_index import BandIndex
from app.stores.redis.client import TimeWindows, open_client
from bookprint_core.index.minhash_bands import MinHashBands
from bookprint_core.matching.candidates import SelectionLimits

if TYPE_CHECKING:
    from app.services.bulk.loading import Load, Loading
    from app.services.deliveries import Delivery


@dataclass(frozen=True, slots=True)
class Services:
    """All services of one process."""

    books: Books
    entries: EntryStore
    ingest: Ingest
    loading: "Callable[[Load], Loading]"
    lookup: Lookup
    similar_books: SimilarBooks
    upkeep: IndexUpkeep
    outdated: MissingSignatures
    missing_digests: MissingSignatures
    missing_vectors: MissingSignatures
    relate: Relate
    relations: Relations
    evidence: EvidenceOfPairs
    decisions: Decisions
    clusters: Clusters
    master_copies: MasterCopies
    completeness: Completeness
    checks: Checks
    conflicts: Conflicts
    descriptions: Descriptions
    volumes: Volumes
    reconciliation: Reconciliation
    finder: BookFinder
    changes: Changes
    webhooks: Webhooks
    keys: Keys
    sessions: Sessions
    audit: Audit
    limits: Limits
    library: WholeLibrary
    jobs: Jobs
    health: Health


@dataclass(frozen=True, slots=True)
class Stores:
    """Connections of one process, and stores that several services share."""

    database: Database
    entries: EntryStore
    signatures: SignatureQueries
    index: BandIndex
    windows: TimeWindows


@asynccontextmanager
async def open_services(settings: Settings) -> AsyncIterator[Services]:
    """Open the services for the block. Connections to Postgres and Redis are made when first needed."""
    async with open_stores(settings) as stores:
        yield services_on(stores, settings)


@asynccontextmanager
async def open_stores(settings: Settings) -> AsyncIterator[Stores]:
    """Open the stores for the block. Connections to Postgres and Redis are made when first needed."""
    if settings.database_url is None or settings.redis_url is None:
        raise ValueError("DATABASE_URL and REDIS_URL must be set; `bookprint serve` sets them itself.")
    bands = await asyncio.to_thread(optimal_bands, settings.jaccard_threshold)
    async with (
        open_client(settings.redis_url) as client,
        aclosing(TimeWindows(settings.redis_url)) as windows,
        open_database(settings.database_url, ProcessShare.given().connections) as database,
    ):
        yield Stores(
            database,
            EntryStore(database),
            SignatureQueries(database),
            BandIndex(client, MinHashBands(*bands)),
            windows,
        )


def services_on(stores: Stores, settings: Settings) -> Services:
    """Return the services on these stores."""
    database, entries, signatures = stores.database, stores.entries, stores.signatures
    index, outdated = stores.index, outdated_signatures(stores.database)
    books, jobs = Books(database), Jobs(database)
    backlog = Backlog(jobs)
    clusters = Clusters(database)
    relations = Relations(database)
    candidates = CandidateStore(database)
    changes = Changes(ChangeFeed(database))
    extras = Extras(
        text=settings.texts == "postgres",
        iscc="iscc" in settings.compute,
        digests="digests" in settings.compute,
        vector="vectors" in settings.compute,
    )
    lookup = Lookup(entries, index, books)
    upkeep = IndexUpkeep(entries, signatures, index, outdated, partial(ReconcileLock, database))
    sets = BulkStore(database)
    keys = Keys(
        database,
        settings.bootstrap_key,
        KeyLimits(**{each.name: getattr(settings, each.name) for each in fields(KeyLimits)}),
    )
    reconciliation = Reconciliation(database, lookup, relations)
    decisions, volumes = Decisions(database), Volumes(relations, reconciliation)

    def loading(load: "Load") -> "Loading":
        # Imported late: it imports readers, whose libraries no other process of a service loads.
        from app.services.bulk.loading import Loading

        return Loading(sets, entries, upkeep, load)

    return Services(
        books=books,
        entries=entries,
        ingest=Ingest(books, sets, entries, index, backlog, extras),
        loading=loading,
        lookup=lookup,
        similar_books=SimilarBooks(database),
        upkeep=upkeep,
        outdated=outdated,
        missing_digests=missing_digests(database),
        missing_vectors=missing_vectors(database),
        relate=Relate(entries, index, upkeep, candidates, RelationStore(database), lookup, SelectionLimits()),
        relations=relations,
        decisions=decisions,
        evidence=EvidenceOfPairs(relations, books, TextStore(database)),
        clusters=clusters,
        master_copies=MasterCopies(clusters, relations),
        completeness=Completeness(clusters, relations, CompletenessStore(database), candidates),
        checks=Checks(lookup, candidates, books, reconciliation),
        conflicts=Conflicts(database),
        descriptions=Descriptions(MarcRecordStore(database), reconciliation, relations, volumes, entries),
        volumes=volumes,
        reconciliation=reconciliation,
        finder=BookFinder(books, lookup, reconciliation),
        changes=changes,
        webhooks=Webhooks(database, changes, settings.webhook_allow_hosts),
        keys=keys,
        sessions=Sessions(database, keys),
        limits=Limits(stores.windows, settings.attempts_per_minute, processes=ProcessShare.given().processes),
        audit=Audit(database, decisions, settings.audit_days),
        library=WholeLibrary(database, entries, reconciliation, changes),
        jobs=jobs,
        health=Health(SchemaQueries(database), jobs, upkeep, index),
    )


def delivery_on(stores: Stores, settings: Settings) -> "Delivery":
    """Return the service that delivers changes to webhooks."""
    # Imported late: only the delivery process loads an HTTP client.
    from app.services.deliveries import Delivery

    feed = ChangeFeed(stores.database)
    return Delivery(WebhookStore(stores.database), feed, Changes(feed), settings.webhook_allow_hosts)
