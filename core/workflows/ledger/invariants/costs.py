"""What is reserved is what was planned. It is in the unit of the account."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from core.errors import InvalidInput
from core.jobs.models import Job, JobState
from core.jobs.states import TERMINAL
from core.ledger.models import BudgetAccount
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.workflows.ledger.invariants.base import Finding, Found, SqlPromise


class CostsAreRecorded(SqlPromise):
    """L10: O(amounts of all entries). That a charge is in full, reservations_end_once says."""

    name = "costs_are_recorded"
    promise = "Every reservation sets aside exactly its job's amounts; amounts are positive integers."
    broken = """
        SELECT a.tenant, e.reservation_id AS subject, 'it is not the cost of ' || j.id AS detail
        FROM ledger_entries AS e
        JOIN budget_accounts AS a ON a.id = e.account_id
        JOIN jobs AS j ON j.id = e.job_id AND j.account_id = e.account_id
        WHERE e.kind = 'reserve' AND e.amounts IS DISTINCT FROM (
            SELECT coalesce(jsonb_object_agg(key, value) FILTER (WHERE value <> '0'), '{}')
            FROM jsonb_each(j.spec -> 'amounts')
        )
        UNION ALL
        SELECT a.tenant, e.id, 'the amount of ' || m.key || ' is no positive integer'
        FROM ledger_entries AS e JOIN budget_accounts AS a ON a.id = e.account_id,
            jsonb_each(e.amounts) AS m
        WHERE m.value::text !~ '^[1-9][0-9]*$'
            AND (e.kind <> 'grant' OR m.value::text !~ '^(0|-?[1-9][0-9]*)$')
    """


class CostsArePlanned:
    """L10: the plans of unfinished jobs, added up again one by one. O(open work)."""

    name = "costs_are_planned"
    promise = "What an unfinished job has reserved is the cost of the plan that its worker will keep."

    def check(self, session: Session, limit: int) -> Found:
        """Check as the base promise does. That is
        :meth:`core.workflows.ledger.invariants.base.Promise.check`; one plan at a time is held."""
        # A job that has ended reads nothing any more: its entries say what it cost.
        open_states = sorted(set(JobState) - TERMINAL)
        statement = (
            select(
                Job.id,
                Job.tenant,
                Job.plan,
                Job.plan_digest,
                Job.spec["amounts"],
                Job.spec["kind"],
                BudgetAccount,
            )
            .join(BudgetAccount, BudgetAccount.id == Job.account_id)
            .where(Job.state.in_(open_states), Job.sample_of.is_(None))
            .order_by(Job.id)
            # One plan in memory at a time: those of many relations are long.
            .execution_options(yield_per=1)
        )
        total, findings = 0, []
        for job_id, tenant, plan, digest, amounts, kind, account in session.execute(statement):
            flaw = _flaw(plan, digest, amounts, kind, account)
            if flaw is not None:
                total += 1
                findings += [Finding(tenant, job_id, flaw)] if total <= limit else []
        return Found(total, tuple(findings))


def _flaw(stored: object, digest: str, amounts: object, kind: str, account: BudgetAccount) -> str | None:
    """Say what is wrong with a job's plan, if anything."""
    try:
        plan = PrivacyPlan.from_json(stored)
        unbounded = kind == GuaranteeKind.NONE
        # Added up anew: neither the stored cost nor the stored amounts are believed.
        spend = {} if unbounded else plan.spend(account.filter, tuple(account.orders or ()))
    except InvalidInput:
        return "its plan is none"
    if plan.digest() != digest:
        return "its plan is not the one that was admitted"
    if (str(plan.unit), plan.window) != (account.unit, account.window):
        return "its plan protects another unit than its account"
    return None if spend == amounts else "its plan costs something else than its amounts"


class UnitsAgree(SqlPromise):
    """L11: O(jobs + streams)."""

    name = "units_agree"
    promise = "Every job and every stream protects the unit of the account that it draws on."
    broken = """
        SELECT j.tenant, j.id AS subject, 'its unit is not that of ' || a.id AS detail
        FROM jobs AS j JOIN budget_accounts AS a ON a.id = j.account_id
        WHERE j.spec #>> '{release,unit}' IS DISTINCT FROM a.unit
            OR j.spec #>> '{release,window}' IS DISTINCT FROM CAST(a.window AS text)
        UNION ALL
        SELECT s.tenant, s.id, 'its unit is not that of ' || a.id
        FROM streams AS s JOIN budget_accounts AS a ON a.id = s.account_id
        WHERE a.unit <> 'w-event' OR s.window IS DISTINCT FROM a.window
    """
