-- PostgreSQL database dump

SET statement_timeout = 0;
SET lock_timeout = 0;
SET idle_in_transaction_session_timeout = 0;
SET transaction_timeout = 0;
SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET xmloption = content;
SET client_min_messages = warning;
SET row_security = off;

CREATE TYPE public.procrastinate_job_event_type AS ENUM (
    'deferred',
    'started',
    'deferred_for_retry',
    'failed',
    'succeeded',
    'cancelled',
    'abort_requested',
    'aborted',
    'scheduled',
    'retried'
);

CREATE TYPE public.procrastinate_job_status AS ENUM (
    'todo',
    'doing',
    'succeeded',
    'failed',
    'cancelled',
    'aborting',
    'aborted'
);

CREATE TYPE public.procrastinate_job_to_defer_v1 AS (
	queue_name character varying,
	task_name character varying,
	priority integer,
	lock text,
	queueing_lock text,
	args jsonb,
	scheduled_at timestamp with time zone
);

CREATE FUNCTION public.procrastinate_cancel_job_v1(job_id bigint, abort boolean, delete_job boolean) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status = 'todo'
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        IF abort THEN
            UPDATE procrastinate_jobs
            SET abort_requested = true,
                status = CASE status
                    WHEN 'todo' THEN 'cancelled'::procrastinate_job_status ELSE status
                END
            WHERE id = job_id AND status IN ('todo', 'doing')
            RETURNING id INTO _job_id;
        ELSE
            UPDATE procrastinate_jobs
            SET status = 'cancelled'::procrastinate_job_status
            WHERE id = job_id AND status = 'todo'
            RETURNING id INTO _job_id;
        END IF;
    END IF;
    RETURN _job_id;
END;
$$;

CREATE FUNCTION public.procrastinate_defer_jobs_v1(jobs public.procrastinate_job_to_defer_v1[]) RETURNS bigint[]
    LANGUAGE plpgsql
    AS $$
DECLARE
    job_ids bigint[];
BEGIN
    WITH inserted_jobs AS (
        INSERT INTO procrastinate_jobs (queue_name, task_name, priority, lock, queueing_lock, args, scheduled_at)
        SELECT (job).queue_name,
               (job).task_name,
               (job).priority,
               (job).lock,
               (job).queueing_lock,
               (job).args,
               (job).scheduled_at
        FROM unnest(jobs) AS job
        RETURNING id
    )
    SELECT array_agg(id) FROM inserted_jobs INTO job_ids;

    RETURN job_ids;
END;
$$;

CREATE FUNCTION public.procrastinate_defer_periodic_job_v2(_queue_name character varying, _lock character varying, _queueing_lock character varying, _task_name character varying, _priority integer, _periodic_id character varying, _defer_timestamp bigint, _args jsonb) RETURNS bigint
    LANGUAGE plpgsql
    AS $$
DECLARE
	_job_id bigint;
	_defer_id bigint;
BEGIN
    INSERT
        INTO procrastinate_periodic_defers (task_name, periodic_id, defer_timestamp)
        VALUES (_task_name, _periodic_id, _defer_timestamp)
        ON CONFLICT DO NOTHING
        RETURNING id into _defer_id;

    IF _defer_id IS NULL THEN
        RETURN NULL;
    END IF;

    UPDATE procrastinate_periodic_defers
        SET job_id = (
            SELECT COALESCE((
                SELECT unnest(procrastinate_defer_jobs_v1(
                    ARRAY[
                        ROW(
                            _queue_name,
                            _task_name,
                            _priority,
                            _lock,
                            _queueing_lock,
                            _args,
                            NULL::timestamptz
                        )
                    ]::procrastinate_job_to_defer_v1[]
                ))
            ), NULL)
        )
        WHERE id = _defer_id
        RETURNING job_id INTO _job_id;

    DELETE
        FROM procrastinate_periodic_defers
        USING (
            SELECT id
            FROM procrastinate_periodic_defers
            WHERE procrastinate_periodic_defers.task_name = _task_name
            AND procrastinate_periodic_defers.periodic_id = _periodic_id
            AND procrastinate_periodic_defers.defer_timestamp < _defer_timestamp
            ORDER BY id
            FOR UPDATE
        ) to_delete
        WHERE procrastinate_periodic_defers.id = to_delete.id;

    RETURN _job_id;
END;
$$;

SET default_tablespace = '';

SET default_table_access_method = heap;

CREATE TABLE public.procrastinate_jobs (
    id bigint NOT NULL,
    queue_name character varying(128) NOT NULL,
    task_name character varying(128) NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    lock text,
    queueing_lock text,
    args jsonb DEFAULT '{}'::jsonb NOT NULL,
    status public.procrastinate_job_status DEFAULT 'todo'::public.procrastinate_job_status NOT NULL,
    scheduled_at timestamp with time zone,
    attempts integer DEFAULT 0 NOT NULL,
    abort_requested boolean DEFAULT false NOT NULL,
    worker_id bigint,
    CONSTRAINT check_not_todo_abort_requested CHECK ((NOT ((status = 'todo'::public.procrastinate_job_status) AND (abort_requested = true))))
);

CREATE FUNCTION public.procrastinate_fetch_job_v2(target_queue_names character varying[], p_worker_id bigint) RETURNS public.procrastinate_jobs
    LANGUAGE plpgsql
    AS $$
DECLARE
	found_jobs procrastinate_jobs;
BEGIN
    WITH candidate AS (
        SELECT jobs.*
            FROM procrastinate_jobs AS jobs
            WHERE
                -- reject the job if its lock has earlier or higher priority jobs
                NOT EXISTS (
                    SELECT 1
                        FROM procrastinate_jobs AS other_jobs
                        WHERE
                            jobs.lock IS NOT NULL
                            AND other_jobs.lock = jobs.lock
                            AND (
                                -- job with same lock is already running
                                other_jobs.status = 'doing'
                                OR
                                -- job with same lock is waiting and has higher priority (or same priority but was queued first)
                                (
                                    other_jobs.status = 'todo'
                                    AND (
                                        other_jobs.priority > jobs.priority
                                        OR (
                                        other_jobs.priority = jobs.priority
                                        AND other_jobs.id < jobs.id
                                        )
                                    )
                                )
                            )
                )
                AND jobs.status = 'todo'
                AND (target_queue_names IS NULL OR jobs.queue_name = ANY( target_queue_names ))
                AND (jobs.scheduled_at IS NULL OR jobs.scheduled_at <= now())
            ORDER BY jobs.priority DESC, jobs.id ASC LIMIT 1
            FOR UPDATE OF jobs SKIP LOCKED
    )
    UPDATE procrastinate_jobs
        SET status = 'doing', worker_id = p_worker_id
        FROM candidate
        WHERE procrastinate_jobs.id = candidate.id
        RETURNING procrastinate_jobs.* INTO found_jobs;

 RETURN found_jobs;
END;
$$;

CREATE FUNCTION public.procrastinate_finish_job_v1(job_id bigint, end_status public.procrastinate_job_status, delete_job boolean) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
BEGIN
    IF end_status NOT IN ('succeeded', 'failed', 'aborted') THEN
        RAISE 'End status should be either "succeeded", "failed" or "aborted" (job id: %)', job_id;
    END IF;
    IF delete_job THEN
        DELETE FROM procrastinate_jobs
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = end_status,
            abort_requested = false,
            attempts = CASE status
                WHEN 'doing' THEN attempts + 1 ELSE attempts
            END
        WHERE id = job_id AND status IN ('todo', 'doing')
        RETURNING id INTO _job_id;
    END IF;
    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" or "todo" status (job id: %)', job_id;
    END IF;
END;
$$;

CREATE FUNCTION public.procrastinate_notify_queue_abort_job_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'abort_job_requested', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;

CREATE FUNCTION public.procrastinate_notify_queue_job_inserted_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
DECLARE
    payload TEXT;
BEGIN
    SELECT json_build_object('type', 'job_inserted', 'job_id', NEW.id)::text INTO payload;
	PERFORM pg_notify('procrastinate_queue_v1#' || NEW.queue_name, payload);
	PERFORM pg_notify('procrastinate_any_queue_v1', payload);
	RETURN NEW;
END;
$$;

CREATE FUNCTION public.procrastinate_prune_stalled_workers_v1(seconds_since_heartbeat double precision) RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    DELETE FROM procrastinate_workers
    WHERE last_heartbeat < NOW() - (seconds_since_heartbeat || 'SECOND')::INTERVAL
    RETURNING procrastinate_workers.id;
END;
$$;

CREATE FUNCTION public.procrastinate_register_worker_v1() RETURNS TABLE(worker_id bigint)
    LANGUAGE plpgsql
    AS $$
BEGIN
    RETURN QUERY
    INSERT INTO procrastinate_workers DEFAULT VALUES
    RETURNING procrastinate_workers.id;
END;
$$;

CREATE FUNCTION public.procrastinate_retry_job_v1(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
BEGIN
    SELECT abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status = 'doing'
    FOR UPDATE
    INTO _abort_requested;
    IF _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    END IF;

    IF _job_id IS NULL THEN
        RAISE 'Job was not found or not in "doing" status (job id: %)', job_id;
    END IF;
END;
$$;

CREATE FUNCTION public.procrastinate_retry_job_v2(job_id bigint, retry_at timestamp with time zone, new_priority integer, new_queue_name character varying, new_lock character varying) RETURNS void
    LANGUAGE plpgsql
    AS $$
DECLARE
    _job_id bigint;
    _abort_requested boolean;
    _current_status procrastinate_job_status;
BEGIN
    SELECT status, abort_requested FROM procrastinate_jobs
    WHERE id = job_id AND status IN ('doing', 'failed')
    FOR UPDATE
    INTO _current_status, _abort_requested;
    IF _current_status = 'doing' AND _abort_requested THEN
        UPDATE procrastinate_jobs
        SET status = 'failed'::procrastinate_job_status
        WHERE id = job_id AND status = 'doing'
        RETURNING id INTO _job_id;
    ELSE
        UPDATE procrastinate_jobs
        SET status = 'todo'::procrastinate_job_status,
            attempts = attempts + 1,
            scheduled_at = retry_at,
            priority = COALESCE(new_priority, priority),
            queue_name = COALESCE(new_queue_name, queue_name),
            lock = COALESCE(new_lock, lock)
        WHERE id = job_id AND status IN ('doing', 'failed')
        RETURNING id INTO _job_id;
    END IF;

    IF _job_id IS NULL THEN
        RAISE 'Job was not found or has an invalid status to retry (job id: %)', job_id;
    END IF;

END;
$$;

CREATE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'abort_requested'::procrastinate_job_event_type);
    RETURN NEW;
END;
$$;

CREATE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type, at)
        VALUES (NEW.id, 'scheduled'::procrastinate_job_event_type, NEW.scheduled_at);

	RETURN NEW;
END;
$$;

CREATE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    INSERT INTO procrastinate_events(job_id, type)
        VALUES (NEW.id, 'deferred'::procrastinate_job_event_type);
	RETURN NEW;
END;
$$;

CREATE FUNCTION public.procrastinate_trigger_function_status_events_update_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    WITH t AS (
        SELECT CASE
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND NEW.status = 'doing'::procrastinate_job_status
                THEN 'started'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'deferred_for_retry'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'failed'::procrastinate_job_status
                THEN 'failed'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'succeeded'::procrastinate_job_status
                THEN 'succeeded'::procrastinate_job_event_type
            WHEN OLD.status = 'todo'::procrastinate_job_status
                AND (
                    NEW.status = 'cancelled'::procrastinate_job_status
                    OR NEW.status = 'failed'::procrastinate_job_status
                    OR NEW.status = 'succeeded'::procrastinate_job_status
                )
                THEN 'cancelled'::procrastinate_job_event_type
            WHEN OLD.status = 'doing'::procrastinate_job_status
                AND NEW.status = 'aborted'::procrastinate_job_status
                THEN 'aborted'::procrastinate_job_event_type
            WHEN OLD.status = 'failed'::procrastinate_job_status
                AND NEW.status = 'todo'::procrastinate_job_status
                THEN 'retried'::procrastinate_job_event_type
            ELSE NULL
        END as event_type
    )
    INSERT INTO procrastinate_events(job_id, type)
        SELECT NEW.id, t.event_type
        FROM t
        WHERE t.event_type IS NOT NULL;
	RETURN NEW;
END;
$$;

CREATE FUNCTION public.procrastinate_unlink_periodic_defers_v1() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_periodic_defers
    SET job_id = NULL
    WHERE job_id = OLD.id;
    RETURN OLD;
END;
$$;

CREATE FUNCTION public.procrastinate_unregister_worker_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    DELETE FROM procrastinate_workers
    WHERE id = worker_id;
END;
$$;

CREATE FUNCTION public.procrastinate_update_heartbeat_v1(worker_id bigint) RETURNS void
    LANGUAGE plpgsql
    AS $$
BEGIN
    UPDATE procrastinate_workers
    SET last_heartbeat = NOW()
    WHERE id = worker_id;
END;
$$;

CREATE FUNCTION public.refuse_audit_change() RETURNS trigger
    LANGUAGE plpgsql
    AS $$
        DECLARE
            kept_for interval := nullif(current_setting('bookprint.audit_kept_for', true), '');
        BEGIN
            IF TG_OP = 'DELETE' THEN
                IF OLD.at < now() - kept_for THEN
                    RETURN OLD;
                END IF;
            END IF;
            RAISE EXCEPTION 'Entries of the audit log are neither changed nor deleted before their time.';
        END
        $$;

CREATE TABLE public.alembic_version (
    version_num character varying(32) NOT NULL
);

CREATE TABLE public.audit (
    sequence bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    actor text NOT NULL,
    key_id uuid,
    name text NOT NULL,
    address text,
    action text NOT NULL,
    object_id uuid NOT NULL,
    other_id uuid
);

ALTER TABLE public.audit ALTER COLUMN sequence ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.audit_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE SEQUENCE public.entry_ids
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

CREATE TABLE public.books (
    id uuid NOT NULL,
    entry_id bigint DEFAULT nextval('public.entry_ids'::regclass) NOT NULL,
    version integer DEFAULT 1 NOT NULL,
    content_key bytea NOT NULL,
    title text,
    authors text[] DEFAULT '{}'::text[] NOT NULL,
    language text,
    year integer,
    volume text,
    publisher text,
    external_id text,
    identifiers text[] DEFAULT '{}'::text[] NOT NULL,
    collection text,
    title_words text[] DEFAULT '{}'::text[] NOT NULL,
    folded_title text DEFAULT ''::text NOT NULL COLLATE pg_catalog."C",
    name_keys integer[] DEFAULT '{}'::integer[] NOT NULL,
    page_count integer,
    page_labels text[],
    word_count integer NOT NULL,
    character_count bigint NOT NULL,
    single_words integer,
    iscc text,
    indexed_at timestamp with time zone,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    updated_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.changes (
    "position" bigint NOT NULL,
    at timestamp with time zone NOT NULL,
    type text NOT NULL,
    book_id uuid NOT NULL,
    other_id uuid,
    data jsonb NOT NULL
);

CREATE TABLE public.cluster_borders (
    by text NOT NULL,
    left_id uuid NOT NULL,
    right_id uuid NOT NULL,
    CONSTRAINT ck_cluster_borders_ordered CHECK ((left_id < right_id))
);

CREATE TABLE public.cluster_heirs (
    by text NOT NULL,
    book_id uuid NOT NULL,
    heir_id uuid NOT NULL
);

CREATE TABLE public.cluster_members (
    by text NOT NULL,
    book_id uuid NOT NULL,
    founder_id uuid NOT NULL
);

CREATE TABLE public.clusters (
    by text NOT NULL,
    founder_id uuid NOT NULL,
    size integer NOT NULL,
    written_by bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    measured boolean DEFAULT false NOT NULL,
    agreement double precision,
    kinds jsonb,
    best_id uuid,
    size_rank double precision GENERATED ALWAYS AS ((- size)) STORED NOT NULL,
    agreement_rank double precision GENERATED ALWAYS AS (
CASE
    WHEN measured THEN COALESCE(agreement, (2)::double precision)
    ELSE (3)::double precision
END) STORED NOT NULL
);

CREATE TABLE public.completeness (
    book_id uuid NOT NULL,
    written_by bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL,
    looked boolean DEFAULT false NOT NULL,
    compared_with uuid[],
    findings jsonb DEFAULT '[]'::jsonb NOT NULL,
    rank double precision
);

CREATE TABLE public.decisions (
    left_id uuid NOT NULL,
    right_id uuid NOT NULL,
    left_entry bigint NOT NULL,
    right_entry bigint NOT NULL,
    verdict text NOT NULL,
    kind text,
    decided_at timestamp with time zone DEFAULT now() NOT NULL,
    decided_by text,
    CONSTRAINT ck_decisions_ordered CHECK ((left_id < right_id))
);

CREATE TABLE public.failure_counts (
    task text NOT NULL,
    tries bigint NOT NULL
);

CREATE TABLE public.job_failures (
    job_id bigint NOT NULL,
    reason text NOT NULL,
    deaths integer DEFAULT 0 NOT NULL,
    failed_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.keys (
    id uuid NOT NULL,
    name text NOT NULL,
    scopes text[] NOT NULL,
    hash bytea NOT NULL,
    requests_per_minute integer,
    lookups_per_minute integer,
    bytes_per_minute bigint,
    collection text,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone,
    revoked_at timestamp with time zone
);

CREATE TABLE public.marc_records (
    book_id uuid NOT NULL,
    format text NOT NULL,
    data bytea NOT NULL,
    changed text[] DEFAULT '{}'::text[] NOT NULL
);

CREATE TABLE public.past_decisions (
    sequence bigint NOT NULL,
    at timestamp with time zone DEFAULT now() NOT NULL,
    left_id uuid NOT NULL,
    right_id uuid NOT NULL,
    author text NOT NULL,
    name text,
    verdict text NOT NULL,
    kind text,
    note text,
    outcome text NOT NULL,
    left_entry bigint,
    right_entry bigint,
    before bigint
);

ALTER TABLE public.past_decisions ALTER COLUMN sequence ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.past_decisions_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.procrastinate_events (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    type public.procrastinate_job_event_type,
    at timestamp with time zone DEFAULT now()
);

CREATE SEQUENCE public.procrastinate_events_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.procrastinate_events_id_seq OWNED BY public.procrastinate_events.id;

CREATE SEQUENCE public.procrastinate_jobs_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.procrastinate_jobs_id_seq OWNED BY public.procrastinate_jobs.id;

CREATE TABLE public.procrastinate_periodic_defers (
    id bigint NOT NULL,
    task_name character varying(128) NOT NULL,
    defer_timestamp bigint,
    job_id bigint,
    periodic_id character varying(128) DEFAULT ''::character varying NOT NULL
);

CREATE SEQUENCE public.procrastinate_periodic_defers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1;

ALTER SEQUENCE public.procrastinate_periodic_defers_id_seq OWNED BY public.procrastinate_periodic_defers.id;

CREATE TABLE public.procrastinate_workers (
    id bigint NOT NULL,
    last_heartbeat timestamp with time zone DEFAULT now() NOT NULL
);

ALTER TABLE public.procrastinate_workers ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.procrastinate_workers_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.related_entries (
    entry_id bigint NOT NULL,
    passed_over integer NOT NULL
);

CREATE TABLE public.relation_counts (
    kind text NOT NULL,
    pairs bigint NOT NULL,
    seconds double precision NOT NULL
);

CREATE TABLE public.relations (
    left_id uuid NOT NULL,
    right_id uuid NOT NULL,
    left_entry bigint NOT NULL,
    right_entry bigint NOT NULL,
    kind text NOT NULL,
    direction text,
    confidence double precision NOT NULL,
    classifier text NOT NULL,
    left_because text NOT NULL,
    right_because text NOT NULL,
    confidences jsonb NOT NULL,
    link double precision,
    doubt double precision,
    revised double precision,
    signals jsonb,
    unit text,
    runs jsonb DEFAULT '[]'::jsonb NOT NULL,
    page_map bytea,
    related_at timestamp with time zone DEFAULT now() NOT NULL,
    CONSTRAINT ck_relations_ordered CHECK ((left_id < right_id))
);

CREATE TABLE public.reviews (
    left_id uuid NOT NULL,
    right_id uuid NOT NULL,
    rank double precision NOT NULL
);

CREATE TABLE public.sessions (
    id uuid NOT NULL,
    hash bytea NOT NULL,
    key_hash bytea NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    expires_at timestamp with time zone NOT NULL
);

CREATE TABLE public.signatures (
    entry_id bigint NOT NULL,
    recipe text NOT NULL,
    data bytea NOT NULL,
    shingle_count integer,
    unit text,
    places bytea,
    written_by bigint DEFAULT ((pg_current_xact_id())::text)::bigint NOT NULL
);
ALTER TABLE ONLY public.signatures ALTER COLUMN data SET STORAGE EXTERNAL;
ALTER TABLE ONLY public.signatures ALTER COLUMN places SET STORAGE EXTERNAL;

CREATE TABLE public.texts (
    entry_id bigint NOT NULL,
    codec text NOT NULL,
    data bytea NOT NULL
);
ALTER TABLE ONLY public.texts ALTER COLUMN data SET STORAGE EXTERNAL;

CREATE TABLE public.tombstones (
    entry_id bigint NOT NULL,
    deleted_at timestamp with time zone DEFAULT now() NOT NULL
);

CREATE TABLE public.unnumbered_changes (
    sequence bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    type text NOT NULL,
    book_id uuid NOT NULL,
    other_id uuid,
    data jsonb NOT NULL
);

ALTER TABLE public.unnumbered_changes ALTER COLUMN sequence ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME public.unnumbered_changes_sequence_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE public.webhooks (
    id uuid NOT NULL,
    url text NOT NULL,
    types text[],
    secret text NOT NULL,
    former_secret text,
    former_until timestamp with time zone,
    "position" bigint NOT NULL,
    created_at timestamp with time zone DEFAULT now() NOT NULL,
    claimed_until timestamp with time zone,
    failures integer DEFAULT 0 NOT NULL,
    failing_since timestamp with time zone,
    next_try_at timestamp with time zone,
    last_error text,
    disabled_at timestamp with time zone,
    disabled_because text
);

ALTER TABLE ONLY public.procrastinate_events ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_events_id_seq'::regclass);

ALTER TABLE ONLY public.procrastinate_jobs ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_jobs_id_seq'::regclass);

ALTER TABLE ONLY public.procrastinate_periodic_defers ALTER COLUMN id SET DEFAULT nextval('public.procrastinate_periodic_defers_id_seq'::regclass);

ALTER TABLE ONLY public.alembic_version
    ADD CONSTRAINT alembic_version_pkc PRIMARY KEY (version_num);

ALTER TABLE ONLY public.audit
    ADD CONSTRAINT pk_audit PRIMARY KEY (sequence);

ALTER TABLE ONLY public.books
    ADD CONSTRAINT pk_books PRIMARY KEY (id);

ALTER TABLE ONLY public.changes
    ADD CONSTRAINT pk_changes PRIMARY KEY ("position");

ALTER TABLE ONLY public.cluster_borders
    ADD CONSTRAINT pk_cluster_borders PRIMARY KEY (by, left_id, right_id);

ALTER TABLE ONLY public.cluster_heirs
    ADD CONSTRAINT pk_cluster_heirs PRIMARY KEY (by, book_id);

ALTER TABLE ONLY public.cluster_members
    ADD CONSTRAINT pk_cluster_members PRIMARY KEY (by, book_id);

ALTER TABLE ONLY public.clusters
    ADD CONSTRAINT pk_clusters PRIMARY KEY (by, founder_id);

ALTER TABLE ONLY public.completeness
    ADD CONSTRAINT pk_completeness PRIMARY KEY (book_id);

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT pk_decisions PRIMARY KEY (left_id, right_id);

ALTER TABLE ONLY public.failure_counts
    ADD CONSTRAINT pk_failure_counts PRIMARY KEY (task);

ALTER TABLE ONLY public.job_failures
    ADD CONSTRAINT pk_job_failures PRIMARY KEY (job_id);

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT pk_keys PRIMARY KEY (id);

ALTER TABLE ONLY public.marc_records
    ADD CONSTRAINT pk_marc_records PRIMARY KEY (book_id);

ALTER TABLE ONLY public.past_decisions
    ADD CONSTRAINT pk_past_decisions PRIMARY KEY (sequence);

ALTER TABLE ONLY public.related_entries
    ADD CONSTRAINT pk_related_entries PRIMARY KEY (entry_id);

ALTER TABLE ONLY public.relation_counts
    ADD CONSTRAINT pk_relation_counts PRIMARY KEY (kind);

ALTER TABLE ONLY public.relations
    ADD CONSTRAINT pk_relations PRIMARY KEY (left_id, right_id);

ALTER TABLE ONLY public.reviews
    ADD CONSTRAINT pk_reviews PRIMARY KEY (left_id, right_id);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT pk_sessions PRIMARY KEY (id);

ALTER TABLE ONLY public.signatures
    ADD CONSTRAINT pk_signatures PRIMARY KEY (entry_id, recipe);

ALTER TABLE ONLY public.texts
    ADD CONSTRAINT pk_texts PRIMARY KEY (entry_id);

ALTER TABLE ONLY public.tombstones
    ADD CONSTRAINT pk_tombstones PRIMARY KEY (entry_id);

ALTER TABLE ONLY public.unnumbered_changes
    ADD CONSTRAINT pk_unnumbered_changes PRIMARY KEY (sequence);

ALTER TABLE ONLY public.webhooks
    ADD CONSTRAINT pk_webhooks PRIMARY KEY (id);

ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_unique UNIQUE (task_name, periodic_id, defer_timestamp);

ALTER TABLE ONLY public.procrastinate_workers
    ADD CONSTRAINT procrastinate_workers_pkey PRIMARY KEY (id);

ALTER TABLE ONLY public.books
    ADD CONSTRAINT uq_books_entry_id UNIQUE (entry_id);

ALTER TABLE ONLY public.books
    ADD CONSTRAINT uq_books_external_id UNIQUE (external_id);

ALTER TABLE ONLY public.keys
    ADD CONSTRAINT uq_keys_hash UNIQUE (hash);

ALTER TABLE ONLY public.sessions
    ADD CONSTRAINT uq_sessions_hash UNIQUE (hash);

CREATE INDEX idx_procrastinate_jobs_worker_not_null ON public.procrastinate_jobs USING btree (worker_id) WHERE ((worker_id IS NOT NULL) AND (status = 'doing'::public.procrastinate_job_status));

CREATE INDEX idx_procrastinate_workers_last_heartbeat ON public.procrastinate_workers USING btree (last_heartbeat);

CREATE INDEX ix_audit_action_sequence ON public.audit USING btree (action, sequence) WHERE (action <> 'book.created'::text);

CREATE INDEX ix_audit_at ON public.audit USING brin (at);

CREATE INDEX ix_audit_key_id ON public.audit USING btree (key_id) WHERE (key_id IS NOT NULL);

CREATE INDEX ix_audit_object_id ON public.audit USING btree (object_id);

CREATE INDEX ix_audit_other_id ON public.audit USING btree (other_id) WHERE (other_id IS NOT NULL);

CREATE INDEX ix_books_collection ON public.books USING btree (collection, id) INCLUDE (entry_id) WHERE (collection IS NOT NULL);

CREATE INDEX ix_books_folded_title ON public.books USING btree (folded_title, id);

CREATE INDEX ix_books_identifiers ON public.books USING gin (identifiers);

CREATE INDEX ix_books_iscc ON public.books USING btree (iscc) WHERE (iscc IS NOT NULL);

CREATE INDEX ix_books_name_keys ON public.books USING gin (name_keys) WITH (gin_pending_list_limit='256');

CREATE INDEX ix_books_pending ON public.books USING btree (entry_id) WHERE (indexed_at IS NULL);

CREATE INDEX ix_books_title_words ON public.books USING gin (title_words);

CREATE INDEX ix_cluster_borders_by_right_id ON public.cluster_borders USING btree (by, right_id);

CREATE INDEX ix_cluster_heirs_by_heir_id ON public.cluster_heirs USING btree (by, heir_id);

CREATE INDEX ix_cluster_members_by_founder_id_book_id ON public.cluster_members USING btree (by, founder_id, book_id);

CREATE INDEX ix_clusters_by_agreement_rank_founder_id ON public.clusters USING btree (by, agreement_rank, founder_id);

CREATE INDEX ix_clusters_by_size_rank_founder_id ON public.clusters USING btree (by, size_rank, founder_id);

CREATE INDEX ix_clusters_unmeasured ON public.clusters USING btree (by, founder_id) WHERE (NOT measured);

CREATE INDEX ix_completeness_rank_book_id ON public.completeness USING btree (rank, book_id) WHERE (rank IS NOT NULL);

CREATE INDEX ix_completeness_stale ON public.completeness USING btree (written_by, book_id) WHERE (NOT looked);

CREATE INDEX ix_decisions_never ON public.decisions USING btree (left_id, right_id) WHERE ((verdict = 'rejected'::text) OR (kind = 'UNRELATED'::text));

CREATE INDEX ix_decisions_right_id ON public.decisions USING btree (right_id);

CREATE INDEX ix_failed_jobs ON public.procrastinate_jobs USING btree (task_name) WHERE (status = ANY (ARRAY['failed'::public.procrastinate_job_status, 'cancelled'::public.procrastinate_job_status, 'aborted'::public.procrastinate_job_status]));

CREATE INDEX ix_job_successes ON public.procrastinate_events USING btree (at) WHERE (type = 'succeeded'::public.procrastinate_job_event_type);

CREATE INDEX ix_past_decisions_author_sequence ON public.past_decisions USING btree (author, sequence);

CREATE INDEX ix_past_decisions_left_id_right_id ON public.past_decisions USING btree (left_id, right_id);

CREATE INDEX ix_past_decisions_name_sequence ON public.past_decisions USING btree (name, sequence);

CREATE INDEX ix_past_decisions_right_id ON public.past_decisions USING btree (right_id);

CREATE INDEX ix_relate_jobs ON public.procrastinate_jobs USING btree ((((args ->> 'entry_id'::text))::bigint)) WHERE (((task_name)::text = 'relate'::text) AND (status <> 'succeeded'::public.procrastinate_job_status));

CREATE INDEX ix_relations_right_id ON public.relations USING btree (right_id);

CREATE INDEX ix_reviews_rank_left_id_right_id ON public.reviews USING btree (rank, left_id, right_id);

CREATE INDEX ix_signatures_recipe_data ON public.signatures USING btree (recipe, data) WHERE (recipe = ANY (ARRAY['md5-text'::text, 'textprofile-md5-v1'::text]));

CREATE INDEX ix_signatures_written_by_entry_id ON public.signatures USING btree (written_by, entry_id) WHERE (recipe = 'tfidf-simhash1024-v1'::text);

CREATE INDEX procrastinate_events_job_id_fkey_v1 ON public.procrastinate_events USING btree (job_id);

CREATE INDEX procrastinate_jobs_id_lock_idx_v1 ON public.procrastinate_jobs USING btree (id, lock) WHERE (status = ANY (ARRAY['todo'::public.procrastinate_job_status, 'doing'::public.procrastinate_job_status]));

CREATE UNIQUE INDEX procrastinate_jobs_lock_idx_v1 ON public.procrastinate_jobs USING btree (lock) WHERE (status = 'doing'::public.procrastinate_job_status);

CREATE INDEX procrastinate_jobs_priority_idx_v1 ON public.procrastinate_jobs USING btree (priority DESC, id) WHERE (status = 'todo'::public.procrastinate_job_status);

CREATE INDEX procrastinate_jobs_queue_name_idx_v1 ON public.procrastinate_jobs USING btree (queue_name);

CREATE UNIQUE INDEX procrastinate_jobs_queueing_lock_idx_v1 ON public.procrastinate_jobs USING btree (queueing_lock) WHERE (status = 'todo'::public.procrastinate_job_status);

CREATE INDEX procrastinate_periodic_defers_job_id_fkey_v1 ON public.procrastinate_periodic_defers USING btree (job_id);

CREATE UNIQUE INDEX uq_books_content_key ON public.books USING btree (content_key) WHERE (external_id IS NULL);

CREATE TRIGGER procrastinate_jobs_notify_queue_job_aborted_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN (((old.abort_requested = false) AND (new.abort_requested = true) AND (new.status = 'doing'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_notify_queue_abort_job_v1();

CREATE TRIGGER procrastinate_jobs_notify_queue_job_inserted_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::public.procrastinate_job_status)) EXECUTE FUNCTION public.procrastinate_notify_queue_job_inserted_v1();

CREATE TRIGGER procrastinate_trigger_abort_requested_events_v1 AFTER UPDATE OF abort_requested ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.abort_requested = true)) EXECUTE FUNCTION public.procrastinate_trigger_abort_requested_events_procedure_v1();

CREATE TRIGGER procrastinate_trigger_delete_jobs_v1 BEFORE DELETE ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_unlink_periodic_defers_v1();

CREATE TRIGGER procrastinate_trigger_scheduled_events_v1 AFTER INSERT OR UPDATE ON public.procrastinate_jobs FOR EACH ROW WHEN (((new.scheduled_at IS NOT NULL) AND (new.status = 'todo'::public.procrastinate_job_status))) EXECUTE FUNCTION public.procrastinate_trigger_function_scheduled_events_v1();

CREATE TRIGGER procrastinate_trigger_status_events_insert_v1 AFTER INSERT ON public.procrastinate_jobs FOR EACH ROW WHEN ((new.status = 'todo'::public.procrastinate_job_status)) EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_insert_v1();

CREATE TRIGGER procrastinate_trigger_status_events_update_v1 AFTER UPDATE OF status ON public.procrastinate_jobs FOR EACH ROW EXECUTE FUNCTION public.procrastinate_trigger_function_status_events_update_v1();

CREATE TRIGGER refuse_audit_change BEFORE DELETE OR UPDATE ON public.audit FOR EACH ROW EXECUTE FUNCTION public.refuse_audit_change();

CREATE TRIGGER refuse_audit_truncation BEFORE TRUNCATE ON public.audit FOR EACH STATEMENT EXECUTE FUNCTION public.refuse_audit_change();

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT fk_decisions_left_id FOREIGN KEY (left_id) REFERENCES public.books(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.decisions
    ADD CONSTRAINT fk_decisions_right_id FOREIGN KEY (right_id) REFERENCES public.books(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.job_failures
    ADD CONSTRAINT fk_job_failures_job_id FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.marc_records
    ADD CONSTRAINT fk_marc_records_book_id FOREIGN KEY (book_id) REFERENCES public.books(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.related_entries
    ADD CONSTRAINT fk_related_entries_entry_id FOREIGN KEY (entry_id) REFERENCES public.books(entry_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.relations
    ADD CONSTRAINT fk_relations_left_id FOREIGN KEY (left_id) REFERENCES public.books(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.relations
    ADD CONSTRAINT fk_relations_right_id FOREIGN KEY (right_id) REFERENCES public.books(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.reviews
    ADD CONSTRAINT fk_reviews_left_id_right_id FOREIGN KEY (left_id, right_id) REFERENCES public.relations(left_id, right_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.signatures
    ADD CONSTRAINT fk_signatures_entry_id FOREIGN KEY (entry_id) REFERENCES public.books(entry_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.texts
    ADD CONSTRAINT fk_texts_entry_id FOREIGN KEY (entry_id) REFERENCES public.books(entry_id) ON DELETE CASCADE;

ALTER TABLE ONLY public.procrastinate_events
    ADD CONSTRAINT procrastinate_events_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id) ON DELETE CASCADE;

ALTER TABLE ONLY public.procrastinate_jobs
    ADD CONSTRAINT procrastinate_jobs_worker_id_fkey FOREIGN KEY (worker_id) REFERENCES public.procrastinate_workers(id) ON DELETE SET NULL;

ALTER TABLE ONLY public.procrastinate_periodic_defers
    ADD CONSTRAINT procrastinate_periodic_defers_job_id_fkey FOREIGN KEY (job_id) REFERENCES public.procrastinate_jobs(id);

-- PostgreSQL database dump complete
