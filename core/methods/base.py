"""What a method is: one record, whose every capability is a field with a default answer.

A module or package in this folder that binds ``GENERATOR`` to a :class:`Method` is discovered by the
registry; nothing else has to change.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from inspect import cleandoc
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, Self

from pydantic import BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import InitErrorDetails, PydanticCustomError

from core import errors
from core.graphs.schema import GraphSchema
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.persons import TIMES, require_persons
from core.privacy.accounting.plan import CellKey, GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.units import Unit

if TYPE_CHECKING:
    import numpy as np

    from core.graphs.graph import Graph
    from core.graphs.schema.partable import Part as GraphPart
    from core.graphs.schema.partable import Slots
    from core.graphs.views.sensitive import SensitiveLinks
    from core.methods._shared.node_values.ends import Ends
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.counted import PrivateParts

    Resize = Callable[[Any, Mapping[str, np.ndarray]], "FittedModel"]

Assurance = Literal["proven", "reviewed", "experimental"]

NODE_METHODS = (
    "The unit node is taken by profiles (relations with one protected end), by projection (a relation inside "
    "the protected type), and by composed (both under one plan), which auto names"
)


class Accelerator(StrEnum):
    """What a GPU is to a job. USEFUL: it takes minutes without one. NEEDED: it does not end in time."""

    NONE = "none"
    USEFUL = "useful"
    NEEDED = "needed"


class Parameters(BaseModel):
    """Base of every ``Params``: frozen, unknown names refused.

    ``READS`` names the reads that divide a cell's epsilon, each by its parameter ``<read>_share`` but the
    last, which has what the others leave; empty where a method divides otherwise.

    ``RETIRED`` holds what was a parameter once, each with the default that it had and the method still has,
    as stored specs and models write it. Every reading of parameters passes here, so here alone is known what
    is retired: at that value it is left out, at any other it is refused by name.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    READS: ClassVar[tuple[str, ...]] = ()
    RETIRED: ClassVar[Mapping[str, Any]] = {}

    @classmethod
    def retired(cls, given: Mapping[str, Any]) -> Mapping[str, Any]:
        """Return retired parameters, by name, with what replaces them."""
        return cls.RETIRED

    @classmethod
    def in_full(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Write the parameters as before any was retired. So what hashes them hashes them alike."""
        return {**cls.retired(given), **given}

    @classmethod
    def varied(cls, **given: Any) -> Self:
        """Make parameters of which retired ones may be set. For experiments, never for a request."""
        own = {name: given.pop(name) for name in cls.RETIRED if name in given}
        return cls._with(own).model_validate(given) if own else cls.model_validate(given)

    @classmethod
    def _with(cls, constants: Mapping[str, Any]) -> type[Self]:
        return type(cls.__name__, (cls,), {"__module__": cls.__module__, **constants})

    @model_validator(mode="before")
    @classmethod
    def _without_retired(cls, given: Any) -> Any:
        """Leave out what is retired; refuse it by name where it is not as the method has it."""
        if not isinstance(given, dict):
            return given
        retired = cls.retired(given)
        if other := [name for name, kept in retired.items() if given.get(name, kept) != kept]:
            lines = [_retired(name, given[name], retired[name]) for name in other]
            raise ValidationError.from_exception_data(cls.__name__, lines)
        return {name: value for name, value in given.items() if name not in retired}


def _retired(name: str, value: Any, kept: Any) -> InitErrorDetails:
    text = "Retired parameter {name}: the method goes by {kept} and nothing else; leave it out"
    problem = PydanticCustomError("retired_parameter", text, {"name": name, "kept": repr(kept)})
    return InitErrorDetails(type=problem, loc=(name,), input=value)


@dataclass(frozen=True)
class PublicFacts:
    """All that a plan may depend on. ``edge_types``: the protected relations to synthesise.

    ``beside_nano_epsilon``: pure epsilon that every cell may spend on other reads, in addition to
    ``nano_epsilon``. A pure plan has nothing to do with it, as costs add up; the noise of one with a delta is
    solved for with it (:func:`core.methods._shared.frame.plan.besides`). ``tick`` is given for one snapshot
    of a live stream: the schema's grid then has one step, which is step ``tick`` of the stream, and windows
    reach past the grid on both sides. ``accountant`` is the one by which a plan with a delta is calibrated
    and converted; the plan names it.
    """

    schema: GraphSchema
    unit: Unit
    window: int | None
    nano_epsilon: int
    delta_atto: int
    edge_types: tuple[str, ...]
    tick: int | None = None
    accountant: Accountant = Accountant.PRIVACY_LOSS
    beside_nano_epsilon: int = 0

    @property
    def whole_nano_epsilon(self) -> int:
        """What a cell may spend in all."""
        return self.nano_epsilon + self.beside_nano_epsilon


@dataclass(frozen=True)
class Claimed:
    """What a method's paper claims; never a guarantee. Decimal strings; None where it claims none.

    ``source`` says where the claim is made. ``remark`` is what a reader should know in addition: what the
    mechanism's own probabilities give, say.
    """

    epsilon: str | None
    delta: str | None
    source: str
    remark: str | None = None


@dataclass(frozen=True)
class Training:
    """How a model was learned.

    All of it is public or paid for, or of a release without a guarantee.

    ``curves`` maps a name to its values, one for each step or epoch. ``notes`` are sentences for the reader.
    ``collapsed``: whether the generated data are degenerate, None where nothing says so.
    """

    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    collapsed: bool | None = None


@dataclass(frozen=True)
class GraphKinds:
    """The shapes of graph that a method takes. False means refused. ``several``: relations in one fit."""

    static: bool = False
    temporal: bool = False
    heterogeneous: bool = False
    attributed: bool = False
    directed: bool = False
    bipartite: bool = False
    several: bool = True


class Progress(Protocol):
    """A callback that is given a stage's name, and how many of its public steps are done."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...


def no_progress(stage: str, done: int, total: int) -> None:
    """Discard progress."""


class FittedModel(ABC):
    """A fitted private model. It holds paid-for output only, so that drawing from it costs nothing.

    What a model may have besides is answered with nothing, unless it says otherwise.
    """

    @abstractmethod
    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw a synthetic graph."""

    @abstractmethod
    def save(self, folder: Path) -> None:
        """Write Parquet, JSON or safetensors into ``folder``; never pickle."""

    def valued(self, graph: Graph, rng: Rng) -> Graph:
        """Give a graph's nodes what the model sampled for them. Nothing, unless it says otherwise."""
        return graph

    def training(self) -> Training:
        """Tell how the model was learned; the report shows it."""
        return Training()

    def vectors(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return paid-for vectors by name and node type. (n, d) numbers, rows in the universe's order."""
        return {}

    def edge_weights(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """Return the published weights of every sample's pairs, by relation.

        Sorted int64 keys ``low * nodes + high`` of the universe's indices, and a float32 in (0, 1] each;
        empty where samples are plain graphs.
        """
        return {}

    def hidden_links(self) -> SensitiveLinks | None:
        """Return the links that it hid. They are for its curators' comparison: private, never released."""
        return None


class StreamState(Protocol):
    """What one live snapshot hands to the next. It is outputs already paid for, nothing else."""

    def save(self, folder: Path) -> None:
        """Write Parquet, JSON or safetensors into ``folder``; never pickle."""
        ...


class ShardLaw(Protocol):
    """The law that shards are sampled from. All are one graph. Post-processing of a fitted model."""

    @property
    def cells(self) -> Sequence[CellKey]:
        """The relation and step of each cell."""
        ...

    @property
    def sizes(self) -> Sequence[tuple[int, int]]:
        """About how many edges each cell has, and in how many shards it can be sampled at most."""
        ...

    def save(self, folder: Path) -> None:
        """Write it to ``folder``, from which shards are sampled."""
        ...


class Mixing(Protocol):
    """How a method's model gives degrees and takes groups. The groups meet as was read."""

    def ends(self, model: Any) -> Mapping[str, Ends]:
        """Return the paid degrees of every relation, all steps together."""
        ...

    def communities(self, model: Any, relation: str) -> np.ndarray | None:
        """Return the labels that the relation's edges are sampled by.

        They are int64 (n,); None where there are none, or each step has its own.
        """
        ...

    def mixed(
        self, model: Any, groups: Mapping[str, np.ndarray], shares: Mapping[str, np.ndarray]
    ) -> FittedModel:
        """Return the model that samples edges by groups.

        ``groups`` (n,) are of node types, ``shares`` of relations: see
        :class:`core.methods._shared.node_values.fit.Labelled`.
        """
        ...


@dataclass(frozen=True)
class Sharding:
    """How a method reads graphs whose edges stay in parts, and samples shards.

    ``counted``: parameters with which it can, where all others are left out. ``require(params)`` raises
    ``errors.NotAccepted`` with the field to mend for others. ``fit_parts``: the same plan, reads and noise as
    of the same graph in memory. ``shards(model, orders, rng, shard_edges)``: the law of shards of about so
    many edges each; ``orders``, by node type: which node of the model each of the law is. ``draw_shard(law,
    number, shards, folder)``: one shard of a stored law, the same bytes each time, and its cell's pairs.
    ``degrees(model)``, where edges may carry values: by relation, those expected of its nodes in all steps.
    """

    counted: Mapping[str, Any]
    require: Callable[[Any], None]
    fit_parts: Callable[[PrivateParts, PrivacyPlan, Any, Progress], FittedModel]
    shards: Callable[[Any, Mapping[str, np.ndarray], Rng, int], ShardLaw]
    draw_shard: Callable[[Path, int, int, Path], tuple[GraphPart, Slots]]
    degrees: Callable[[Any], Mapping[str, Sequence[np.ndarray]]] | None = None


def no_claim(params: Any, public: PublicFacts) -> Claimed | None:
    """Claim nothing beyond what is computed."""
    return None


def no_reads(
    params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Sequence[PlannedRead]:
    """Name no read beforehand."""
    return ()


def no_more(params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]) -> None:
    """Ask for no more room than the planned reads take."""


def no_evidence(*public: Any) -> Mapping[str, tuple[float, float]]:
    """Follow no bits of pairs."""
    return {}


def no_cautions(*public: Any) -> Sequence[str]:
    """Say nothing beforehand."""
    return ()


def never(params: Any) -> bool:
    """Carry nothing but bare edges."""
    return False


def nothing_of(plan: PrivacyPlan) -> PrivacyPlan:
    """Return the plan without its reads."""
    return replace(plan, allotments=())


@dataclass(frozen=True, kw_only=True)
class Method:
    """One synthesis method.

    What it is, what it takes, and how it plans, fits and loads. Importing a method needs neither torch nor
    numba: heavy imports stand inside functions or in inner files.

    ``module``: where it is described, for its page. ``needs``: libraries, as they are imported, that its fits
    and samples use beyond the engine's own. ``hides_links``: it hides links that curators name.

    Of public facts only, no data and no heavy import; ``nodes`` are the sizes of the universes:

    ``plan(params, public)``: what a job costs; deterministic.
    ``claim(params, public)``: what the paper claims where a form has no guarantee; None where that is
    computed.
    ``planned_reads(params, plan, schema, nodes)``: the reads that the fit of such a plan makes whatever it
    finds, each at its least cost. A read that only some fits make, or whose share depends on earlier answers
    without a least one, is left out.
    ``require_room`` of the same: raises ``errors.NotAccepted``, with the field to mend, where a read at its
    largest may not be made.
    ``true_shares`` of the same: by relation, the least and most expected share of true edges among those
    released, where noisy bits of single pairs are followed.
    ``cautions`` of the same: sentences on what a release will not tell, for the plan and the report.
    ``accelerator(params, public, nodes)``: what a GPU is to a job; None where none of its jobs gains.
    ``carries(params)``, ``carries_nodes(params)``: whether a sample has what edges, or nodes, are declared
    to carry; ``values_plan(plan)``, ``node_values_plan(plan)``: the part that reads it.

    ``fit(graph, plan, params, progress)`` reads the graph through the metered session only, within the plan.
    ``load(folder)`` reads what :meth:`FittedModel.save` wrote.
    ``step(graph, plan, params, state, progress)`` fits one snapshot of a live stream, under w-event privacy:
    its model, and what the next one may know, None where that is nothing. Graph and plan have one step, of
    stream step ``plan.first_step``. ``state`` is the folder that the last published snapshot's state was
    saved to; None for the first. Snapshots may be missing. None: it publishes no live streams.
    ``resume(checkpoint, progress)`` goes on with a fit that was given ``checkpoint``; None: it cannot.
    ``sharding``: None where edges are read together.
    ``resize(model, origins)``: the model of bare edges over other nodes, each of which repeats one of the
    model's: ``origins`` (n,) by node type, their indices. None: it draws over the fitted nodes only.
    ``mixing()``: how its model takes groups of nodes; None where it does not draw by groups.
    ``meets_by_rows``: under unit node its model takes groups of persons, and pays itself for how they meet
    (:class:`core.methods._shared.composition.persons.Meeting`).
    """

    module: str
    name: str
    title: str
    summary: str
    assurance: Assurance
    Params: type[Parameters]
    accepts: GraphKinds
    units: frozenset[Unit]
    kinds: frozenset[GuaranteeKind]

    plan: Callable[[Any, PublicFacts], PrivacyPlan]
    fit: Callable[..., Any]
    load: Callable[[Path], Any]

    needs: tuple[str, ...] = ()
    hides_links: bool = False
    meets_by_rows: bool = False
    claim: Callable[[Any, PublicFacts], Claimed | None] = no_claim
    planned_reads: Callable[[Any, PrivacyPlan, GraphSchema, Mapping[str, int]], Sequence[PlannedRead]] = (
        no_reads
    )
    require_room: Callable[[Any, PrivacyPlan, GraphSchema, Mapping[str, int]], None] = no_more
    true_shares: Callable[
        [Any, PrivacyPlan, GraphSchema, Mapping[str, int]], Mapping[str, tuple[float, float]]
    ] = no_evidence
    cautions: Callable[[Any, PrivacyPlan, GraphSchema, Mapping[str, int]], Sequence[str]] = no_cautions
    accelerator: Callable[[Any, PublicFacts, Mapping[str, int]], Accelerator] | None = None
    carries: Callable[[Any], bool] = never
    values_plan: Callable[[PrivacyPlan], PrivacyPlan] = nothing_of
    carries_nodes: Callable[[Any], bool] = never
    carries_vectors: Callable[[Any], bool] = never
    node_values_plan: Callable[[PrivacyPlan], PrivacyPlan] = nothing_of
    step: Callable[..., tuple[Any, StreamState | None]] | None = None
    resume: Callable[[Path, Progress], Any] | None = None
    sharding: Sharding | None = None
    resize: Resize | None = None
    mixing: Callable[[], Mixing] | None = None

    def accelerated(self, params: Any, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
        """Tell what a GPU is to a job. It is nothing, unless the method says otherwise."""
        return Accelerator.NONE if self.accelerator is None else self.accelerator(params, public, nodes)

    def synthesised(self, params: Any) -> dict[str, bool]:
        """Tell what a release has: values of edges and nodes.

        They are ``values`` of edges, ``node_values``, and of those ``vectors`` too.
        """
        return {
            "values": self.carries(params),
            "node_values": self.carries_nodes(params),
            "vectors": self.carries_vectors(params),
        }


def checked(
    plan: Callable[[Any, PublicFacts], PrivacyPlan], also: Callable[[Any, PublicFacts, PrivacyPlan], None]
) -> Callable[[Any, PublicFacts], PrivacyPlan]:
    """Return ``plan`` with what ``also`` refuses of its plans. Their docstrings are one."""

    def both(params: Any, public: PublicFacts) -> PrivacyPlan:
        made = plan(params, public)
        also(params, public, made)
        return made

    both.__doc__ = "\n\n".join(cleandoc(function.__doc__ or "") for function in (also, plan))
    return both


def require_accepted(method: Method, public: PublicFacts) -> None:
    """Check that ``method`` takes such relations, unit and budget.

    It declares what protected relations, unit and budget it takes. Raises ``errors.NotAccepted`` with the
    field to mend. Reads public facts only.
    """
    if public.unit not in method.units:
        known = ", ".join(sorted(method.units))
        other = f". {NODE_METHODS}" if public.unit is Unit.NODE else ""
        raise errors.NotAccepted(f"{method.name} supports the units {known}{other}", field="unit")
    if not public.unit.takes(temporal=public.schema.temporal):
        raise errors.NotAccepted(TIMES, field="unit")
    require_persons(public.schema, public.unit)
    if public.unit is Unit.W_EVENT and (public.window is None or public.window < 1):
        raise errors.NotAccepted("the unit w-event needs a window of at least one step", field="window")
    if public.tick is not None:
        _require_stream(method, public)
    if public.nano_epsilon < 1:
        raise errors.NotAccepted("epsilon must be positive", field="epsilon")
    if not public.edge_types:
        raise errors.NotAccepted("there is no protected relation to synthesise", field="edge_types")
    if len(set(public.edge_types)) != len(public.edge_types):
        raise errors.NotAccepted("a relation is named twice", field="edge_types")
    if len(public.schema.node_types) > 1 and not method.accepts.heterogeneous:
        raise errors.NotAccepted(f"{method.name} takes graphs of one node type", field="schema.node_types")
    for name in public.edge_types:
        _require_relation(method, public, name)


def _require_stream(method: Method, public: PublicFacts) -> None:
    if method.step is None:
        raise errors.NotAccepted(f"{method.name} does not publish live streams", field="method")
    if public.unit is not Unit.W_EVENT:
        raise errors.NotAccepted("a live stream is published under unit w-event", field="unit")
    if public.schema.steps != 1 or not all(public.schema.edge_type(n).temporal for n in public.edge_types):
        raise errors.NotAccepted("a snapshot of a stream has one step and timed relations", field="schema")


def _require_relation(method: Method, public: PublicFacts, name: str) -> None:
    kinds = method.accepts
    declared: Mapping[str, Any] = {relation.name: relation for relation in public.schema.edge_types}
    if name not in declared:
        raise errors.NotAccepted(f"no relation named {name!r} is declared", field="edge_types")
    relation, field = declared[name], f"schema.edge_types.{name}"
    if relation.public:
        raise errors.NotAccepted(f"{name!r} is public and is not synthesised", field=field)
    checks = (
        (relation.homogeneous or kinds.bipartite, "relations between nodes of one type only"),
        (not (relation.homogeneous and relation.directed) or kinds.directed, "undirected relations only"),
        (not relation.temporal or kinds.temporal, "relations without time only"),
        (relation.temporal or kinds.static, "relations with time only"),
    )
    for passed, what in checks:
        if not passed:
            raise errors.NotAccepted(f"{method.name} takes {what}; {name!r} is not", field=field)
