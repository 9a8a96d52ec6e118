"""Many plans at once. They are methods by epsilons, each with its cost, what it leaves, and what it would
tell."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator
from sqlalchemy.orm import Session

from core.errors import GraphveilError, InvalidInput, StorageError
from core.graphs.schema import MAX_TYPES
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import service as ledger
from core.methods.choice import AUTO
from core.publishing.checks import protected_relations, shares_of
from core.settings import Settings
from core.workflows.common.context import Services
from core.workflows.common.policies import Slug
from core.workflows.common.schema_rules import check_cells
from core.workflows.jobs.ground import Ground, ground_of
from core.workflows.jobs.prepare import Prepared, prepare
from core.workflows.jobs.questions import Assume, told
from core.workflows.jobs.request import Amount, AskedMethod, JobRequest, plain
from core.workflows.jobs.submit import cost_of
from graphveil.models.ledger import Budget
from graphveil.models.plans import Menu, MenuItem, Refusal

MOST_ITEMS = 50


class MenuEntry(BaseModel):
    """A method, and how it is set."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: AskedMethod = AUTO
    parameters: Annotated[dict[str, Any], AfterValidator(plain)] = Field(default_factory=dict)

    @model_validator(mode="before")
    @classmethod
    def _no_name_alone(cls, sent: object) -> object:
        if isinstance(sent, str):
            raise ValueError(
                'a method is an object, not its name alone: {"method": "dcsbm"}, with "parameters" where it '
                'is set otherwise than by default: {"method": "dcsbm", "parameters": {"preset": "small"}}'
            )
        return sent


class MenuRequest(BaseModel):
    """What a caller wants planned: every method at every epsilon, at most 50 plans."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset_id: Annotated[str, Field(min_length=1, max_length=64)]
    methods: Annotated[list[MenuEntry], Field(min_length=1, max_length=MOST_ITEMS)] = Field(
        default_factory=lambda: [MenuEntry()]
    )
    epsilons: Annotated[list[Amount], Field(min_length=1, max_length=MOST_ITEMS)]
    delta: Amount | None = Field(
        default=None,
        description="The delta of each release, by default as of a job; 0 asks for pure epsilon.",
    )
    edge_types: Annotated[list[str], Field(min_length=1, max_length=MAX_TYPES)] | None = None
    project: Slug | None = None
    assume: Assume | None = Field(
        default=None, description="Sizes that relative predictions take for granted."
    )


def plan_menu(services: Services, principal: Principal, request: MenuRequest) -> Menu:
    """Plan every method at every epsilon. Nothing is changed, and the data is not looked at.

    What one of them is refused for stands beside it. Raises NotFound, DatasetNotReady, AccountBlocked,
    AccountExposed, and InvalidInput for relations that there are not, or that are too many together, and for
    more than 50 plans. Three round trips, however many plans.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        ground = ground_of(session, principal, request.dataset_id)
        names = protected_relations(ground.schema, request.edge_types)
        plans = len(request.methods) * len(request.epsilons)
        if plans > MOST_ITEMS:
            raise InvalidInput(
                f"{len(request.methods)} methods by {len(request.epsilons)} epsilons are {plans} plans; a "
                f"menu has at most {MOST_ITEMS}: ask for fewer of either.",
                field="epsilons",
            )
        check_cells(ground.schema, names, services.settings, field="epsilons", plans=plans)
        budget = ledger.statement(session, ground.account.id)
        planned = [
            _planned(session, services.settings, principal, ground, requested)
            for requested in _requests(request)
        ]
        # One look at the account for all items: each has room by itself, not all together.
        amounts = [each.spec.amounts for each in planned if isinstance(each, Prepared)]
        rooms = ledger.previews(
            session,
            ground.account.id,
            amounts,
            unit=budget.unit,
            window=budget.window,
            team=principal.team,
            project=request.project,
        )
    room = iter(rooms)
    items = tuple(
        _item(ground, requested, each, next(room) if isinstance(each, Prepared) else None)
        for requested, each in zip(_requests(request), planned, strict=True)
    )
    return Menu(
        dataset_id=request.dataset_id, unit=budget.unit, window=budget.window, budget=budget, items=items
    )


def _requests(request: MenuRequest) -> Iterator[JobRequest]:
    """Write each item of the menu as the job that it stands for."""
    for entry in request.methods:
        for epsilon in request.epsilons:
            yield JobRequest(
                dataset_id=request.dataset_id,
                method=entry.method,
                parameters=entry.parameters,
                epsilon=epsilon,
                delta=request.delta,
                edge_types=request.edge_types,
                project=request.project,
                assume=request.assume,
            )


def _planned(
    session: Session, settings: Settings, principal: Principal, ground: Ground, requested: JobRequest
) -> Prepared | GraphveilError:
    """Plan the job, or return why it is refused."""
    try:
        return prepare(session, principal, requested, settings, ground)
    except StorageError:
        raise
    except GraphveilError as refusal:
        return refusal


def _item(
    ground: Ground,
    requested: JobRequest,
    planned: Prepared | GraphveilError,
    room: Budget | GraphveilError | None,
) -> MenuItem:
    """Show one method at one epsilon: what it costs and tells, or why it is refused."""
    item = MenuItem(
        method=_shown(requested.method), epsilon=str(requested.epsilon), parameters=requested.parameters
    )
    try:
        if isinstance(planned, GraphveilError):
            raise planned
        release = planned.spec.release
        settled = planned.settled
        precision, expected = told(
            settled.generator,
            settled.params,
            settled.plan,
            ground.schema,
            ground.nodes,
            requested.assume,
            release.edge_types,
        )
    except GraphveilError as refusal:
        return item.model_copy(update={"refused": refusal_of(refusal)})
    refused = refusal_of(room) if isinstance(room, GraphveilError) else None
    return item.model_copy(
        update={
            "method": release.method,
            "parameters": release.params,
            "chosen_because": release.chosen_because,
            "cost": cost_of(settled.plan.cost()),
            "remaining": room.remaining.epsilon if isinstance(room, Budget) else None,
            "plan_digest": settled.plan.digest(),
            "shares": shares_of(settled.params),
            "precision": precision,
            "expected": expected,
            "refused": refused,
        }
    )


def _shown(method: AskedMethod) -> str:
    """Write a method, or a map of relations to methods, in a line."""
    if isinstance(method, str):
        return method
    named = ((name, each if isinstance(each, str) else each.method) for name, each in method.items())
    return ",".join(f"{name}={each}" for name, each in named)


def refusal_of(error: GraphveilError) -> Refusal:
    """Name the problem as its page does, and say what to mend."""
    kind = re.sub(r"(?<!^)(?=[A-Z])", "-", type(error).__name__).lower()
    return Refusal(type=f"/problems/{kind}", detail=error.message, field=error.members.get("field"))
