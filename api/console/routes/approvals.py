"""Proposals and jobs for a second person. Each comes with what it changes and the budget after it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from fastapi import APIRouter, Request, Response

from api.console import pages
from api.console.forms import FormDep
from api.console.routes.jobs import decision
from api.console.session import Signed, see
from api.deps import CuratorDep, LedgerDep, ServicesDep
from core.identity.models import Role
from core.identity.service import Principal
from core.workflows.common.context import Services
from core.workflows.datasets import queries as datasets
from core.workflows.identity.persons import same_person
from core.workflows.jobs import queries as jobs
from core.workflows.ledger import proposals

router = APIRouter(prefix="/console", route_class=Signed, include_in_schema=False)

SHOWN = 20


@dataclass(frozen=True)
class Card:
    """One thing to be decided. ``asked`` is the job or proposal, ``after`` the capacity after a grant."""

    kind: str
    asked: Any
    dataset: Any
    budget: Any
    own: bool
    after: str | None = None
    changes: tuple[tuple[str, Any, Any], ...] = ()


@router.get("/approvals")
def listed(request: Request, services: ServicesDep, principal: LedgerDep) -> Response:
    """The newest jobs and proposals that wait, each with what a decision does."""
    return pages.page(request, "approvals.html", {"cards": _cards(services, principal), "shown": SHOWN})


@router.post("/proposals/{proposal_id}/approve")
def approve(services: ServicesDep, principal: CuratorDep, proposal_id: str, form: FormDep) -> Response:
    """What was proposed takes effect."""
    proposals.approve_proposal(services, principal, proposal_id, reason=decision(form.get("reason", "")))
    return see("/console/approvals?done=approved")


@router.post("/proposals/{proposal_id}/reject")
def reject(services: ServicesDep, principal: CuratorDep, proposal_id: str, form: FormDep) -> Response:
    """It never takes effect."""
    proposals.reject_proposal(services, principal, proposal_id, reason=decision(form.get("reason", "")))
    return see("/console/approvals?done=rejected")


@router.post("/proposals/{proposal_id}/withdraw")
def withdraw(services: ServicesDep, principal: CuratorDep, proposal_id: str, form: FormDep) -> Response:
    """It is taken back by the person who made it."""
    proposals.withdraw_proposal(services, principal, proposal_id)
    return see("/console/approvals?done=withdrawn")


def _cards(services: Services, principal: Principal) -> list[Card]:
    """Twice ``SHOWN`` at most; their datasets are read together, and so are the budgets."""
    proposed = proposals.list_proposals(services, principal, state="open", limit=SHOWN).items
    waiting: list[Any] = []
    if Role.CURATOR in principal.roles:
        waiting = jobs.list_jobs(services, principal, state="awaiting_approval", limit=SHOWN).items
    asked: list[Any] = [*proposed, *waiting]
    named = dict.fromkeys(each.dataset_id for each in asked)
    about = datasets.get_datasets(services, principal, named)
    budgets = datasets.budgets_of(services, principal, about.values())
    cards = []
    for proposal in proposed:
        dataset = about[proposal.dataset_id]
        budget = budgets[dataset.account_id]
        after: str | None = None
        changes: tuple[tuple[str, Any, Any], ...] = ()
        if proposal.kind == "grant" and not proposal.payload.get("quota"):
            raised = Decimal(budget.capacity.epsilon) + Decimal(proposal.payload["epsilon"])
            after = f"{raised.normalize():f}"
        if proposal.kind == "policy":
            changes = _changes(dataset, proposal.payload["policy"])
        own = same_person(principal, proposal.person)
        cards.append(Card(proposal.kind, proposal, dataset, budget, own, after, changes))
    for job in waiting:
        dataset = about[job.dataset_id]
        own = same_person(principal, job.person or "")
        cards.append(Card("job", job, dataset, budgets[dataset.account_id], own))
    return cards


def _changes(dataset: Any, policy: dict[str, Any]) -> tuple[tuple[str, Any, Any], ...]:
    """Each rule of the policy that would be another: its name, what stands, what is proposed."""
    stands = dataset.policy.model_dump(mode="json")
    return tuple(
        (name, stands.get(name), value) for name, value in policy.items() if stands.get(name) != value
    )
