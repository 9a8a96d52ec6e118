"""What was released, was paid for: once, in full, under its digests."""

from __future__ import annotations

from core.workflows.ledger.invariants.base import SqlPromise


class ReleasesAreCharged(SqlPromise):
    """L8 and L9: O(jobs + files + entries), three hash joins."""

    name = "releases_are_charged"
    promise = (
        "Every published release has exactly one charge, which names exactly its files by their digests; "
        "no file stands without one."
    )
    # Outer joins: a charge without its job, and files without a charge, show as well.
    broken = """
        WITH files AS (
            SELECT job_id, jsonb_object_agg(name, sha256) FILTER (WHERE role <> 'curator') AS digests
            FROM artifacts GROUP BY job_id
        ), charges AS (
            SELECT e.job_id, a.tenant, count(*) AS charges, jsonb_agg(e.digests) -> 0 AS digests
            FROM ledger_entries AS e JOIN budget_accounts AS a ON a.id = e.account_id
            LEFT JOIN jobs AS j ON j.id = e.job_id
            WHERE e.kind = 'charge' AND (j.id IS NULL OR j.account_id = e.account_id)
            GROUP BY e.job_id, a.tenant
        ), seen AS (
            SELECT coalesce(j.tenant, c.tenant) AS tenant, coalesce(j.id, c.job_id, 'no job') AS subject,
                j.state, coalesce(j.state IN ('publishing', 'published'), false) AS released,
                coalesce(c.charges, 0) AS charges, c.digests AS charged, f.digests AS filed,
                f.job_id IS NOT NULL AS has_files
            FROM jobs AS j
            FULL JOIN charges AS c ON c.job_id = j.id
            LEFT JOIN files AS f ON f.job_id = j.id
        )
        SELECT tenant, subject, CASE
            WHEN state IS NULL THEN 'a charge names a job that there is not'
            WHEN NOT released AND has_files THEN 'the job is ' || state || ' and has files'
            WHEN charges <> CASE WHEN released THEN 1 ELSE 0 END
                THEN 'the job is ' || state || ' and has ' || charges || ' charges'
            ELSE 'the charge does not name exactly the files' END AS detail
        FROM seen
        WHERE state IS NULL OR (NOT released AND has_files) OR charges <> CASE WHEN released THEN 1 ELSE 0 END
            OR (released AND charged IS DISTINCT FROM coalesce(filed, '{}'))
    """


class SamplesAreFree(SqlPromise):
    """privacy.md 3 and 7.6: O(samples and their entries)."""

    name = "samples_are_free"
    promise = (
        "A further sample moves no budget, is derived from a published release of its own dataset, and its "
        "entry names exactly its files."
    )
    broken = """
        SELECT j.tenant, j.id AS subject, 'entry ' || e.sequence || ' moves budget for a sample' AS detail
        FROM jobs AS j JOIN ledger_entries AS e ON e.job_id = j.id
        WHERE j.sample_of IS NOT NULL AND e.amounts <> '{}'
        UNION ALL
        SELECT j.tenant, j.id, j.sample_of || ' is no published release of its dataset'
        FROM jobs AS j LEFT JOIN jobs AS s ON s.id = j.sample_of AND s.state = 'published'
            AND s.dataset_id = j.dataset_id AND s.sample_of IS NULL
        WHERE j.sample_of IS NOT NULL AND s.id IS NULL
        UNION ALL
        SELECT j.tenant, j.id, 'no entry derives exactly its files'
        FROM jobs AS j
        WHERE j.sample_of IS NOT NULL AND j.state IN ('publishing', 'published') AND NOT EXISTS (
            SELECT FROM ledger_entries AS d JOIN ledger_entries AS c
                ON c.job_id = d.job_id AND c.account_id = d.account_id AND c.kind = 'charge'
                AND c.digests = d.digests
            WHERE d.kind = 'derive' AND d.job_id = j.id AND d.account_id = j.account_id
        )
    """


class DeclarationsReadNothing(SqlPromise):
    """privacy.md 7.6: O(jobs from declarations and their entries)."""

    name = "declarations_read_nothing"
    promise = "A job from declarations opens no graph, records no read and moves no budget."
    broken = """
        SELECT j.tenant, j.id AS subject, 'entry ' || e.sequence || ' moves budget for it' AS detail
        FROM jobs AS j JOIN ledger_entries AS e ON e.job_id = j.id
        WHERE j.method = 'declared' AND e.amounts <> '{}'
        UNION ALL
        SELECT j.tenant, j.id, 'it has opened the graph, or recorded a read'
        FROM jobs AS j
        WHERE j.method = 'declared' AND (j.first_read_at IS NOT NULL
            OR EXISTS (SELECT FROM metered_reads AS r WHERE r.job_id = j.id))
        UNION ALL
        SELECT j.tenant, j.id, 'its kind is not that of what reads nothing'
        FROM jobs AS j
        WHERE (j.method = 'declared') <> (j.spec ->> 'kind' = 'unread')
    """
