"""Whether the ledger is whole. It has what the verifier measured last, and one account verified now."""

from __future__ import annotations

from core.checks import service as checks
from core.datasets import service as datasets
from core.errors import Conflict
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import repository as accounts
from core.ledger import service as ledger
from core.workflows.common.context import Services
from core.workflows.ledger import head_exports
from core.workflows.ledger.invariants.run import promises
from graphveil.models.checks import LedgerHealth
from graphveil.models.ledger import Verification


def ledger_health(services: Services, principal: Principal) -> LedgerHealth:
    """Report the verifier's last findings. They are those of the caller's tenant, and counts of all. Reads 20
    rows."""
    require(principal, Role.AUDITOR, Role.OPERATOR, Role.CURATOR)
    named = [(promise.name, promise.promise) for promise in promises(services)]
    with services.db.transaction() as session:
        results = checks.results(session, named, services.settings.verifier_poll_seconds, principal.tenant)
    return LedgerHealth(status=checks.overall(results), promises=results)


def verify_account(services: Services, principal: Principal, dataset_id: str) -> Verification:
    """Verify the dataset's account and its quotas now. O(entries).

    Conflict beyond the settings' ``max_verified_entries``; NotFound where the tenant has no such dataset.
    """
    require(principal, Role.AUDITOR, Role.CURATOR)
    limit = services.settings.max_verified_entries
    with services.db.transaction() as session:
        # One moment for account and quotas: spend between two readings would look like a flaw.
        head_exports.snapshot(session)
        dataset = datasets.get(session, principal.tenant, dataset_id)
        account = accounts.account(session, dataset.account_id)
        quotas = ledger.quotas(session, account.id)
        # O(entries) within one request: the bound keeps it short.
        if account.last_sequence + sum(quota.last_sequence for quota in quotas) > limit:
            raise Conflict(
                f"The account has more than {limit} entries, the most that are verified on request; the "
                "verifier verifies them all, and so does python -m api.admin.ledger verify on the service's "
                "host."
            )
        reports = [ledger.verify(session, each.id) for each in (account, *quotas)]
    violations = [violation for report in reports for violation in report.violations]
    return Verification(
        account_id=account.id,
        quotas=len(quotas),
        intact=not violations,
        entries=sum(report.entries for report in reports),
        head=reports[0].head,
        violations=len(violations),
        findings=violations[: checks.FINDINGS_KEPT],
    )
