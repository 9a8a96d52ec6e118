"""Reservations and jobs belong together, and end together."""

from __future__ import annotations

from core.jobs.states import TERMINAL
from core.workflows.ledger.invariants.base import SqlPromise

# A publishing job is charged: its reservation ends before the job does.
_ENDED = ", ".join(f"'{state}'" for state in sorted((*TERMINAL, "publishing")))


class HoldsHaveJobs(SqlPromise):
    """L3 and L4: O(open work)."""

    name = "holds_have_jobs"
    promise = "Every open reservation belongs to an unfinished job, and every unfinished job holds its own."
    broken = f"""
        WITH open_jobs AS (
            SELECT id, tenant, account_id, reservation_id FROM jobs WHERE state NOT IN ({_ENDED})
        )
        SELECT j.tenant, j.id AS subject, 'no open reservation is held for it' AS detail
        FROM open_jobs AS j
        WHERE NOT EXISTS (
            SELECT FROM budget_holds AS h
            WHERE h.reservation_id = j.reservation_id AND h.account_id = j.account_id
        )
        UNION ALL
        SELECT a.tenant, h.reservation_id, 'it is held in ' || h.account_id || ' for no unfinished job'
        FROM budget_holds AS h JOIN budget_accounts AS a ON a.id = h.account_id
        WHERE NOT EXISTS (
            SELECT FROM open_jobs AS j WHERE j.reservation_id = h.reservation_id AND j.tenant = a.tenant
        )
    """


class EndingsAgree(SqlPromise):
    """L3 and L13: O(jobs + entries). The table is that of :mod:`core.jobs.states`."""

    name = "endings_agree"
    promise = "How a job ended and how its reservation ended are the same story."
    # The ending that a job's own story calls for, beside the one that its reservation had.
    broken = """
        WITH told AS (
            SELECT id, tenant, account_id, reservation_id, CASE
                WHEN state IN ('published', 'publishing') THEN 'charge'
                WHEN state = 'rejected' THEN 'release'
                WHEN state = 'failed' AND reason = 'reservation_expired' THEN 'expire'
                WHEN state = 'failed' AND reason IN ('worker_lost', 'budget_exhausted') THEN 'release'
                WHEN state IN ('failed', 'cancelled')
                    THEN CASE WHEN first_read_at IS NULL THEN 'release' ELSE 'forfeit' END
                ELSE 'open' END AS ending
            FROM jobs
        )
        SELECT t.tenant, t.id AS subject,
            t.reservation_id || ' should be ' || t.ending || ', and is ' || coalesce(e.kind, 'open')
                || CASE WHEN b.id IS NULL THEN ', never begun for it' ELSE '' END AS detail
        FROM told AS t
        LEFT JOIN ledger_entries AS b ON b.reservation_id = t.reservation_id AND b.account_id = t.account_id
            AND b.kind = 'reserve' AND b.job_id = t.id
        LEFT JOIN ledger_entries AS e ON e.reservation_id = t.reservation_id AND e.account_id = t.account_id
            AND e.kind IN ('charge', 'forfeit', 'release', 'expire')
        WHERE b.id IS NULL OR coalesce(e.kind, 'open') <> t.ending
        UNION ALL
        SELECT a.tenant, b.reservation_id, CASE
            WHEN j.id IS NULL THEN 'it was set aside for no job'
            ELSE j.id || ' went on without it, and it is ' || coalesce(e.kind, 'open') END
        FROM ledger_entries AS b
        JOIN budget_accounts AS a ON a.id = b.account_id
        LEFT JOIN jobs AS j ON j.id = b.job_id AND j.tenant = a.tenant
        LEFT JOIN ledger_entries AS e ON e.reservation_id = b.reservation_id AND e.account_id = b.account_id
            AND e.kind IN ('charge', 'forfeit', 'release', 'expire')
        WHERE b.kind = 'reserve'
            AND (j.id IS NULL OR (j.reservation_id <> b.reservation_id AND e.kind IS DISTINCT FROM 'release'))
    """


class KeysMakeOne(SqlPromise):
    """L4: O(jobs + streams + audits). The unique indexes say the same; this does not trust them."""

    name = "keys_make_one"
    promise = "No jobs, streams or audits of a tenant share an idempotency key, and no jobs a reservation."
    broken = """
        SELECT tenant, min(id) AS subject, count(*) || ' jobs share its idempotency key' AS detail
        FROM jobs GROUP BY tenant, idempotency_key HAVING count(*) > 1
        UNION ALL
        SELECT tenant, min(id), count(*) || ' streams share its idempotency key'
        FROM streams GROUP BY tenant, idempotency_key HAVING count(*) > 1
        UNION ALL
        SELECT tenant, min(id), count(*) || ' audits share its idempotency key'
        FROM audits GROUP BY tenant, idempotency_key HAVING count(*) > 1
        UNION ALL
        SELECT min(tenant), min(id), count(*) || ' jobs share its reservation'
        FROM jobs GROUP BY reservation_id HAVING count(*) > 1
    """
