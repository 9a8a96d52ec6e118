"""Plans of an audit request. One is the method's, as a job would have it, and one that of its half-noise
copy."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from core.errors import InvalidInput, NotAccepted, UnknownMethod
from core.graphs.schema import GraphSchema
from core.ledger.amounts import delta_cost, epsilon_cost
from core.methods import registry
from core.methods._shared.composition.params import ComposedParams, written_out
from core.methods.base import Method, PublicFacts
from core.methods.room import require_room
from core.privacy.accounting.audited import (
    MAX_WINDOW,
    MECHANISMS,
    AuditSpec,
    canary_schema,
    default_runs,
    mechanism_plans,
)
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from core.publishing.checks import checked_params, keeps_to
from core.settings import Settings
from core.workflows.jobs.request import Amount, plain

MAX_EPSILON = 20
"""No number of runs that anyone waits for shows more."""


class AuditRequest(BaseModel):
    """What a caller asks for. ``epsilon`` and ``delta`` are exact as decimal strings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    method: Annotated[str, Field(min_length=1, max_length=64)] = Field(
        description="laplace, gaussian, randomised_response, dp_sgd, or a synthesis method."
    )
    parameters: Annotated[dict[str, Any], AfterValidator(plain)] = Field(
        default_factory=dict, description="As the method's JSON Schema says."
    )
    unit: Unit = Field(default=Unit.EDGE, description="The privacy unit of the promise.")
    window: Annotated[int, Field(ge=1, le=MAX_WINDOW)] | None = Field(
        default=None, description="Steps of a window; unit w-event only."
    )
    epsilon: Amount = Field(description="The promise that is put to the test.")
    delta: Amount = Field(default="0", description="Its delta; mechanisms with pure epsilon ignore it.")
    runs: Annotated[int, Field(ge=100)] | None = Field(
        default=None, description="Runs on each of the two graphs; chosen by the service when left out."
    )


def planned(request: AuditRequest, settings: Settings) -> AuditSpec:
    """Return the audit, decided in full: parameters, canary graphs, plans, runs.

    Raises UnknownMethod, NotAccepted or InvalidInput with the field to mend.
    """
    nano, delta = epsilon_cost(request.epsilon), delta_cost(request.delta)
    if nano > MAX_EPSILON * NANO:
        raise InvalidInput(f"An audit tests an epsilon of at most {MAX_EPSILON}.", field="epsilon")
    runs = _runs(request, nano, settings)
    if request.method in MECHANISMS:
        mechanism = MECHANISMS[request.method]
        params = checked_params(mechanism.Params, request.parameters)
        schema = canary_schema(request.unit, request.window)
        plans = mechanism_plans(mechanism, params, schema, request.unit, nano, delta)
    else:
        try:
            generator = registry.get(request.method)
        except UnknownMethod:
            known = ", ".join([*MECHANISMS, *registry.generators()])
            raise UnknownMethod(
                f"There is nothing named {request.method!r} to audit; known are: {known}.", field="method"
            ) from None
        params = checked_params(generator.Params, request.parameters)
        schema, params, plans = _generator_plans(generator, params, request, nano, delta)
    return AuditSpec(
        method=request.method,
        params=params.model_dump(mode="json"),
        runs=runs,
        graph_schema=schema,
        plan=plans[0].to_json(),
        control=plans[1].to_json(),
    )


def advised_runs(method: str, nano_epsilon: int, settings: Settings) -> int:
    """Return as many runs as are made where a request names none."""
    return min(default_runs(method, nano_epsilon / NANO), settings.max_audit_runs)


def _runs(request: AuditRequest, nano: int, settings: Settings) -> int:
    if request.runs is None:
        return advised_runs(request.method, nano, settings)
    if request.runs > settings.max_audit_runs:
        raise InvalidInput(f"An audit makes at most {settings.max_audit_runs} runs.", field="runs")
    return request.runs


def _generator_plans(
    generator: Method, params: BaseModel, request: AuditRequest, nano: int, delta: int
) -> tuple[GraphSchema, BaseModel, tuple[PrivacyPlan, PrivacyPlan]]:
    """On the first canary graph that the method takes: nodes of one type, or of two.

    They carry what the parameters set epsilon aside for. Of a composition there are two relations, whose
    structures are written out.
    """
    refusal: NotAccepted | None = None
    for two in (False, True) if generator.accepts.bipartite else (False,):
        schema = canary_schema(
            request.unit,
            request.window,
            bipartite=two,
            values=generator.carries(params),
            rows=generator.carries_nodes(params),
            several=isinstance(params, ComposedParams),
        )
        names = tuple(each.name for each in schema.edge_types)
        facts = [
            PublicFacts(schema, request.unit, request.window, amount, delta, names)
            # The second is the control: it runs with twice the epsilon that is claimed, which an audit must
            # notice.
            for amount in (nano, 2 * nano)
        ]
        try:
            own = params
            if isinstance(params, ComposedParams):
                own = written_out(params, schema, request.unit, names)
            plan, control = (generator.plan(own, each) for each in facts)
            nodes = {each.name: each.count or 0 for each in schema.node_types}
            require_room(generator, own, plan, schema, nodes)
        except NotAccepted as error:
            # The first is kept: of the plainer graph, which most methods take.
            refusal = refusal or error
            continue
        cost = plan.cost()
        if cost.kind is GuaranteeKind.NONE:
            raise NotAccepted(
                "With these parameters the method promises nothing to audit.", field="parameters"
            )
        if not keeps_to(cost, nano, delta):
            raise NotAccepted("The method cannot keep to the epsilon and delta asked for.", field="epsilon")
        return schema, own, (plan, control)
    assert refusal is not None
    raise refusal
