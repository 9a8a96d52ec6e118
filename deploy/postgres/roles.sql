-- Who may do what in the database. Run it as a superuser in the service's database, before the first migration
-- and again after each one; it may be repeated at will, while the service runs: it is one transaction, and takes no
-- lock of a table that has its owner. Give the roles passwords, or members, elsewhere.
--
--   graphveil_migrator  owns every table and may change the schema. Only migrations use it.
--   graphveil_app       api and worker: rows, never the schema. It adds ledger entries and transcript lines and
--                       can neither change nor remove one; it raises the capacity of an account only together
--                       with a grant entry, which names two persons (triggers, checked at COMMIT).
--   graphveil_verifier  reads the ledger, the jobs and their transcripts, and how many uploads are in which state.
--                       No keys, no datasets, no uploads.
--   graphveil_reader    reads one view of recent ledger entries, for dashboards, and nothing else.

BEGIN;

DO $$
DECLARE
    role_name text;
BEGIN
    -- The verifier's role had another name once; its password stays.
    IF EXISTS (SELECT FROM pg_roles WHERE rolname = 'graphveil_auditor')
        AND NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'graphveil_verifier')
    THEN
        ALTER ROLE graphveil_auditor RENAME TO graphveil_verifier;
    END IF;
    FOREACH role_name IN ARRAY ARRAY[
        'graphveil_migrator', 'graphveil_app', 'graphveil_verifier', 'graphveil_reader'
    ] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role_name) THEN
            EXECUTE format(
                'CREATE ROLE %I LOGIN NOSUPERUSER NOCREATEDB NOCREATEROLE NOREPLICATION NOBYPASSRLS', role_name
            );
        END IF;
    END LOOP;
END
$$;

REVOKE ALL ON SCHEMA public FROM PUBLIC, graphveil_app, graphveil_verifier, graphveil_reader;
GRANT USAGE, CREATE ON SCHEMA public TO graphveil_migrator;
GRANT USAGE ON SCHEMA public TO graphveil_app, graphveil_verifier, graphveil_reader;
ALTER ROLE graphveil_reader SET default_transaction_read_only = on;
ALTER ROLE graphveil_reader SET statement_timeout = '10s';

-- The owner may drop a trigger; so nobody who works with data may own anything.
DO $$
DECLARE
    found record;
BEGIN
    FOR found IN
        SELECT c.oid::regclass AS name, c.relowner <> 'graphveil_migrator'::regrole AS strange FROM pg_class AS c
        WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p', 'v')
    LOOP
        IF found.strange THEN
            EXECUTE format('ALTER TABLE %s OWNER TO graphveil_migrator', found.name);
        END IF;
        EXECUTE format(
            'REVOKE ALL ON %s FROM PUBLIC, graphveil_app, graphveil_verifier, graphveil_reader', found.name
        );
    END LOOP;
    FOR found IN
        SELECT p.oid::regprocedure AS name FROM pg_proc AS p
        WHERE p.pronamespace = 'public'::regnamespace AND p.prokind = 'f'
            AND NOT EXISTS (SELECT FROM pg_depend AS d WHERE d.objid = p.oid AND d.deptype = 'e')
    LOOP
        EXECUTE format('ALTER FUNCTION %s OWNER TO graphveil_migrator', found.name);
    END LOOP;
END
$$;

-- What each role may do, table by table: a table that is not named here is closed. Rows for tables that a later
-- migration brings are granted when this file is run again after it.
DO $$
DECLARE
    allowed record;
BEGIN
    FOR allowed IN
        SELECT * FROM (VALUES
            ('graphveil_app', 'alembic_version', 'SELECT'),
            ('graphveil_app', 'api_keys', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'console_sessions', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'budget_accounts', 'SELECT, INSERT, UPDATE '
                '(capacity_nano_epsilon, capacity_delta_atto, '
                'consecutive_give_backs, blocked_at, exposed_at, last_sequence, last_hash)'),
            ('graphveil_app', 'budget_balances', 'SELECT, INSERT, UPDATE (charged, reserved, window_committed)'),
            ('graphveil_app', 'budget_holds', 'SELECT, INSERT, UPDATE (expires_at), DELETE'),
            ('graphveil_app', 'ledger_entries', 'SELECT, INSERT'),
            ('graphveil_app', 'datasets', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'dataset_policies', 'SELECT, INSERT'),
            ('graphveil_app', 'dataset_keys', 'SELECT, INSERT, DELETE'),
            ('graphveil_app', 'content_fingerprints', 'SELECT, INSERT'),
            ('graphveil_app', 'dataset_versions', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'sensitive_lists', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'direct_uploads', 'SELECT, INSERT, DELETE'),
            ('graphveil_app', 'dataset_parts', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'jobs', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'job_events', 'SELECT, INSERT'),
            ('graphveil_app', 'metered_reads', 'SELECT, INSERT'),
            ('graphveil_app', 'artifacts', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'shards', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'evaluations', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'turns', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'streams', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'snapshots', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'audits', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'proposals', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'webhook_endpoints', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'webhook_deliveries', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'invariant_checks', 'SELECT, INSERT, UPDATE'),
            ('graphveil_app', 'worker_gpus', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'held_gpus', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'worker_abilities', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_app', 'outbox', 'SELECT, INSERT, UPDATE, DELETE'),
            ('graphveil_verifier', 'alembic_version', 'SELECT'),
            ('graphveil_verifier', 'budget_accounts', 'SELECT'),
            ('graphveil_verifier', 'budget_balances', 'SELECT'),
            ('graphveil_verifier', 'budget_holds', 'SELECT'),
            ('graphveil_verifier', 'ledger_entries', 'SELECT'),
            ('graphveil_verifier', 'audits', 'SELECT'),
            ('graphveil_verifier', 'proposals', 'SELECT'),
            ('graphveil_verifier', 'dataset_policies', 'SELECT'),
            ('graphveil_verifier', 'invariant_checks', 'SELECT'),
            ('graphveil_verifier', 'streams', 'SELECT'),
            ('graphveil_verifier', 'jobs', 'SELECT'),
            ('graphveil_verifier', 'metered_reads', 'SELECT'),
            ('graphveil_verifier', 'shards', 'SELECT'),
            ('graphveil_verifier', 'artifacts', 'SELECT'),
            ('graphveil_verifier', 'unfinished_uploads', 'SELECT'),
            ('graphveil_app', 'unfinished_uploads', 'SELECT'),
            ('graphveil_reader', 'recent_ledger_entries', 'SELECT')
        ) AS grants (role_name, table_name, privileges)
    LOOP
        IF to_regclass(format('public.%I', allowed.table_name)) IS NOT NULL THEN
            EXECUTE format(
                'GRANT %s ON public.%I TO %I', allowed.privileges, allowed.table_name, allowed.role_name
            );
        END IF;
    END LOOP;
END
$$;

COMMIT;
