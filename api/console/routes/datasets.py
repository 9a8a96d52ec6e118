"""Datasets: listed, and one with its schema, policy, budget and jobs."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from pydantic import ValidationError

from api.console import pages, pictures
from api.console.forms import FormDep, mistaken
from api.console.routes.jobs import decision
from api.console.session import Signed, see
from api.deps import CuratorDep, Cursor, ReaderDep, ServicesDep
from api.schemas.budgets import Grant
from core.datasets.models import ShownState
from core.errors import GraphveilError, InvalidInput
from core.identity.models import Role
from core.identity.service import Principal
from core.workflows.common.context import Services
from core.workflows.common.paging import Sort
from core.workflows.common.policies import Policy
from core.workflows.datasets import queries as datasets
from core.workflows.datasets.dataset_policies import get_policy, set_policy
from core.workflows.jobs import queries as jobs
from core.workflows.ledger import proposals
from core.workflows.ledger.grants import propose_grant
from core.workflows.ledger.quotas import list_quotas
from core.workflows.ledger.unblock import unblock_account
from graphveil.models.ledger import Budget

Sorted = Annotated[str | None, Query(max_length=32)]

router = APIRouter(prefix="/console/datasets", route_class=Signed, include_in_schema=False)

JOBS_SHOWN, ENTRIES_SHOWN = 10, 200
LIMITS = ("max_epsilon_per_job", "approval_above_epsilon", "min_epsilon_per_job")


@router.get("")
def listed(
    request: Request,
    services: ServicesDep,
    principal: ReaderDep,
    state: Annotated[str | None, Query(max_length=32)] = None,
    sort: Sorted = None,
    cursor: Cursor = None,
) -> Response:
    """A page of the tenant's datasets with their budgets, sorted by a column."""
    found = datasets.list_datasets(services, principal, cursor, state=state or None, sort=sort or None)
    budgets = datasets.budgets_of(services, principal, found.items)
    content = {
        "datasets": found,
        "budgets": budgets,
        "states": tuple(ShownState),
        "state": state or "",
        "sort": sort or Sort.NEWEST,
    }
    return pages.page(request, "datasets.html", content)


@router.get("/{dataset_id}")
def shown(request: Request, services: ServicesDep, principal: ReaderDep, dataset_id: str) -> Response:
    """One dataset, as far as the caller may see it."""
    return _page(request, services, principal, dataset_id)


@router.post("/{dataset_id}/grants")
def grant(
    request: Request, services: ServicesDep, principal: CuratorDep, dataset_id: str, form: FormDep
) -> Response:
    """A larger budget is proposed; another curator decides about it."""
    try:
        try:
            asked = Grant(epsilon=form.get("epsilon"), reason=form.get("reason", ""))
        except ValidationError as error:
            raise mistaken(error) from None
        propose_grant(services, principal, dataset_id, epsilon=asked.epsilon, delta=0, reason=asked.reason)
    except GraphveilError as error:
        problem = pages.problem_of(request, error)
        return _page(request, services, principal, dataset_id, problem, dict(form))
    return see("/console/approvals?done=proposed")


@router.post("/{dataset_id}/policy")
def change_policy(
    request: Request, services: ServicesDep, principal: CuratorDep, dataset_id: str, form: FormDep
) -> Response:
    """The limits of single jobs are changed: at once where they only restrict, else as a proposal."""
    try:
        standing = get_policy(services, principal, dataset_id)
        if form.get("version") != str(standing.version):
            raise InvalidInput("the policy has changed since you read it; look at it again", field="version")
        reason = form.get("reason", "")
        if not reason or len(reason) > 256 or not reason.isprintable():
            raise InvalidInput("a reason has 1 to 256 characters", field="reason")
        rules = standing.policy.model_dump(mode="json") | {name: form.get(name) or None for name in LIMITS}
        try:
            policy = Policy.model_validate(rules)
        except ValidationError as error:
            raise mistaken(error) from None
        changed = set_policy(
            services, principal, dataset_id, policy, reason=reason, standing=standing.version
        )
    except GraphveilError as error:
        problem = pages.problem_of(request, error)
        return _page(request, services, principal, dataset_id, problem, dict(form))
    if hasattr(changed, "version"):
        return see(f"/console/datasets/{dataset_id}?done=policy")
    return see("/console/approvals?done=proposed")


@router.post("/{dataset_id}/unblock")
def unblock(services: ServicesDep, principal: CuratorDep, dataset_id: str, form: FormDep) -> Response:
    """The account takes jobs again; the reason enters the ledger."""
    unblock_account(services, principal, dataset_id, reason=decision(form.get("reason", "")))
    return see(f"/console/datasets/{dataset_id}?done=unblocked")


def _page(
    request: Request,
    services: Services,
    principal: Principal,
    dataset_id: str,
    problem: dict[str, Any] | None = None,
    filled: dict[str, str] | None = None,
) -> Response:
    dataset = datasets.get_dataset(services, principal, dataset_id)
    budget = datasets.budget(services, principal, dataset_id)
    audits = bool(principal.roles & {Role.CURATOR, Role.AUDITOR})
    asks = bool(principal.roles & {Role.CURATOR, Role.REQUESTER})
    content = {
        "dataset": dataset,
        "budget": budget,
        "exposing": datasets.exposure(services, principal, dataset_id)
        if audits and dataset.exposed
        else None,
        "quotas": list_quotas(services, principal, dataset_id).items,
        "drawn": pictures.type_graph(dataset.graph_schema) if dataset.graph_schema else None,
        "spent": _spent(services, principal, dataset_id, budget) if audits else None,
        "jobs": jobs.list_jobs(services, principal, dataset_id=dataset_id, limit=JOBS_SHOWN)
        if asks
        else None,
        "open": _open(services, principal, dataset_id) if audits else [],
        "problem": problem,
        "filled": filled or {},
    }
    return pages.page(request, "dataset.html", content, status=200 if problem is None else problem["status"])


def _open(services: Services, principal: Principal, dataset_id: str) -> list[Any]:
    """The newest proposals about the dataset that wait."""
    found = proposals.list_proposals(services, principal, dataset_id, "open", limit=JOBS_SHOWN)
    return [*found.items]


def _spent(services: Services, principal: Principal, dataset_id: str, budget: Budget) -> Any:
    """Draw the budget over the newest entries of its account."""
    after = max(0, budget.entries - ENTRIES_SHOWN)
    entries = datasets.ledger(services, principal, dataset_id, after, limit=ENTRIES_SHOWN).items
    return pictures.spent_over_time(entries, budget)
