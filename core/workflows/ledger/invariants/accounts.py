"""Accounts and those who draw on them. They have one tenant, for good, and no claim after an exposure."""

from __future__ import annotations

from core.jobs.models import UNGUARDED
from core.workflows.ledger.invariants.base import SqlPromise


class AccountsStay(SqlPromise):
    """L14: O(datasets + contents + jobs + streams)."""

    name = "accounts_stay"
    promise = "Whoever draws on an account is of its tenant, and of the dataset that it was opened for."
    # IS DISTINCT FROM: a row that is missing joins as NULLs, which <> would pass over.
    broken = """
        SELECT d.tenant, d.id AS subject, 'its account ' || d.account_id || ' is not its tenant''s' AS detail
        FROM datasets AS d LEFT JOIN budget_accounts AS a ON a.id = d.account_id
        WHERE a.tenant IS DISTINCT FROM d.tenant
        UNION ALL
        SELECT f.tenant, f.account_id, 'a content of another tenant names it'
        FROM content_fingerprints AS f LEFT JOIN budget_accounts AS a ON a.id = f.account_id
        WHERE a.tenant IS DISTINCT FROM f.tenant
        UNION ALL
        SELECT j.tenant, j.id, 'its account or tenant is not that of ' || j.dataset_id
        FROM jobs AS j LEFT JOIN datasets AS d ON d.id = j.dataset_id
        WHERE (d.account_id, d.tenant) IS DISTINCT FROM (j.account_id, j.tenant)
        UNION ALL
        SELECT s.tenant, s.id, 'its account or tenant is not that of ' || s.dataset_id
        FROM streams AS s LEFT JOIN datasets AS d ON d.id = s.dataset_id
        WHERE (d.account_id, d.tenant) IS DISTINCT FROM (s.account_id, s.tenant)
    """


class ExposureLasts(SqlPromise):
    """privacy.md 3: O(jobs + entries of exposed accounts)."""

    name = "exposure_lasts"
    promise = (
        "An account is exposed exactly if an entry exposed it, and takes no finite claim afterwards; every "
        "job without a guarantee exposed its account when it opened the graph, and again under digests of "
        "its release."
    )
    broken = f"""
        WITH exposed AS (
            SELECT account_id, min(sequence) AS sequence FROM ledger_entries WHERE kind = 'expose'
            GROUP BY account_id
        )
        SELECT a.tenant, a.id AS subject, 'exposed by an entry: ' || (x.sequence IS NOT NULL)
            || ', marked as exposed: ' || (a.exposed_at IS NOT NULL) AS detail
        FROM budget_accounts AS a LEFT JOIN exposed AS x ON x.account_id = a.id
        WHERE (x.sequence IS NULL) <> (a.exposed_at IS NULL)
        UNION ALL
        SELECT a.tenant, a.id, e.kind || ' ' || e.sequence || ' claims a guarantee after the exposure'
        FROM exposed AS x JOIN ledger_entries AS e ON e.account_id = x.account_id AND e.sequence > x.sequence
        JOIN budget_accounts AS a ON a.id = e.account_id
        WHERE e.kind IN ('reserve', 'charge') AND e.amounts <> '{{}}'
        UNION ALL
        SELECT j.tenant, j.id, 'it is unprotected, and no entry exposed ' || j.account_id
        FROM jobs AS j
        WHERE j.state IN ('publishing', 'published') AND j.spec ->> 'kind' = 'none' AND NOT EXISTS (
            SELECT FROM ledger_entries AS x JOIN ledger_entries AS c
                ON c.job_id = x.job_id AND c.kind = 'charge' AND c.digests = x.digests
            WHERE x.kind = 'expose' AND x.job_id = j.id AND x.account_id = j.account_id
        )
        UNION ALL
        SELECT j.tenant, j.id, 'it opened the graph unprotected, and no entry exposed ' || j.account_id
        FROM jobs AS j
        WHERE {UNGUARDED} AND NOT EXISTS (
            SELECT FROM ledger_entries AS x
            WHERE x.kind = 'expose' AND x.job_id = j.id AND x.account_id = j.account_id
        )
    """
