"""Stages: what a method samples in addition to edges.

Each is paid for with its own share of an edge's epsilon. A stage says what its share is called, what it adds
to the plan, and what is paid for once the structure's model is fitted. :func:`staged` makes of a method of
edges one with stages: the first named is the outermost, so that it takes its share of epsilon first and pays
last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from core import errors
from core.graphs.schema import GraphSchema
from core.late import late
from core.methods._shared.frame.heeded import Idle, require_heeded
from core.methods.base import Accelerator, FittedModel, Method, Progress, PublicFacts, StreamState
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import Allotment, GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.units import Unit

if TYPE_CHECKING:
    import numpy as np

    from core.methods._shared.frame.model import StoredCells
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.counted import PrivateParts
    from core.privacy.session.private_graph import PrivateGraph

_load_stored = late("core.methods._shared.frame.model:load_stored")


class Share(Protocol):
    """A stage's share of epsilon, from public facts.

    It is a module of the stage's own.

    ``FIELD``: the parameter that names it, 0 for none. ``PURPOSE``: that of its allotments.
    """

    FIELD: str
    PURPOSE: str

    def why_idle(self, public: PublicFacts) -> str | None:
        """Say why no share of epsilon could change anything. None where it does."""
        ...

    def require_synthesised(self, public: PublicFacts) -> None:
        """Raise NotAccepted for graphs of which it is not synthesised. It names the field to mend."""
        ...

    def allotments(
        self, public: PublicFacts, nano_epsilon: int, structure: Sequence[Allotment]
    ) -> list[Allotment]:
        """List the allotments that the stage adds to those of a ``structure``. A unit may spend
        ``nano_epsilon`` on them."""
        ...


class Stage(ABC):
    """What is paid for in addition to edges.

    ``share``: what it spends. ``folder``: where a model keeps what it paid for. ``subject``: what it
    synthesises, in words. ``beside_delta``: whether it goes with structures that spend a delta.
    """

    share: ClassVar[Share]
    folder: ClassVar[str]
    subject: ClassVar[str]
    beside_delta: ClassVar[bool] = False

    @property
    def field(self) -> str:
        """The parameter that names its share of epsilon."""
        return self.share.FIELD

    @property
    def purpose(self) -> str:
        """What its allotments are for."""
        return self.share.PURPOSE

    def require_synthesised(self, public: PublicFacts) -> None:
        """Raise NotAccepted for graphs of which it is not synthesised. It names the field to mend."""
        self.share.require_synthesised(public)

    @abstractmethod
    def described(self, method: Method) -> Method:
        """Add to the method what the stage releases."""

    def plan_of(self, plan: PrivacyPlan) -> PrivacyPlan:
        """Return the part of the plan that it pays for."""
        return plan.only(self.purpose)

    @abstractmethod
    def paid(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
    ) -> FittedModel:
        """Pay for its reads, at the cost of its ``plan``.

        That is its own, and an upper limit; returned is the model with what was measured.
        """

    def paid_in_parts(
        self,
        method: str,
        model: Any,
        graph: PrivateParts,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
        degrees: Callable[[], Mapping[str, Sequence[np.ndarray]]],
    ) -> FittedModel:
        """Pay for the reads of a graph in parts, as :meth:`paid` does. ``degrees``: see :class:`Sharding`."""
        return self.paid(method, model, graph, plan, params, progress)  # type: ignore[arg-type]  # reads alike

    def laws(self, model: Any, laws: Any, orders: Mapping[str, np.ndarray], rng: Rng) -> Any:
        """Add what shards sample of it to the laws of edges. Nothing, unless it says otherwise."""
        return laws

    def stepped(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        state: Path | None,
        progress: Progress,
    ) -> tuple[FittedModel, StreamState | None]:
        """Pay for one live snapshot's reads, as :meth:`paid` does.

        Returned too is what the next one may know.

        ``state``: what the one before it left, where it did.
        """
        return self.paid(method, model, graph, plan, params, progress), None

    @abstractmethod
    def restored(self, model: Any, stored: StoredCells) -> FittedModel:
        """Restore the structure's model and the stage's stored tables. The model was read from a folder."""

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List the reads that every fit of such a plan makes.

        The plan is of its own alone; see :class:`Method`.
        """
        return ()

    def require_room(self, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]) -> None:
        """Raise NotAccepted where a read exceeds what may be read. It is a read of its own ``plan``."""
        return

    def asked(self, params: Any) -> bool:
        """Tell whether the parameters set a share aside for it."""
        return bool(getattr(params, self.field) > 0)

    def spends(self, params: Any, public: PublicFacts) -> int:
        """Return a unit's spending on it, in nano-epsilon. That is not all."""
        return spent_on(public, getattr(params, self.field))

    def planned(
        self, edges: PrivacyPlan, structure: PrivacyPlan, params: Any, public: PublicFacts
    ) -> PrivacyPlan:
        """Add its reads to the plan of the structure, which is that of ``edges`` and of stages before it.

        That was made of what it leaves of epsilon. Costs of two pure plans add up at most, whatever the unit.
        A structure with a delta has solved for its noise with the stage's epsilon in the cell
        (:func:`core.methods._shared.frame.plan.besides`), so that the accountant's conversion of both
        together keeps to the job's epsilon and delta: under EDGE and EVENT, where that is one cell's, and
        under NODE, where it is the whole graph's. Raises NotAccepted where the share could change nothing, or
        for a structure that it cannot go with.
        """
        idle = self.share.why_idle(public)
        require_heeded(params, [Idle((self.field,), idle)] if idle else [])
        self.require_synthesised(public)
        self._require_metered(edges)
        added = self.share.allotments(public, self.spends(params, public), structure.allotments)
        whole = (*structure.allotments, *added)
        if all(pure_nano_epsilon(each.event) is not None for each in added):
            return replace(structure, allotments=whole)
        return replace(
            structure, allotments=whole, delta_atto=public.delta_atto, accountant=public.accountant
        )

    def _require_metered(self, structure: PrivacyPlan) -> None:
        """Raise NotAccepted for a structure that has no guarantee, or a delta that the stage cannot bear."""
        if structure.kind is GuaranteeKind.NONE:
            raise errors.NotAccepted(
                f"{self.subject} paid for out of epsilon, and with these parameters {structure.method} reads "
                f"the raw graph and has no guarantee: nothing could be set aside; leave {self.field} out, or "
                "choose parameters with a guarantee",
                field=self.field,
            )
        cell = structure.unit in (Unit.EDGE, Unit.EVENT)
        converted = (self.beside_delta and cell) or structure.unit is Unit.NODE
        if structure.kind is not GuaranteeKind.PURE and not converted:
            raise errors.NotAccepted(
                f"{self.subject} paid for in pure epsilon, not beside parameters that spend a delta; leave "
                f"out {self.field}, or them",
                field=self.field,
            )


def staged(edges: Method, *stages: Stage) -> Method:
    """Add ``stages`` to a method of edges, the outermost first."""
    whole = Staged(edges, stages)

    @wraps(edges.plan)
    def plan(params: Any, public: PublicFacts) -> PrivacyPlan:
        return whole.plan(params, public)

    accelerator = None
    if edges.accelerator is not None:

        @wraps(edges.accelerator)
        def accelerator(params: Any, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
            return edges.accelerated(params, whole.facts(params, public)[-1], nodes)

    made = replace(
        edges,
        plan=plan,
        fit=whole.fit,
        load=whole.load,
        planned_reads=whole.planned_reads,
        require_room=whole.require_room,
        true_shares=whole.true_shares,
        cautions=whole.cautions,
        accelerator=accelerator,
        step=None if edges.step is None else whole.step,
        sharding=None
        if edges.sharding is None
        else replace(edges.sharding, fit_parts=whole.fit_parts, shards=whole.shards),
    )
    for stage in stages:
        made = stage.described(made)
    return made


@dataclass(frozen=True)
class Staged:
    """A method of edges, and what else is paid for."""

    edges: Method
    stages: tuple[Stage, ...]

    def asked(self, params: Any) -> list[Stage]:
        """List the requested stages, in the order in which they pay.

        The parameters set shares aside for them.
        """
        return [each for each in reversed(self.stages) if each.asked(params)]

    def facts(self, params: Any, public: PublicFacts) -> list[PublicFacts]:
        """Return the facts that stages and edges are planned with.

        There is one for each requested stage, and last that of edges.
        """
        facts = [public]
        for stage in reversed(self.asked(params)):
            # Outermost first: a stage's share is of what those outside it leave.
            facts.append(beside(facts[-1], stage.spends(params, facts[-1])))
        return facts

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Plan the stages' reads, and edges with what they leave. Their shares are of epsilon."""
        *facts, own = self.facts(params, public)
        # Edges are planned with what is left; stages then add theirs from the inside out.
        edges = plan = self.edges.plan(params, own)
        for stage in self.asked(params):
            plan = stage.planned(edges, plan, params, facts.pop())
        return plan

    def planned_reads(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Sequence[PlannedRead]:
        """Return the reads of edges and of the stages.

        Those of edges are from what the plan leaves for them.
        """
        reads = [*self.edges.planned_reads(params, self._of_edges(plan), schema, nodes)]
        for stage in self.asked(params):
            reads += stage.planned_reads(stage.plan_of(plan), schema)
        return reads

    def require_room(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> None:
        """Check the method of edges and the stages for room. Edges have what the plan leaves for them."""
        self.edges.require_room(params, self._of_edges(plan), schema, nodes)
        for stage in reversed(self.asked(params)):
            stage.require_room(stage.plan_of(plan), schema, nodes)

    def true_shares(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Mapping[str, tuple[float, float]]:
        """Compute them of the edges' part of the plan. What stages read says nothing of pairs."""
        return self.edges.true_shares(params, self._of_edges(plan), schema, nodes)

    def cautions(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Sequence[str]:
        """Return what the method of edges says beforehand of its part of the plan."""
        return self.edges.cautions(params, self._of_edges(plan), schema, nodes)

    def _of_edges(self, plan: PrivacyPlan) -> PrivacyPlan:
        return plan.without(*(each.purpose for each in self.stages))

    def fit(
        self,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
        checkpoint: Path | None = None,
    ) -> Any:
        """Fit the edges, then pay for each requested stage.

        It costs what the plan does at most.

        ``checkpoint``, of a method that trains, keeps what ``resume`` goes on from. NotAccepted with stages:
        they pay after the training, and going on reads nothing.
        """
        asked = self.asked(params)
        if checkpoint is not None:
            if asked:
                raise errors.NotAccepted(
                    f"{asked[-1].subject} read once the edges are learned, and a fit that goes on reads "
                    f"nothing: leave out {asked[-1].field}, or the checkpoint",
                    field="checkpoint",
                )
            return self.edges.fit(graph, self._of_edges(plan), params, progress, checkpoint=checkpoint)
        model = self.edges.fit(graph, self._of_edges(plan), params, progress)
        for stage in asked:
            model = stage.paid(self.edges.name, model, graph, stage.plan_of(plan), params, progress)
        return model

    def fit_parts(self, graph: PrivateParts, plan: PrivacyPlan, params: Any, progress: Progress) -> Any:
        """Fit edges in parts, then pay for each requested stage. It costs what the plan does at most."""
        assert self.edges.sharding is not None
        self.edges.sharding.require(params)
        model = edges = self.edges.sharding.fit_parts(graph, self._of_edges(plan), params, progress)
        for stage in self.asked(params):
            assert self.edges.sharding.degrees is not None  # as stages are of edges that may carry values
            own, degrees = stage.plan_of(plan), partial(self.edges.sharding.degrees, edges)
            model = stage.paid_in_parts(self.edges.name, model, graph, own, params, progress, degrees)
        return model

    def shards(self, model: Any, orders: Mapping[str, np.ndarray], rng: Rng, shard_edges: int) -> Any:
        """Make the law of the shards: of edges, and of what stages add to it, the outermost last."""
        assert self.edges.sharding is not None
        held = [model]
        # Models are wrapped as they were paid for: the outermost stage is met first.
        while hasattr(held[-1], "structure"):
            held.append(held[-1].structure)
        edges = held.pop()
        laws = self.edges.sharding.shards(edges, orders, rng, shard_edges)
        # Innermost first, as they were paid.
        for stage, own in zip(self.asked(edges.params), reversed(held), strict=True):
            laws = stage.laws(own, laws, orders, rng)
        return laws

    def step(
        self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, state: Path | None, progress: Progress
    ) -> tuple[Any, StreamState | None]:
        """Fit one snapshot, then pay for each requested stage. It costs what the plan does at most."""
        assert self.edges.step is not None
        alone = params.model_copy(update={each.field: 0 for each in self.stages})
        model, left = self.edges.step(graph, self._of_edges(plan), alone, state, progress)
        parts: dict[str, StreamState] = {}
        for stage in self.asked(params):
            before = None if state is None else state / stage.folder
            held = before if before is not None and before.is_dir() else None
            own_plan = stage.plan_of(plan)
            model, own = stage.stepped(self.edges.name, model, graph, own_plan, params, held, progress)
            if own is not None:
                parts[stage.folder] = own
        return model, StagedState(left, parts) if parts else left

    def load(self, folder: Path) -> Any:
        """Read the model that its ``save`` wrote."""
        model = self.edges.load(folder)
        for stage in reversed(self.stages):
            if (folder / stage.folder).exists():
                stored = _load_stored(folder / stage.folder, self.edges.name, self.edges.Params)
                model = stage.restored(model, stored)
        return model


def spent_on(public: PublicFacts, share: float) -> int:
    """Compute a share of a cell's epsilon, in nano-epsilon. It is at least 1, and not all."""
    return max(1, int(public.nano_epsilon * share))


def beside(public: PublicFacts, spent: int) -> PublicFacts:
    """Return the facts left after ``spent`` on other reads. They go off every cell, in nano-epsilon."""
    return replace(
        public,
        nano_epsilon=public.nano_epsilon - spent,
        beside_nano_epsilon=public.beside_nano_epsilon + spent,
    )


@dataclass(frozen=True)
class StagedState:
    """The state of a snapshot's structure and stages. Each stage has a folder of its own."""

    structure: StreamState | None
    parts: Mapping[str, StreamState]

    def save(self, folder: Path) -> None:
        """Write all of it to ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.structure is not None:
            self.structure.save(folder)
        for name, part in self.parts.items():
            part.save(folder / name)
