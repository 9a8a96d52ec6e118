"""What a generator is: the interface that every synthesis method implements.

A module or package beside this file that binds ``GENERATOR`` is discovered by the registry; nothing else has
to change. The object must be complete (see ``registry.refusals``), and importing its module must need neither
torch nor numba nor the graph libraries: heavy imports stand inside functions or in inner files.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol, runtime_checkable

from pydantic import BaseModel, ConfigDict

from core import errors
from core.graphs.schema import GraphSchema
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.persons import TIMES, require_persons
from core.privacy.units import Unit

if TYPE_CHECKING:
    import numpy as np

    from core.graphs.graph import Graph
    from core.graphs.schema.partable import Part as GraphPart
    from core.graphs.views.sensitive import SensitiveLinks
    from core.privacy.accounting.plan import GuaranteeKind, PlannedRead, PrivacyPlan
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.counted import PrivateParts
    from core.privacy.session.private_graph import PrivateGraph

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
    """

    model_config = ConfigDict(frozen=True, extra="forbid")
    READS: ClassVar[tuple[str, ...]] = ()


@dataclass(frozen=True)
class PublicFacts:
    """All that a plan may depend on. ``edge_types``: the protected relations to synthesise.

    ``beside_nano_epsilon``: pure epsilon that every cell may spend on other reads, beside ``nano_epsilon``. A
    pure plan has nothing to do with it, as costs add up; the noise of one with a delta is solved for with it
    (:func:`core.methods._shared.frame.plan.besides`).
    ``tick`` is given for one snapshot of a live stream: the schema's grid then has one step, which is step
    ``tick`` of the stream, and windows reach past the grid on both sides. ``accountant`` is the one by which
    a plan with a delta is calibrated and converted; the plan names it.
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

    ``source`` says where the claim is made. ``remark`` is what a reader should know beside it: what the
    mechanism's own probabilities give, say.
    """

    epsilon: str | None
    delta: str | None
    source: str
    remark: str | None = None


@dataclass(frozen=True)
class Training:
    """How a model was learned; all of it public or paid for, or of a release without a guarantee.

    ``curves`` maps a name to its values, one for each step or epoch. ``notes`` are sentences for the reader.
    ``collapsed``: whether the generated data are degenerate, None where nothing says so.
    """

    curves: Mapping[str, Sequence[float]] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    collapsed: bool | None = None


@dataclass(frozen=True)
class GraphKinds:
    """The shapes of graph that a method takes; False means refused. ``several``: relations in one fit."""

    static: bool = False
    temporal: bool = False
    heterogeneous: bool = False
    attributed: bool = False
    directed: bool = False
    bipartite: bool = False
    several: bool = True


class Progress(Protocol):
    """Called with public numbers only: a stage name and how many of its public steps are done."""

    def __call__(self, stage: str, done: int, total: int) -> None: ...


def no_progress(stage: str, done: int, total: int) -> None:
    """Discard progress."""


@runtime_checkable
class FittedModel(Protocol):
    """A fitted private model. It holds paid-for output only, so that drawing from it costs nothing."""

    def sample(self, rng: Rng, progress: Progress) -> Graph: ...

    def save(self, folder: Path) -> None:
        """Write Parquet, JSON or safetensors into ``folder``; never pickle."""
        ...


@runtime_checkable
class LearnedModel(FittedModel, Protocol):
    """A fitted model that tells how it was learned; the report shows it."""

    def training(self) -> Training: ...


@runtime_checkable
class VectorModel(FittedModel, Protocol):
    """A fitted model that has vectors of nodes to release beside its graph."""

    def vectors(self) -> Mapping[str, Mapping[str, np.ndarray]]:
        """Return paid-for output by name and node type: (n, d) numbers, rows in the universe's order."""
        ...


def training_of(model: FittedModel) -> Training:
    """Return how the model was learned; nothing where nothing is told."""
    return model.training() if isinstance(model, LearnedModel) else Training()


def vectors_of(model: FittedModel) -> Mapping[str, Mapping[str, np.ndarray]]:
    """Return what the model has to release beside its graph; often nothing."""
    return model.vectors() if isinstance(model, VectorModel) else {}


class StreamState(Protocol):
    """What one snapshot of a live stream hands to the next: outputs already paid for, nothing else."""

    def save(self, folder: Path) -> None:
        """Write Parquet, JSON or safetensors into ``folder``; never pickle."""
        ...


@runtime_checkable
class Generator(Protocol):
    """One synthesis method.

    Plain class attributes will do for the properties. ``plan`` sees no data, needs no heavy import and is
    deterministic. ``fit`` reads the graph through the
    metered session only, within the plan. ``load`` reads what ``FittedModel.save`` wrote.
    """

    @property
    def name(self) -> str: ...

    @property
    def title(self) -> str: ...

    @property
    def summary(self) -> str: ...

    @property
    def assurance(self) -> Assurance: ...

    @property
    def Params(self) -> type[BaseModel]: ...

    @property
    def accepts(self) -> GraphKinds: ...

    @property
    def units(self) -> frozenset[Unit]: ...

    @property
    def kinds(self) -> frozenset[GuaranteeKind]: ...

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan: ...

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> FittedModel: ...

    def load(self, folder: Path) -> FittedModel: ...


@runtime_checkable
class ClaimingGenerator(Generator, Protocol):
    """A method that may run without a guarantee, and whose paper claims one all the same."""

    def claim(self, params: Any, public: PublicFacts) -> Claimed | None:
        """Return what is claimed for these parameters; None where the guarantee is computed. Sees no data."""
        ...


@runtime_checkable
class PlanningGenerator(Generator, Protocol):
    """A method that names its reads before it has a graph."""

    def planned_reads(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Sequence[PlannedRead]:
        """Return the reads that the fit of such a plan makes whatever it finds, each at its least cost.

        Of public facts alone; ``nodes``: the sizes of the universes. A read that only some fits make, or
        whose share depends on earlier answers without a least one, is left out.
        """
        ...


@runtime_checkable
class RoomyGenerator(Generator, Protocol):
    """A method whose reads may be more than its planned ones say."""

    def require_room(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> None:
        """Check that every read of the plan's fit, at its largest, is one that may be made.

        Of public facts alone; ``nodes``: the sizes of the universes. Raises ``errors.NotAccepted`` with the
        field to mend.
        """
        ...


@runtime_checkable
class EvidenceGenerator(Generator, Protocol):
    """A method whose graphs follow noisy bits of single pairs, and so repeat true edges."""

    def true_shares(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Mapping[str, tuple[float, float]]:
        """Return, by relation, the least and most expected share of true edges among those released.

        Of public facts alone; ``nodes``: the sizes of the universes. Relations without such bits are left
        out.
        """
        ...


@runtime_checkable
class ValuesGenerator(Generator, Protocol):
    """A method that may synthesise what edges carry, beside the edges themselves."""

    def carries(self, params: Any) -> bool:
        """Tell whether these parameters ask for it: then all that the schema declares is in every sample."""
        ...

    def values_plan(self, plan: PrivacyPlan) -> PrivacyPlan:
        """Return the part of the plan that reads what edges carry; the rest reads edges alone."""
        ...


@runtime_checkable
class NodeValuesGenerator(Generator, Protocol):
    """A method that may synthesise protected attributes of nodes, together with the edges."""

    def carries_nodes(self, params: Any) -> bool:
        """Tell whether these parameters ask for it: then every sample has all that may be synthesised."""
        ...

    def node_values_plan(self, plan: PrivacyPlan) -> PrivacyPlan:
        """Return the part of the plan that reads node attributes; the rest does not."""
        ...


@runtime_checkable
class AcceleratedGenerator(Generator, Protocol):
    """A method of whose jobs some gain from a GPU; those of any other method never do."""

    def accelerator(self, params: Any, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
        """Tell what a GPU is to such a job. Of public facts alone; ``nodes``: the sizes of the universes."""
        ...


@runtime_checkable
class LinkHidingGenerator(Generator, Protocol):
    """A method that hides links which are named to it: the curators' list of sensitive links."""

    hides_links: ClassVar[bool]


@runtime_checkable
class ShardedGenerator(Generator, Protocol):
    """A method that may read a graph whose edges stay in parts, and whose graphs may be drawn in shards."""

    counted: ClassVar[Mapping[str, Any]]
    """Parameters with which it can, where all others are left out."""

    def require_shards(self, params: Any) -> None:
        """Check that it can with these parameters; ``errors.NotAccepted`` with the field to mend."""
        ...

    def fit_parts(
        self, graph: PrivateParts, plan: PrivacyPlan, params: Any, progress: Progress
    ) -> FittedModel:
        """Fit a graph in parts: the same plan, reads and noise as of the same graph in memory."""
        ...

    def shards(self, model: Any, order: np.ndarray, rng: Rng, shard_edges: int) -> ShardLaw:
        """Make the law of a model's shards, of about so many edges each.

        ``order`` (n,): which node of the model each node of the law is.
        """
        ...

    def draw_shard(self, law: Path, number: int, shards: int, folder: Path) -> GraphPart:
        """Draw one of so many shards of a stored law into ``folder``: the same bytes each time."""
        ...


class ShardLaw(Protocol):
    """What shards are drawn from: all of them together are one graph. Post-processing of a fitted model."""

    @property
    def edges(self) -> int:
        """About how many edges the graph has."""
        ...

    @property
    def most_shards(self) -> int:
        """In how many shards it can be drawn at most."""
        ...

    def save(self, folder: Path) -> None:
        """Write it to ``folder``, from which shards are drawn."""
        ...


@runtime_checkable
class WeightedModel(FittedModel, Protocol):
    """A fitted model that may publish its pairs with weights, all of them in every sample."""

    def edge_weights(self) -> Mapping[str, tuple[np.ndarray, np.ndarray]]:
        """Return, by relation, sorted int64 keys ``low * nodes + high`` of the universe's indices, and a
        float32 in (0, 1] each; empty where samples are plain graphs."""
        ...


@runtime_checkable
class LinkHidingModel(FittedModel, Protocol):
    """A fitted model that keeps the links it hid, for its curators' comparison: private, never released."""

    hidden: SensitiveLinks


@runtime_checkable
class StreamGenerator(Generator, Protocol):
    """A method that can publish a live stream, one snapshot at a time, under w-event privacy."""

    def step(
        self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, state: Path | None, progress: Progress
    ) -> tuple[FittedModel, StreamState | None]:
        """Fit one snapshot; return its model and what the next one may know, None where that is nothing.

        ``graph`` and ``plan`` have one step, of stream step ``plan.first_step``. ``state`` is the folder that
        the last published snapshot's state was saved to; None for the first. Snapshots may be missing.
        """
        ...


def accelerator_of(
    generator: Generator, params: Any, public: PublicFacts, nodes: Mapping[str, int]
) -> Accelerator:
    """Tell what a GPU is to a job: nothing, unless the method says otherwise. Of public facts alone."""
    asked = getattr(generator, "accelerator", None)  # by name: to ask its protocol takes as long as a plan
    return Accelerator.NONE if asked is None else Accelerator(asked(params, public, nodes))


def needs_of(generator: Generator) -> tuple[str, ...]:
    """Name the libraries, as they are imported, that its fits and samples use beyond the engine's own."""
    return tuple(getattr(generator, "needs", ()))


def carries_values(generator: Generator, params: Any) -> bool:
    """Tell whether the edges of a release by ``generator`` carry what the schema declares."""
    asked = getattr(generator, "carries", None)
    return asked is not None and asked(params)


def carries_node_values(generator: Generator, params: Any) -> bool:
    """Tell whether nodes of a release by ``generator`` carry synthetic values of protected attributes."""
    asked = getattr(generator, "carries_nodes", None)
    return asked is not None and asked(params)


def synthesised_by(generator: Generator, params: Any) -> dict[str, bool]:
    """Tell what a release by ``generator`` has beside bare edges: ``values`` of edges, ``node_values``."""
    return {
        "values": carries_values(generator, params),
        "node_values": carries_node_values(generator, params),
    }


def require_accepted(generator: Generator, public: PublicFacts) -> None:
    """Check that protected relations, unit and budget are of a sort that ``generator`` declares to take.

    Raises ``errors.NotAccepted`` with the field to mend. Reads public facts only.
    """
    if public.unit not in generator.units:
        known = ", ".join(sorted(generator.units))
        other = f". {NODE_METHODS}" if public.unit is Unit.NODE else ""
        raise errors.NotAccepted(f"{generator.name} supports the units {known}{other}", field="unit")
    if not public.unit.takes(temporal=public.schema.temporal):
        raise errors.NotAccepted(TIMES, field="unit")
    require_persons(public.schema, public.unit)
    if public.unit is Unit.W_EVENT and (public.window is None or public.window < 1):
        raise errors.NotAccepted("the unit w-event needs a window of at least one step", field="window")
    if public.tick is not None:
        _require_stream(generator, public)
    if public.nano_epsilon < 1:
        raise errors.NotAccepted("epsilon must be positive", field="epsilon")
    if not public.edge_types:
        raise errors.NotAccepted("there is no protected relation to synthesise", field="edge_types")
    if len(set(public.edge_types)) != len(public.edge_types):
        raise errors.NotAccepted("a relation is named twice", field="edge_types")
    if len(public.schema.node_types) > 1 and not generator.accepts.heterogeneous:
        raise errors.NotAccepted(f"{generator.name} takes graphs of one node type", field="schema.node_types")
    for name in public.edge_types:
        _require_relation(generator, public, name)


def _require_stream(generator: Generator, public: PublicFacts) -> None:
    if not isinstance(generator, StreamGenerator):
        raise errors.NotAccepted(f"{generator.name} does not publish live streams", field="method")
    if public.unit is not Unit.W_EVENT:
        raise errors.NotAccepted("a live stream is published under unit w-event", field="unit")
    if public.schema.steps != 1 or not all(public.schema.edge_type(n).temporal for n in public.edge_types):
        raise errors.NotAccepted("a snapshot of a stream has one step and timed relations", field="schema")


def _require_relation(generator: Generator, public: PublicFacts, name: str) -> None:
    kinds = generator.accepts
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
            raise errors.NotAccepted(f"{generator.name} takes {what}; {name!r} is not", field=field)
