"""A new release. What every method would cost and tell stands side by side; then one is planned and
requested."""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, replace
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, get_args

from fastapi import APIRouter, Depends, Query, Request, Response
from pydantic import ValidationError

from api.console import pages
from api.console.forms import Form, FormDep, mistaken
from api.console.session import Signed, see
from api.deps import PortalDep, ServicesDep
from core.errors import GraphveilError, InvalidInput
from core.identity.service import Principal
from core.methods import registry
from core.methods._shared.composition.params import NAME as COMPOSED
from core.methods.choice import AUTO
from core.privacy.accounting.plan import DECLARED
from core.publishing.declarations import REST, Relation
from core.workflows.common.context import Services
from core.workflows.datasets import queries as datasets
from core.workflows.jobs import queries as jobs
from core.workflows.jobs.menu import MOST_ITEMS, MenuEntry, MenuRequest, plan_menu
from core.workflows.jobs.submit import JobRequest, plan_job, submit_job
from graphveil import by_relation
from graphveil.models.plans import Plan
from graphveil.risk import PRIORS, THIS, WHOLE, Learned, rows

router = APIRouter(prefix="/console", route_class=Signed, include_in_schema=False)

FIRST_EPSILON = Decimal("0.5")
LEAST_SLIDE = Decimal("0.05")
FORMATS = ("csv", "graphml")
SHARES = {"values": "attribute_share", "attributes": "node_attribute_share"}
"""What may be left out of a release, and the share of epsilon that it has otherwise."""

MOST_RELATIONS, MOST_NAMED = 32, 4_096
"""Relations whose methods the page asks for one by one, and letters that name them."""

Asked = Annotated[str, Query(max_length=64)]


@dataclass(frozen=True)
class Choice:
    """What is looked at. It is method, epsilon and delta, as the address says."""

    method: str
    epsilon: str
    delta: str = "0"
    edges: str = ""
    hubs: str = ""
    values: str = "yes"
    attributes: str = "yes"

    @property
    def asked(self) -> str | dict[str, Any]:
        """The method, or methods by relation; what is neither is refused as a method that is not known."""
        try:
            return by_relation.read(self.method)
        except ValueError:
            return self.method

    @property
    def named(self) -> dict[str, Any]:
        """The method of each relation that has one of its own."""
        return self.asked if isinstance(self.asked, dict) else {}

    @property
    def parameters(self) -> dict[str, Any]:
        """What the questions set; nothing of a method that is named for all relations."""
        if self.method != AUTO and not self.named:
            return {}
        said = {"objective": "who"} if self.hubs == "yes" else {}
        return said | {share: 0 for name, share in SHARES.items() if getattr(self, name) == "no"}


def looked_at(
    method: Annotated[str, Query(max_length=MOST_NAMED)] = AUTO,
    epsilon: Asked = "",
    delta: Asked = "0",
    edges: Asked = "",
    hubs: Asked = "",
    values: Asked = "yes",
    attributes: Asked = "yes",
    of: Annotated[tuple[str, ...], Query(max_length=MOST_RELATIONS)] = (),
) -> Choice:
    """What the address says. ``of``: relation=method, or nothing where the rules choose."""
    named = ",".join(each for each in of if each)[:MOST_NAMED]
    return Choice(
        f"{named},{REST}={AUTO}" if named else method or AUTO,
        epsilon.strip(),
        delta.strip() or "0",
        edges.strip(),
        hubs,
        values,
        attributes,
    )


@router.get("/datasets/{dataset_id}/release")
def choose(
    request: Request,
    services: ServicesDep,
    principal: PortalDep,
    dataset_id: str,
    choice: Annotated[Choice, Depends(looked_at)],
) -> Response:
    """The menu of methods at an epsilon, and the plan of the one that is looked at. Nothing is reserved."""
    return _page(request, services, principal, dataset_id, choice)


@router.post("/jobs")
def submit(request: Request, services: ServicesDep, principal: PortalDep, form: FormDep) -> Response:
    """The budget is reserved and the job queued, or it waits for a second person."""
    dataset_id = form.get("dataset_id", "")
    try:
        job, _ = submit_job(services, principal, _job_request(form), form.get("idempotency_key"))
    except GraphveilError as error:
        choice = _choice(form)
        problem = pages.problem_of(request, error)
        return _page(request, services, principal, dataset_id, choice, problem, form)
    return see(f"/console/jobs/{job.id}?done={'waits' if job.state == 'awaiting_approval' else 'submitted'}")


def _choice(form: Form) -> Choice:
    method, delta = form.get("method") or AUTO, form.get("delta") or "0"
    return Choice(
        AUTO if method == DECLARED else method,
        form.get("epsilon", ""),
        delta,
        form.get("edges", ""),
        form.get("hubs", ""),
        form.get("values", "yes"),
        form.get("attributes", "yes"),
    )


def _job_request(form: Form) -> JobRequest:
    values: dict[str, Any] = form.given("dataset_id", "epsilon", "delta", "label", "project")
    declared = form.get("method") == DECLARED
    choice = _choice(form)
    values["method"] = DECLARED if declared else choice.asked
    values["parameters"] = {"relations": {REST: _said(form)}} if declared else choice.parameters
    try:
        return JobRequest(
            **values,
            formats=["parquet", *(name for name in form.many("formats") if name != "parquet")],
            assume=_assumed(form.get("edges", "")),
            repeat=form.get("repeat") == "yes",
        )
    except ValidationError as error:
        raise mistaken(error) from None


def _said(form: Form) -> dict[str, Any]:
    """What the form says of every relation, for a graph from declarations."""
    said: dict[str, Any] = form.given("degrees")
    if mean := form.get("mean_degree", ""):
        try:
            said["mean_degree"] = float(mean)
        except ValueError:
            raise InvalidInput("this is no number of edges; name one, or none", field="mean_degree") from None
    return said


def _assumed(edges: str) -> Any:
    if not edges:
        return None
    if not edges.isascii() or not edges.isdigit() or len(edges) > 12:
        raise InvalidInput("this is no number of edges; name one, or none", field="edges")
    return {"edges": int(edges)}


def _page(
    request: Request,
    services: Services,
    principal: Principal,
    dataset_id: str,
    choice: Choice,
    problem: dict[str, Any] | None = None,
    filled: Form | None = None,
) -> Response:
    dataset = datasets.get_dataset(services, principal, dataset_id)
    budget = datasets.budget(services, principal, dataset_id)
    menu = plan = None
    refused = problem
    if not choice.epsilon:
        choice = replace(choice, epsilon=_first(budget.remaining.epsilon))
    try:
        menu = plan_menu(services, principal, _menu(dataset, choice))
        plan = plan_job(services, principal, _job(dataset_id, choice, filled))
    except GraphveilError as error:
        refused = refused or pages.problem_of(request, error)
    content = {
        "dataset": dataset,
        "budget": budget,
        "menu": menu,
        "plan": plan,
        "priors": PRIORS,
        "learned": [] if plan is None else _learned(plan),
        "carries": _carries(dataset.graph_schema, plan),
        "choice": choice,
        "problem": refused,
        "filled": filled or {},
        "formats": FORMATS,
        "slides": _slides(budget.remaining.epsilon),
        "idempotency_key": secrets.token_hex(16),
        "laws": get_args(Relation.model_fields["degrees"].annotation),
        "offers_declared": dataset.policy.methods is None or DECLARED in dataset.policy.methods,
        "relations": _relations(dataset.graph_schema),
        "structures": [name for name in _names(dataset) if name in registry.common() - {COMPOSED}],
        "titles": {each.name: each.title for each in jobs.methods()},
    }
    return pages.page(request, "release.html", content, status=problem["status"] if problem else 200)


def _carries(
    schema: Mapping[str, Any] | None, plan: Plan | None
) -> list[tuple[str, list[str], float | None]]:
    """What the schema declares beside edges: the tick's name, what is carried, and its share of epsilon."""
    schema, set_aside = schema or {}, {} if plan is None else plan.parameters
    edges = [of["name"] for each in schema.get("edge_types", ()) for of in each.get("attributes", ())]
    nodes = [
        of["name"]
        for each in schema.get("node_types", ())
        for of in each.get("attributes", ())
        if of.get("protection") == "protected"
    ]
    held = {"values": edges, "attributes": nodes}
    return [(name, held[name], set_aside.get(share) or None) for name, share in SHARES.items() if held[name]]


def _learned(plan: Plan) -> list[Learned]:
    """What somebody can learn from this release, and once the whole budget is spent."""
    if plan.cost.epsilon is None:
        return []
    whole = plan.budget_after.capacity
    return rows([(THIS, plan.cost.epsilon, plan.cost.delta), (WHOLE, whole.epsilon, whole.delta)])


def _names(dataset: Any) -> list[str]:
    """Every method that the dataset's unit and policy leave."""
    rules = dataset.policy
    return [
        each.name
        for each in jobs.methods()
        if dataset.unit in each.units
        and (rules.methods is None or each.name in rules.methods)
        and set(each.kinds) & set(rules.kinds)
    ]


def _relations(schema: Mapping[str, Any] | None) -> list[str]:
    """The relations whose methods may be named one by one; none where there is one alone."""
    found = [each["name"] for each in (schema or {}).get("edge_types", ()) if not each["public"]]
    return found if 1 < len(found) <= MOST_RELATIONS else []


def _menu(dataset: Any, choice: Choice) -> MenuRequest:
    """Every method of :func:`_names`, auto first."""
    try:
        return MenuRequest(
            dataset_id=dataset.id,
            methods=[
                MenuEntry(parameters=replace(choice, method=AUTO).parameters),
                *(MenuEntry(method=name) for name in _names(dataset)[: MOST_ITEMS - 1]),
            ],
            epsilons=[choice.epsilon],
            delta=choice.delta,
            assume=_assumed(choice.edges),
        )
    except ValidationError as error:
        raise mistaken(error) from None


def _job(dataset_id: str, choice: Choice, filled: Form | None) -> JobRequest:
    try:
        return JobRequest(
            dataset_id=dataset_id,
            method=choice.asked,
            epsilon=choice.epsilon,
            delta=choice.delta,
            parameters=choice.parameters,
            project=filled.get("project") or None if filled else None,
            assume=_assumed(choice.edges),
        )
    except ValidationError as error:
        raise mistaken(error) from None


def _first(remaining: str) -> str:
    """An epsilon to begin with: half of one, or what is left if that is less."""
    left = Decimal(remaining)
    return str(min(FIRST_EPSILON, left) if left > 0 else FIRST_EPSILON)


def _slides(remaining: str) -> dict[str, str] | None:
    """The slider's ends and step; None where too little is left to slide over."""
    try:
        left = Decimal(remaining)
    except InvalidOperation:
        return None
    if left <= 2 * LEAST_SLIDE:
        return None
    step = Decimal("0.05") if left <= 10 else Decimal("0.5")
    return {"min": str(LEAST_SLIDE), "max": str(left), "step": str(step)}
