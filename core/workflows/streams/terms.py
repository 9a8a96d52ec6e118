"""A stream's terms, settled from public facts only. They are method, parameters, relations, and what a step
costs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from itertools import accumulate
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from core import ids
from core.datasets.models import Dataset, DatasetVersion
from core.errors import BudgetExceeded, InvalidInput, NotAccepted
from core.evaluation.metric import Suite
from core.graphs.schema import GraphSchema
from core.graphs.schema.snapshots import tick_schema
from core.identity.service import Principal
from core.ledger import service as ledger
from core.ledger.amounts import epsilon_cost
from core.ledger.models import BudgetAccount
from core.methods import registry
from core.methods.base import Method, PublicFacts
from core.methods.room import require_room
from core.privacy.accounting.events import MAX_NANO_EPSILON, NANO
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.units import Unit
from core.publishing.checks import checked_params, chosen
from core.publishing.settle import check_cost, check_known
from core.publishing.spec import JobSpec, Place, Tick
from core.streams.models import Stream, StreamState
from core.streams.service import MAX_STEP
from core.workflows.common.policies import Policy, check_least, check_policy, check_stream, policy_of
from core.workflows.datasets.derivations import stored_marks
from core.workflows.jobs.ground import check_unit, ground_of
from core.workflows.streams.requests import StreamRequest
from graphveil.models.ledger import Budget

MAX_PLANNED = 1_000
"""So many first steps are planned one by one; more of a window cost as much as the dearest of them."""


@dataclass(frozen=True)
class Terms:
    """A stream that is not open yet. ``plan`` and ``amounts`` are those of its first step.

    ``by_step``: the amounts of a first full window, step by step.
    """

    stream: Stream
    version: DatasetVersion
    plan: PrivacyPlan
    amounts: dict[str, int]
    by_step: dict[str, int]

    @property
    def window_nano_epsilon(self) -> int:
        """What a full window of steps comes to, at most."""
        rest = self.stream.window - len(self.by_step)
        return sum(self.by_step.values()) + rest * self.stream.tick_nano_epsilon


def stream_terms(session: Session, principal: Principal, request: StreamRequest) -> Terms:
    """Decide the request with everything decided. The dataset stays share-locked until the transaction ends.

    Raises NotFound, DatasetNotReady, UnknownMethod, NotAccepted and InvalidInput with the ``field`` to mend,
    KindNotAllowed, PolicyRefused, WorkerMissing.
    """
    ground = ground_of(session, principal, request.dataset_id)
    dataset, version, account, schema = ground.dataset, ground.version, ground.account, ground.schema
    window = _window(account, request.window)
    if schema.time is None:
        raise NotAccepted("A stream needs a dataset with a time grid.", field="dataset_id")
    if dataset.in_parts:
        raise NotAccepted(
            "The edges of this dataset stay in parts, and a stream reads each snapshot as a whole; register "
            "the stream's dataset without in_parts.",
            field="dataset_id",
        )
    check_known(request.method)  # an unknown name is refused before anything else
    nano_epsilon = epsilon_cost(request.epsilon)
    if nano_epsilon > MAX_NANO_EPSILON:
        raise InvalidInput(f"A window has at most epsilon {MAX_NANO_EPSILON // NANO}.", field="epsilon")
    first = request.first_step
    if first > MAX_STEP:
        raise InvalidInput(f"A stream's steps are numbered from 0 to {MAX_STEP}.", field="first_step")
    facts = _facts(schema, _candidates(schema, request.edge_types), window, nano_epsilon, first)
    ground.had.require_suite(request.suite)
    choice, generator, params = ground.method_of(request.method, request.parameters, facts)
    if request.edge_types is None and choice is None:
        taken = _taken(generator, params, schema, facts)
        facts = _facts(schema, taken, window, nano_epsilon, first)
    stream = Stream(
        id=ids.new_id(ids.STREAM),
        tenant=principal.tenant,
        dataset_id=dataset.id,
        version_id=version.id,
        account_id=account.id,
        method=generator.name,
        chosen_because=None if choice is None else choice.reason,
        params=params.model_dump(mode="json"),
        edge_types=list(facts.edge_types),
        window=window,
        nano_epsilon=nano_epsilon,
        grid_start=schema.time.start,
        grid_width=schema.time.width,
        first_step=first,
        next_step=first,
        missing_steps=str(request.missing_steps),
        state=StreamState.OPEN,
        label=request.label,
        suite=str(request.suite),
        requested_by=principal.key_id,
        person=principal.person,
        team=principal.team,
        project=request.project,
    )
    spec, plan = tick_spec(session, stream, version, account, first, policy_of(dataset))
    check_unit(plan, account)
    check_cost(plan, facts)
    require_room(generator, params, plan, facts.schema, ground.nodes)
    check_terms(session, dataset, spec, team=principal.team, project=request.project)
    by_step = _by_step(generator, params, schema, facts, account)
    # Steps may cost differently: the dearest is what the stream says of one.
    stream.tick_nano_epsilon = max(by_step.values())
    # A step's dimension is named step/NUMBER.
    first_window = {name: amount for name, amount in by_step.items() if int(name[5:]) < first + window}
    return Terms(stream, version, plan, spec.amounts, first_window)


def check_terms(
    session: Session, dataset: Dataset, spec: JobSpec, *, team: str | None, project: str | None
) -> None:
    """Check that the policy allows such a stream. It is the dataset's present policy; the stream's snapshots
    are such.

    Raises KindNotAllowed, PolicyRefused.
    """
    check_policy(session, dataset, spec, team=team, project=project)
    check_stream(dataset, spec.release.nano_epsilon)
    check_least(dataset, spec.release.nano_epsilon)


def window_preview(session: Session, stream: Stream, by_step: Mapping[str, int]) -> tuple[bool, Budget]:
    """Tell whether a first full window fits the account. Its statement with that window comes if it does.

    Raises AccountBlocked and AccountExposed: no snapshot would be taken.
    """
    try:
        after = ledger.preview(
            session,
            stream.account_id,
            amounts=by_step,
            unit=str(Unit.W_EVENT),
            window=stream.window,
            team=stream.team,
            project=stream.project,
        )
    except BudgetExceeded:
        return False, ledger.statement(session, stream.account_id)
    return True, after


def tick_spec(
    session: Session,
    stream: Stream,
    version: DatasetVersion,
    account: BudgetAccount,
    step: int,
    policy: Policy,
) -> tuple[JobSpec, PrivacyPlan]:
    """Plan what one step of the stream does and costs. It is a function of its terms, the policy and the
    step."""
    release = Tick(
        job_id=ids.new_id(ids.JOB),
        dataset_id=stream.dataset_id,
        dataset_version=version.id,
        method=stream.method,
        chosen_because=stream.chosen_because,
        params=stream.params,
        unit=Unit.W_EVENT,
        window=stream.window,
        nano_epsilon=stream.nano_epsilon,
        edge_types=tuple(stream.edge_types),
        measurements=policy.measurements,
        derived=stored_marks(session, version),
        tick=Place(stream_id=stream.id, step=step),
    )
    generator = registry.get(stream.method)
    params = checked_params(generator.Params, stream.params)
    schema = tick_schema(GraphSchema.model_validate(version.graph_schema), release.edge_types, step)
    plan = generator.plan(params, release.facts(schema))
    return JobSpec(
        release=release,
        amounts=plan.spend(account.filter),
        kind=plan.kind,
        label=stream.label,
        suite=Suite(stream.suite),
    ), plan


def _window(account: BudgetAccount, requested: int | None) -> int:
    if account.unit == Unit.NODE:
        raise NotAccepted(
            "A stream is published under unit w-event. Under unit node it is not: a node has edges in every "
            "snapshot, so that each would take a share of one epsilon, however long the stream goes on. "
            "Publish the finished graph instead.",
            field="dataset_id",
        )
    if account.unit != Unit.W_EVENT or account.window is None:
        raise NotAccepted(
            f"A stream is published under unit w-event; this dataset's account protects {account.unit}.",
            field="dataset_id",
        )
    if requested is not None and requested != account.window:
        raise InvalidInput(
            f"The account's window has {account.window} steps, and so have its streams'.", field="window"
        )
    return account.window


def _facts(
    schema: GraphSchema, edge_types: Iterable[str], window: int, nano_epsilon: int, step: int
) -> PublicFacts:
    names = tuple(edge_types)
    return PublicFacts(
        tick_schema(schema, names, step), Unit.W_EVENT, window, nano_epsilon, 0, names, tick=step
    )


def _candidates(schema: GraphSchema, requested: list[str] | None) -> tuple[str, ...]:
    """List the asked relations in declared order; by default every protected, undirected one with time."""
    fit = {t.name: t for t in schema.edge_types if t.temporal and not t.public}
    if requested is None:
        found = tuple(name for name, relation in fit.items() if not relation.directed)
        if not found:
            raise NotAccepted(
                "This dataset has no protected, undirected relation with time; name those to publish.",
                field="edge_types",
            )
        return found
    return chosen(tuple(fit), requested, "protected relation with time named")


def _taken(generator: Method, params: BaseModel, schema: GraphSchema, facts: PublicFacts) -> tuple[str, ...]:
    """Those of the relations that the method takes, all where it takes them together.

    Raises the last refusal where it takes none.
    """
    with suppress(NotAccepted):
        generator.plan(params, facts)
        return facts.edge_types
    taken, refusal = [], None
    for name in facts.edge_types:
        assert facts.window is not None
        assert facts.tick is not None
        try:
            generator.plan(params, _facts(schema, (name,), facts.window, facts.nano_epsilon, facts.tick))
        except NotAccepted as error:
            refusal = error
        else:
            taken.append(name)
    if not taken and refusal is not None:
        raise refusal
    return tuple(taken)


def _by_step(
    generator: Method, params: BaseModel, schema: GraphSchema, facts: PublicFacts, account: BudgetAccount
) -> dict[str, int]:
    """Compute what each of the first steps costs, by its dimension: all that share a window with the
    last step of the first one.

    Raises NotAccepted where a window of them costs more than the stream's epsilon, which is what its releases
    promise.
    """
    assert facts.window is not None
    assert facts.tick is not None
    amounts: dict[str, int] = {}
    for step in range(facts.tick, min(facts.tick + min(2 * facts.window - 1, MAX_PLANNED), MAX_STEP + 1)):
        again = _facts(schema, facts.edge_types, facts.window, facts.nano_epsilon, step)
        amounts |= _steps_only(generator.plan(params, again).spend(account.filter))
    # What a window of consecutive steps costs is the difference of two of these sums.
    spent = list(accumulate(amounts.values(), initial=0))
    windows = range(max(1, len(amounts) - facts.window + 1))
    if any(spent[min(i + facts.window, len(amounts))] - spent[i] > facts.nano_epsilon for i in windows):
        raise NotAccepted(
            "The method cannot keep every window of its steps to the epsilon asked for.", field="epsilon"
        )
    return amounts


def _steps_only(amounts: Mapping[str, int]) -> dict[str, Any]:
    return {name: amount for name, amount in amounts.items() if name.startswith("step/")}
