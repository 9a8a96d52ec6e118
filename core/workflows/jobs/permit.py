"""What the account and the dataset's present policy allow."""

from __future__ import annotations

from sqlalchemy.orm import Session

from core.datasets.models import Dataset
from core.errors import UnitMismatch
from core.ledger import service as ledger
from core.ledger.models import BudgetAccount
from core.methods._shared.composition.params import methods_of
from core.privacy.accounting.plan import PrivacyPlan
from core.publishing.spec import JobSpec
from core.workflows.common.policies import check_quotas, check_request, policy_of
from core.workflows.ledger.quotas import quota_name


def check_unit(plan: PrivacyPlan, account: BudgetAccount) -> None:
    """Raise UnitMismatch unless the account counts what the plan protects."""
    if (str(plan.unit), plan.window) != (account.unit, account.window):
        raise UnitMismatch(
            f"The plan protects {plan.unit}, the account {account.unit}; amounts of two units do not add up.",
            account_id=account.id,
            plan_unit=str(plan.unit),
            account_unit=account.unit,
        )


def check_policy(
    session: Session, dataset: Dataset, spec: JobSpec, *, team: str | None, project: str | None
) -> None:
    """Check that the dataset's policy allows the request. It is its present policy, the request a job or
    stream; see ``policies.check_request``.

    Quotas are looked at only where the policy asks for one. Raises KindNotAllowed, PolicyRefused.
    """
    release = spec.release
    check_request(
        dataset,
        methods=methods_of(release.method, release.params, release.edge_types),
        kind=spec.kind,
        nano_epsilon=release.nano_epsilon,
        project=project,
        team=team,
    )
    policy = policy_of(dataset)
    if policy.project_required or policy.team_required:
        quotas = {quota_name(quota) for quota in ledger.quotas(session, dataset.account_id)}
        check_quotas(dataset, quotas, project=project, team=team)
