"""A request, resolved against its dataset: parameters, relations, formats, plan and cost. No data is read.

Four steps, each taken once: resolve, choose, price, permit.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial

from pydantic import BaseModel
from sqlalchemy.orm import Session

from core import ids
from core.datasets.models import DatasetVersion
from core.errors import InvalidInput, NotAccepted
from core.graphs.schema.partable import ELSEWHERE
from core.identity.service import Principal
from core.ledger import service as ledger
from core.ledger.amounts import check_delta, delta_cost, epsilon_capacity, epsilon_cost
from core.ledger.filters import delta_left
from core.ledger.holdings import balances
from core.ledger.kinds import Filter, Scope
from core.methods.base import Accelerator, Method, PublicFacts
from core.methods.choice import AUTO
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.events import MAX_NANO_EPSILON, NANO
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from core.publishing.checks import ALWAYS_WRITTEN, check_size, protected_relations
from core.publishing.settle import Settled, check_known, usual_delta
from core.publishing.spec import InParts, JobSpec, Plain
from core.settings import Settings
from core.workflows.common.policies import check_least, check_policy
from core.workflows.common.schema_rules import check_cells
from core.workflows.datasets.derivations import stored_marks
from core.workflows.datasets.sensitive_links import require_named
from core.workflows.jobs.ground import Ground, check_unit, ground_of
from core.workflows.jobs.request import JobRequest
from core.workflows.jobs.targets import PLANS, Limit, Search, Target, solve
from core.workflows.releases import elsewhere
from graphveil.models.plans import Solved


@dataclass(frozen=True)
class Prepared:
    """A request, resolved against its dataset. Nothing of it depends on the data.

    ``solved`` is None where the request names its epsilon itself.
    """

    ground: Ground
    spec: JobSpec
    settled: Settled
    solved: Solved | None
    accelerator: Accelerator


def prepare(
    session: Session,
    principal: Principal,
    request: JobRequest,
    settings: Settings,
    ground: Ground | None = None,
) -> Prepared:
    """Return the request with everything public decided. That does not depend on the data.

    The dataset stays share-locked: it cannot be archived before the caller's transaction ends. ``ground``:
    the request's, where the caller has it. Raises
    NotFound, DatasetNotReady, UnknownMethod, UnknownFormat, InvalidInput with its dotted ``field``,
    KindNotAllowed, PolicyRefused, UnitMismatch, LinksNotNamed and WorkerMissing.
    """
    ground = ground or ground_of(session, principal, request.dataset_id)
    facts = _resolve(session, principal, request, settings, ground)
    facts, settled, solved = _choose(session, principal, request, settings, ground, facts)
    spec = _price(session, request, settings, ground, facts, settled)
    _permit(session, principal, request, ground, spec, settled.plan)
    gain = settled.generator.accelerated(settled.params, facts, ground.nodes)
    return Prepared(ground, spec, settled, solved, gain)


def _resolve(
    session: Session, principal: Principal, request: JobRequest, settings: Settings, ground: Ground
) -> PublicFacts:
    """Say what of the dataset is asked for, at what epsilon and delta; of a target the most epsilon."""
    dataset, account, schema = ground.dataset, ground.account, ground.schema
    if request.seed is not None and not dataset.public:
        raise InvalidInput("A known seed voids the guarantee: only public datasets take one.", field="seed")
    if dataset.in_parts:
        _check_in_parts(request, ground.version)
        elsewhere.place_of(request.write_to, principal.tenant, settings)
    elif request.write_to is not None:
        raise NotAccepted(
            "Only releases of a dataset in parts are written to a folder; leave write_to out.",
            field="write_to",
        )
    if request.comparison and not dataset.public:
        raise NotAccepted(
            "Methods are compared on public datasets only: choosing by a comparison with a private original "
            "reveals what no epsilon bounds.",
            field="comparison",
        )
    check_known(request.method)  # an unknown name is refused before anything else
    ground.had.require_suite(request.suite)
    edge_types = protected_relations(schema, request.edge_types)
    check_cells(schema, edge_types, settings, field="edge_types")
    nano_epsilon = _epsilon_of(request)
    if request.delta is None:
        delta_atto = usual_delta(
            schema,
            Unit(account.unit),
            edge_types,
            ground.nodes,
            account.capacity_delta_atto,
            lambda: delta_left(account.terms, balances(session, account.id, account.window, {})),
        )
    else:
        delta_atto = delta_cost(request.delta)
        check_delta(delta_atto, account.capacity_delta_atto)
    return PublicFacts(
        schema,
        Unit(account.unit),
        account.window,
        nano_epsilon,
        delta_atto,
        edge_types,
        # A Rényi account adds up curves: plans that losses calibrate would cost it more.
        accountant=Accountant.RENYI if account.filter == Filter.RENYI else Accountant.PRIVACY_LOSS,
    )


def _choose(
    session: Session,
    principal: Principal,
    request: JobRequest,
    settings: Settings,
    ground: Ground,
    facts: PublicFacts,
) -> tuple[PublicFacts, Settled, Solved | None]:
    """Find the epsilon of a target, then method, parameters, formats and plan."""
    solved = None
    if request.target is not None:
        check_cells(ground.schema, facts.edge_types, settings, field="target", plans=PLANS)
        search = _search(request, request.target, facts, ground)
        nano_epsilon, solved = solve(search, _limit(session, principal, request, ground))
        facts = replace(facts, nano_epsilon=nano_epsilon)
    settled = ground.settle(request.method, request.parameters, request.formats, facts)
    if request.size is not None:
        params = settled.params.model_dump(mode="json")
        check_size(settled.generator.name, params, facts.schema, settled.released)
    check_unit(settled.plan, ground.account)
    return facts, settled, solved


def _price(
    session: Session,
    request: JobRequest,
    settings: Settings,
    ground: Ground,
    facts: PublicFacts,
    settled: Settled,
) -> JobSpec:
    """Write the job, with what it takes from every dimension of the account."""
    dataset, version, account = ground.dataset, ground.version, ground.account
    made: Callable[..., Plain | InParts] = Plain
    if dataset.in_parts:
        place = elsewhere.place_of(request.write_to, dataset.tenant, settings)
        made = partial(InParts, shard_edges=settings.shard_edges, write_to=place)
    kind = settled.plan.cost().kind
    return JobSpec(
        release=made(
            job_id=ids.new_id(ids.JOB),
            dataset_id=dataset.id,
            dataset_version=version.id,
            method=settled.generator.name,
            chosen_because=settled.chosen_because,
            params=settled.params.model_dump(mode="json"),
            unit=facts.unit,
            window=facts.window,
            nano_epsilon=facts.nano_epsilon,
            delta_atto=facts.delta_atto,
            edge_types=facts.edge_types,
            formats=settled.formats,
            seed=request.seed,
            # Of a public graph a share of the links may be drawn and hidden, for evaluation; of no other.
            named_links=settled.generator.hides_links and not dataset.public,
            measurements=ground.policy.measurements,
            derived=stored_marks(session, version),
            size=None if request.size is None else request.size.of(ground.nodes, settings),
        ),
        # What no epsilon measures takes nothing from the budget: it exposes the account when it opens the
        # graph.
        amounts=(
            {}
            if kind is GuaranteeKind.NONE
            else settled.plan.spend(account.filter, tuple(account.orders or ()))
        ),
        kind=kind,
        label=request.label,
        suite=request.suite,
        apart=settled.plan.apart,
    )


def _permit(
    session: Session,
    principal: Principal,
    request: JobRequest,
    ground: Ground,
    spec: JobSpec,
    plan: PrivacyPlan,
) -> None:
    """Return while the dataset's present policy allows the job, and what it needs has been named."""
    check_policy(session, ground.dataset, spec, team=principal.team, project=request.project)
    cost = plan.cost().nano_epsilon
    if cost is not None:
        check_least(ground.dataset, cost)
    if spec.release.named_links:
        require_named(session, ground.dataset, ground.version)


def _check_in_parts(request: JobRequest, version: DatasetVersion) -> None:
    """Refuse what needs a graph as a whole, of a dataset whose edges stay in parts or elsewhere."""
    if request.parameters.get("node_attribute_share") and (version.ingest_report or {}).get("pinned"):
        raise NotAccepted(ELSEWHERE, field="parameters.node_attribute_share")
    if request.seed is not None:
        raise NotAccepted("A graph that is drawn in shards takes no seed.", field="seed")
    if request.size is not None:
        raise NotAccepted("A graph that is drawn in shards has the original's nodes.", field="size")
    if set(request.formats) != {ALWAYS_WRITTEN}:
        raise NotAccepted(
            f"A graph that is drawn in shards is written as {ALWAYS_WRITTEN}, and in no other format.",
            field="formats",
        )


def _epsilon_of(request: JobRequest) -> int:
    """Return the epsilon asked for, in nano-epsilon; of a target the most, as it is yet to be found."""
    if (request.epsilon is None) == (request.target is None):
        raise InvalidInput("Give an epsilon, or else a target that one is found for.", field="epsilon")
    if request.epsilon is None:
        return MAX_NANO_EPSILON
    nano_epsilon = epsilon_cost(request.epsilon)
    if nano_epsilon > MAX_NANO_EPSILON:
        raise InvalidInput(f"A release has at most epsilon {MAX_NANO_EPSILON // NANO}.", field="epsilon")
    return nano_epsilon


def _search(request: JobRequest, target: Target, facts: PublicFacts, ground: Ground) -> Search:
    """Say where the epsilon for the target is looked for; ``auto`` chooses at each epsilon anew.

    What auto chooses follows from public facts and epsilon alone, so that the search is as public with it.
    """

    def method(public: PublicFacts) -> tuple[Method, BaseModel]:
        return ground.method_of(request.method, request.parameters, public)[1:]

    varies = request.method == AUTO or not isinstance(request.method, str)
    return Search(method, varies, facts, ground.nodes, target, request.assumed())


def _limit(session: Session, principal: Principal, request: JobRequest, ground: Ground) -> Limit:
    """Return the most epsilon that the request may have now, and the least that the policy asks for."""
    policy, account = ground.policy, ground.account.id
    most = [(MAX_NANO_EPSILON, "service"), (_left(session, account), "balance")]
    if policy.max_epsilon_per_job is not None:
        most.append((epsilon_capacity(policy.max_epsilon_per_job), "policy"))
    for quota in ledger.quotas(
        session, account, (Scope.TEAM, principal.team), (Scope.PROJECT, request.project)
    ):
        most.append((_left(session, quota.id), "quota"))
    least = policy.min_epsilon_per_job
    return Limit(*min(most), least=1 if least is None else epsilon_capacity(least))


def _left(session: Session, account_id: str) -> int:
    return ledger.statement(session, account_id).remaining.nano_epsilon
