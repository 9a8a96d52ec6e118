"""A request, resolved against its dataset: parameters, relations, formats, plan and cost. No data is read."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    StrictFloat,
    StrictInt,
    StrictStr,
)
from sqlalchemy.orm import Session

from core import ids
from core.datasets import repository as datasets
from core.datasets.models import Dataset, DatasetState, DatasetVersion
from core.errors import DatasetNotReady, InvalidInput, NotAccepted, NotFound, UnitMismatch
from core.evaluation.metric import Suite
from core.graphs.schema import MAX_TYPES, GraphSchema
from core.identity.service import Principal
from core.ledger import service as ledger
from core.ledger.amounts import check_delta, delta_cost, epsilon_capacity, epsilon_cost
from core.ledger.kinds import Filter
from core.ledger.models import BudgetAccount
from core.methods._shared.composition.params import StructureChoice, methods_of
from core.methods.base import (
    Accelerator,
    Generator,
    LinkHidingGenerator,
    PublicFacts,
    accelerator_of,
)
from core.methods.choice import AUTO, Choice
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.events import MAX_NANO_EPSILON, NANO
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from core.publishing import settle as settling
from core.publishing.checks import ALWAYS_WRITTEN, protected_relations
from core.publishing.spec import InParts, JobSpec, Plain
from core.settings import Settings
from core.workflows.common import unpaid
from core.workflows.common.declared import declared_schema
from core.workflows.common.policies import (
    Slug,
    check_least,
    check_quotas,
    check_request,
    policy_of,
)
from core.workflows.common.schema_rules import check_cells
from core.workflows.datasets.derivations import marks_on
from core.workflows.datasets.sensitive_links import require_named
from core.workflows.jobs import repository
from core.workflows.jobs.abilities import OfWorkers
from core.workflows.jobs.assumed import Assume
from core.workflows.jobs.targets import PLANS, Limit, Search, Target, solve
from core.workflows.ledger.quotas import drawn_on, quota_name
from graphveil.models.plans import Solved

Amount = StrictStr | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values, if they can be stored: parsers of JSON let numbers and texts pass that are none."""
    try:
        json.dumps(values, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        raise ValueError("only finite numbers and well-formed texts can be stored") from None
    return values


MethodName = Annotated[str, Field(min_length=1, max_length=64)]
Method = (
    MethodName | Annotated[dict[str, MethodName | StructureChoice], Field(min_length=1, max_length=MAX_TYPES)]
)


class JobRequest(BaseModel):
    """What a caller asks for. ``epsilon`` and ``delta`` are exact as decimal strings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset_id: Annotated[str, Field(min_length=1, max_length=64)]
    method: Method = Field(
        default=AUTO,
        description="A method's name; auto chooses a structure for each relation from public facts and says "
        "why. Or a map: by a relation's name a method, alone or with its parameters, or auto; `*` stands for "
        "all other relations.",
    )
    epsilon: Amount | None = Field(
        default=None,
        description="The epsilon of this release, from the dataset's budget; required without a `target`.",
    )
    target: Target | None = Field(
        default=None,
        description="What the release must tell at least, instead of an epsilon: the smallest epsilon that "
        "meets it is found from public facts, and reserved.",
    )
    delta: Amount | None = Field(
        default=None,
        description="The delta of this release; 0 asks for pure epsilon. By default 0; of persons and things "
        "under unit node 1e-6, at most 1 over ten times the number of persons, where the budget has some.",
    )
    parameters: Annotated[dict[str, Any], AfterValidator(plain)] = Field(
        default_factory=dict, description="As the method's JSON Schema says."
    )
    edge_types: Annotated[list[str], Field(min_length=1, max_length=MAX_TYPES)] | None = Field(
        default=None, description="Relations to synthesise; by default every protected one."
    )
    formats: Annotated[list[str], Field(max_length=16)] = Field(default_factory=lambda: [ALWAYS_WRITTEN])
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        default=None, description="For datasets marked public only: a known seed voids the guarantee."
    )
    suite: Suite = Field(
        default=Suite.STANDARD,
        description="How closely the release is compared with its original, for the curators' report.",
    )
    label: Annotated[str, Field(max_length=128)] | None = None
    project: Slug | None = Field(
        default=None, description="The project whose quota it draws on; the key says which team's."
    )
    repeat: bool = Field(
        default=False,
        description="Spend again on a release that stands already, or is under way. Otherwise a request with "
        "the content of an earlier job is refused and names that job, whose release and further samples "
        "cost nothing.",
    )
    comparison: bool = Field(
        default=False,
        description="One of several releases among which their comparison with the original decides; for "
        "datasets marked public only.",
    )
    assume: Assume | None = Field(
        default=None,
        description="Sizes that relative predictions take for granted; declared bounds unless given.",
    )

    def content(self) -> dict[str, Any]:
        """Return what was asked for; what came in later versions is there where it was given."""
        later = {name for name in ("assume", "target") if getattr(self, name) is None}
        content = self.model_dump(mode="json", exclude=later)
        if self.target is not None:
            del content["target"]["assume"]
        assumed = self.assumed()
        return content if assumed is None else {**content, "assume": assumed.model_dump(mode="json")}

    def assumed(self) -> Assume | None:
        """Return what is taken for granted, wherever it was written; InvalidInput where it differs."""
        beside = None if self.target is None else self.target.assume
        if None not in (self.assume, beside) and self.assume != beside:
            raise InvalidInput(
                "The target assumes something else than the request; say it once.", field="target.assume"
            )
        return self.assume if beside is None else beside


@dataclass(frozen=True)
class Prepared:
    """A request, resolved against its dataset; nothing of it depends on the data.

    ``choice`` is None where the request names its ``method`` itself, ``solved`` where it does its epsilon.
    """

    dataset: Dataset
    version: DatasetVersion
    graph_schema: GraphSchema
    spec: JobSpec
    choice: Choice | None
    params: BaseModel
    plan: PrivacyPlan
    solved: Solved | None
    accelerator: Accelerator


@dataclass(frozen=True)
class Ground:
    """What stands of a dataset when requests for it are planned, and what the workers have."""

    dataset: Dataset
    version: DatasetVersion
    account: BudgetAccount
    schema: GraphSchema
    had: OfWorkers


def ground_of(session: Session, principal: Principal, dataset_id: str) -> Ground:
    """Load the dataset, share-locked, as :func:`ready_dataset` does, and its declared schema."""
    dataset, version, account = ready_dataset(session, principal, dataset_id)
    return Ground(dataset, version, account, declared_schema(session, version), OfWorkers(session))


def prepare(
    session: Session,
    principal: Principal,
    request: JobRequest,
    settings: Settings,
    ground: Ground | None = None,
) -> Prepared:
    """Return the request with everything decided that does not depend on the data.

    The dataset stays share-locked: it cannot be archived before the caller's transaction ends. ``ground``:
    the request's, where the caller has it. Raises
    NotFound, DatasetNotReady, UnknownMethod, UnknownFormat, InvalidInput with its dotted ``field``,
    KindNotAllowed, PolicyRefused, UnitMismatch, LinksNotNamed and WorkerMissing.
    """
    ground = ground or ground_of(session, principal, request.dataset_id)
    dataset, version, account, schema = ground.dataset, ground.version, ground.account, ground.schema
    if request.seed is not None and not dataset.public:
        raise InvalidInput("A known seed voids the guarantee: only public datasets take one.", field="seed")
    if dataset.in_parts:
        _check_in_parts(request)
    if request.comparison and not dataset.public:
        raise NotAccepted(
            "Methods are compared on public datasets only: choosing by a comparison with a private original "
            "reveals what no epsilon bounds.",
            field="comparison",
        )
    settling.check_known(request.method)  # an unknown name is refused before anything else
    ground.had.require_suite(request.suite)
    edge_types = protected_relations(schema, request.edge_types)
    check_cells(schema, edge_types, settings, field="edge_types")
    nano_epsilon, nodes = _epsilon_of(request), node_counts(version, schema)
    if request.delta is None:
        most_atto = account.capacity_delta_atto
        delta_atto = settling.usual_delta(schema, Unit(account.unit), edge_types, nodes, most_atto)
    else:
        delta_atto = delta_cost(request.delta)
        check_delta(delta_atto, account.capacity_delta_atto)
    facts = PublicFacts(
        schema,
        Unit(account.unit),
        account.window,
        nano_epsilon,
        delta_atto,
        edge_types,
        # A Rényi account adds up curves: plans that losses calibrate would cost it more.
        accountant=Accountant.RENYI if account.filter == Filter.RENYI else Accountant.PRIVACY_LOSS,
    )
    solved = None
    if request.target is not None:
        check_cells(schema, edge_types, settings, field="target", plans=PLANS)
        search = _search(request, request.target, facts, ground)
        nano_epsilon, solved = solve(search, _limit(session, principal, request, dataset))
        facts = replace(facts, nano_epsilon=nano_epsilon)
    settled = settling.settle(
        request.method,
        request.parameters,
        request.formats,
        facts,
        nodes,
        policy_of(dataset).methods,
        in_parts=dataset.in_parts,
        had=ground.had,
    )
    plan, generator, cost = settled.plan, settled.generator, settled.plan.cost()
    check_unit(plan, account)
    unbounded = cost.kind is GuaranteeKind.NONE
    made: Callable[..., Plain | InParts] = Plain
    if dataset.in_parts:
        made = partial(InParts, shard_edges=settings.shard_edges)
    spec = JobSpec(
        release=made(
            job_id=ids.new_id(ids.JOB),
            dataset_id=dataset.id,
            dataset_version=version.id,
            method=generator.name,
            chosen_because=settled.chosen_because,
            params=settled.params.model_dump(mode="json"),
            unit=facts.unit,
            window=facts.window,
            nano_epsilon=nano_epsilon,
            delta_atto=delta_atto,
            edge_types=edge_types,
            formats=settled.formats,
            seed=request.seed,
            # Of a public graph a share of the links may be drawn and hidden, for evaluation; of no other.
            named_links=isinstance(generator, LinkHidingGenerator) and not dataset.public,
            measurements=policy_of(dataset).measurements,
            derived=marks_on(version, lambda: datasets.parts(session, [version.id])),
        ),
        # What no epsilon measures takes nothing from the budget: it exposes the account when it opens the
        # graph.
        amounts={} if unbounded else plan.spend(account.filter, tuple(account.orders or ())),
        kind=cost.kind,
        label=request.label,
        suite=request.suite,
    )
    check_policy(session, dataset, spec, team=principal.team, project=request.project)
    if cost.nano_epsilon is not None:
        check_least(dataset, cost.nano_epsilon)
    if spec.release.named_links:
        require_named(session, dataset, version)
    gain = accelerator_of(generator, settled.params, facts, node_counts(version, schema))
    return Prepared(dataset, version, schema, spec, settled.choice, settled.params, plan, solved, gain)


def _check_in_parts(request: JobRequest) -> None:
    """Refuse what needs a graph as a whole, of a dataset whose edges stay in parts."""
    if request.seed is not None:
        raise NotAccepted("A graph that is drawn in shards takes no seed.", field="seed")
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

    def method(public: PublicFacts) -> tuple[Generator, BaseModel]:
        named = request.method, request.parameters
        return method_of(*named, public, ground.dataset, ground.version, ground.had)[1:]

    nodes = node_counts(ground.version, ground.schema)
    varies = request.method == AUTO or not isinstance(request.method, str)
    return Search(method, varies, facts, nodes, target, request.assumed())


def _limit(session: Session, principal: Principal, request: JobRequest, dataset: Dataset) -> Limit:
    """Return the most epsilon that the request may have now, and the least that the policy asks for."""
    policy, account = policy_of(dataset), dataset.account_id
    most = [(MAX_NANO_EPSILON, "service"), (_left(session, account), "balance")]
    if policy.max_epsilon_per_job is not None:
        most.append((epsilon_capacity(policy.max_epsilon_per_job), "policy"))
    for quota in drawn_on(session, account, team=principal.team, project=request.project):
        most.append((_left(session, quota.id), "quota"))
    least = policy.min_epsilon_per_job
    return Limit(*min(most), least=1 if least is None else epsilon_capacity(least))


def _left(session: Session, account_id: str) -> int:
    return ledger.statement(session, account_id).remaining.nano_epsilon


def method_of(
    name: Method,
    parameters: dict[str, Any],
    facts: PublicFacts,
    dataset: Dataset,
    version: DatasetVersion,
    had: OfWorkers,
) -> tuple[Choice | None, Generator, BaseModel]:
    """Return the named method, or what ``auto`` or a map stands for, and its parameters. No data is read.

    Raises InvalidInput for parameters that are wrong; UnknownMethod;
    NotAccepted where no method takes the request, of those that the dataset's policy allows; WorkerMissing.
    """
    nodes, allowed = node_counts(version, facts.schema), policy_of(dataset).methods
    return settling.method_of(name, parameters, facts, nodes, allowed, in_parts=dataset.in_parts, had=had)


def node_counts(version: DatasetVersion, schema: GraphSchema) -> dict[str, int]:
    """Find the public size of every node universe: as declared, or as the version's node list has it."""
    listed = version.node_counts or {}
    return {kind.name: listed[kind.name] if kind.count is None else kind.count for kind in schema.node_types}


def ready_dataset(
    session: Session, principal: Principal, dataset_id: str
) -> tuple[Dataset, DatasetVersion, BudgetAccount]:
    """Load the dataset, its current version and its account. One round trip.

    The dataset is shared-locked: it cannot be archived between this look and the job's insertion.
    """
    found = repository.drawn_on(session, dataset_id)
    if found is None or found[0].tenant != principal.tenant:
        raise NotFound("There is no such dataset.", id=dataset_id)
    dataset, version, account = found
    if version is None and dataset.current_version_id is not None:
        # It changed while the look waited for the lock, and the join was with the version before.
        version = datasets.existing_version(session, dataset.current_version_id)
    if dataset.state != DatasetState.READY or version is None:
        state = unpaid.dataset_state(principal, dataset)
        raise DatasetNotReady(
            f"The dataset is {state}; a job needs one that is ready.",
            id=dataset_id,
            state=state,
            retry_after=unpaid.retry_after_seconds(principal, dataset),
        )
    return dataset, version, account


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
    """Returns while the dataset's present policy allows such a job or stream; see ``policies.check_request``.

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
