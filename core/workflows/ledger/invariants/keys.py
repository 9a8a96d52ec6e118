"""One request, one job, one reservation, for ever."""

from __future__ import annotations

from core.workflows.ledger.invariants.base import SqlPromise


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
