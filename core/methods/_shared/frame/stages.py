"""Stages: what a method draws beside bare edges, each paid for with its own share of an edge's epsilon.

A stage says what its share is called, what it adds to the plan, and what is paid for once the structure's
model is fitted. :class:`Staged` stands before a method's own class and wraps it in all stages that are asked
for: the first named is the outermost, so that it takes its share of epsilon first and pays last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from core import errors
from core.methods._shared.frame.heeded import Idle, require_heeded
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.units import Unit

if TYPE_CHECKING:
    from core.graphs.schema import GraphSchema
    from core.methods._shared.frame.model import StoredCells
    from core.methods.base import (
        Accelerator,
        FittedModel,
        Parameters,
        Progress,
        PublicFacts,
        StreamState,
    )
    from core.privacy.accounting.plan import Allotment, PlannedRead, PrivacyPlan
    from core.privacy.session.private_graph import PrivateGraph

    class Structure:
        """A method's own class, which draws edges."""

        name: ClassVar[str]
        Params: ClassVar[type[Parameters]]

        def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan: ...
        def planned_reads(
            self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
        ) -> Sequence[PlannedRead]: ...
        def true_shares(
            self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
        ) -> Mapping[str, tuple[float, float]]: ...
        def accelerator(self, params: Any, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator: ...

        fit: Callable[..., Any]

        def step(
            self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, state: Path | None, progress: Progress
        ) -> tuple[Any, Any]: ...
        def load(self, folder: Path) -> Any: ...
else:
    Structure = object


class Share(Protocol):
    """A stage's share of epsilon, from public facts: a module of the stage's own.

    ``FIELD``: the parameter that names it, 0 for none. ``PURPOSE``: that of its allotments.
    """

    FIELD: str
    PURPOSE: str

    def why_idle(self, public: PublicFacts) -> str | None:
        """Say why no share of epsilon could change anything; None where it does."""
        ...

    def require_synthesised(self, public: PublicFacts) -> None:
        """Raise NotAccepted, with the field to mend, for graphs of which it is not synthesised."""
        ...

    def allotments(self, public: PublicFacts, nano_epsilon: int) -> list[Allotment]:
        """List what is added to the structure's plan, where a unit may spend ``nano_epsilon`` on it."""
        ...


class Stage(ABC):
    """What is paid for beside edges.

    ``share``: what it spends. ``folder``: where a model keeps what it paid for. ``subject``: what it
    synthesises, in words. ``beside_delta``: whether it stands beside structures that spend a delta.
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
        """Raise NotAccepted, with the field to mend, for graphs of which it is not synthesised."""
        self.share.require_synthesised(public)

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
        """Pay for its reads, at the cost of its own ``plan`` at most; the model with what they told."""

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
        """Pay as :meth:`paid` does for one snapshot of a live stream; with what the next one may know.

        ``state``: what the one before it left, where it did.
        """
        return self.paid(method, model, graph, plan, params, progress), None

    @abstractmethod
    def restored(self, model: Any, stored: StoredCells) -> FittedModel:
        """Put the structure's model, read from a folder, and what the stage stored together again."""

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List the reads that every fit of such a plan, of its own alone, makes; see the protocol."""
        return ()

    def require_room(self, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]) -> None:
        """Raise NotAccepted where a read of its own ``plan`` is more than may be read; see the protocol."""
        return

    def asked(self, params: Any) -> bool:
        """Tell whether the parameters set a share aside for it."""
        return bool(getattr(params, self.field) > 0)

    def spends(self, params: Any, public: PublicFacts) -> int:
        """Return what a unit of edges may spend on it, in nano-epsilon; at least 1, and not all."""
        return max(1, int(public.nano_epsilon * getattr(params, self.field)))

    def planned(self, structure: PrivacyPlan, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Add what it reads to the plan of the structure, which was made of what it leaves of epsilon.

        Costs of two pure plans add up at most, whatever the unit. A structure with a delta has solved for its
        noise with the stage's epsilon in the cell (:func:`core.methods._shared.frame.plan.besides`), so
        that the accountant's conversion of both together keeps to the job's epsilon and delta: under EDGE and
        EVENT, where that is one cell's, and under NODE, where it is the whole graph's. Raises
        NotAccepted where the share could change nothing, or for a structure that it cannot stand beside.
        """
        idle = self.share.why_idle(public)
        require_heeded(params, [Idle((self.field,), idle)] if idle else [])
        self.require_synthesised(public)
        self._require_metered(structure)
        added = self.share.allotments(public, self.spends(params, public))
        return replace(structure, allotments=(*structure.allotments, *added))

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


class Staged(Structure):
    """Stands before a method's own class; ``stages``: the outermost first."""

    stages: ClassVar[tuple[Stage, ...]] = ()

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Plan the method with what the stages' shares leave of epsilon, and what they read with those."""
        *facts, own = self._facts(params, public)
        plan = super().plan(params, own)
        asked = [each for each in self.stages if each.asked(params)]
        for stage in reversed(asked):
            plan = stage.planned(plan, params, facts.pop())
        return plan

    def _facts(self, params: Any, public: PublicFacts) -> list[PublicFacts]:
        """Return what each stage that is asked for is planned with, and last what the structure is."""
        facts = [public]
        for stage in self.stages:
            if stage.asked(params):
                last, spent = facts[-1], stage.spends(params, facts[-1])
                beside = last.beside_nano_epsilon + spent
                facts.append(
                    replace(last, nano_epsilon=last.nano_epsilon - spent, beside_nano_epsilon=beside)
                )
        return facts

    def planned_reads(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Sequence[PlannedRead]:
        """Return the reads of the edges themselves, from what the plan leaves for them, and the stages'."""
        of_edges = getattr(super(), "planned_reads", None)
        reads = [] if of_edges is None else [*of_edges(params, self.structure_of(plan), schema, nodes)]
        for stage in reversed(self.stages):
            if stage.asked(params):
                reads += stage.planned_reads(plan.only(stage.purpose), schema)
        return reads

    def require_room(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> None:
        """Ask the method's own class, of what the plan leaves for edges, and the stages."""
        of_edges = getattr(super(), "require_room", None)
        if of_edges is not None:
            of_edges(params, self.structure_of(plan), schema, nodes)
        for stage in self.stages:
            if stage.asked(params):
                stage.require_room(plan.only(stage.purpose), schema, nodes)

    def true_shares(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Mapping[str, tuple[float, float]]:
        """Compute them of what the plan leaves for edges: what stages read says nothing of pairs.

        Empty for a method that follows no bits of pairs.
        """
        of_edges = getattr(super(), "true_shares", None)
        return {} if of_edges is None else of_edges(params, self.structure_of(plan), schema, nodes)

    def structure_of(self, plan: PrivacyPlan) -> PrivacyPlan:
        """Return the part of the plan that reads edges alone."""
        return plan.without(*(each.purpose for each in self.stages))

    def edges_of(
        self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress, **kept: Any
    ) -> Any:
        """Fit the edges alone. ``kept``: what else the method's own ``fit`` takes."""
        return super().fit(graph, self.structure_of(plan), params, progress, **kept)

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> Any:
        """Fit the method, then pay for each stage that is asked for, at the plan's cost at most."""
        model = self.edges_of(graph, plan, params, progress)
        for stage in reversed(self.stages):
            if stage.asked(params):
                model = stage.paid(self.name, model, graph, plan.only(stage.purpose), params, progress)
        return model

    def load(self, folder: Path) -> Any:
        """Read the model that its ``save`` wrote."""
        model = super().load(folder)
        for stage in reversed(self.stages):
            if (folder / stage.folder).exists():
                from core.methods._shared.frame.model import load_stored

                stored = load_stored(folder / stage.folder, self.name, self.Params)
                model = stage.restored(model, stored)
        return model


class StagedTraining(Staged):
    """The same for a method that trains: stands before the class that has the stages."""

    def accelerator(self, params: Any, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
        """What it is to the structure, by what the stages leave of epsilon."""
        return super().accelerator(params, self._facts(params, public)[-1], nodes)

    def fit(
        self,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
        checkpoint: Path | None = None,
    ) -> Any:
        """Fit the method, and pay for its stages; ``checkpoint`` keeps what ``resume`` goes on from.

        NotAccepted with both: stages pay after the training, and going on reads nothing.
        """
        asked = [stage for stage in self.stages if stage.asked(params)]
        if asked and checkpoint is not None:
            raise errors.NotAccepted(
                f"{asked[0].subject} read once the edges are learned, and a fit that goes on reads nothing: "
                f"leave out {asked[0].field}, or the checkpoint",
                field="checkpoint",
            )
        if checkpoint is not None:
            return self.edges_of(graph, plan, params, progress, checkpoint=checkpoint)
        return super().fit(graph, plan, params, progress)


class StagedStream(Staged):
    """The same for a method that publishes live streams: stands before the class that has the stages."""

    def step(
        self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, state: Path | None, progress: Progress
    ) -> tuple[Any, Any]:
        """Fit one snapshot, then pay for each stage that is asked for, at the plan's cost at most."""
        alone = params.model_copy(update={each.field: 0 for each in self.stages})
        model, left = super().step(graph, self.structure_of(plan), alone, state, progress)
        parts: dict[str, StreamState] = {}
        for stage in reversed(self.stages):
            if not stage.asked(params):
                continue
            before = None if state is None else state / stage.folder
            model, own = stage.stepped(
                self.name,
                model,
                graph,
                plan.only(stage.purpose),
                params,
                before if before is not None and before.is_dir() else None,
                progress,
            )
            if own is not None:
                parts[stage.folder] = own
        return model, StagedState(left, parts) if parts else left


@dataclass(frozen=True)
class StagedState:
    """What a snapshot leaves of its structure, and of each stage in a folder of its own."""

    structure: StreamState | None
    parts: Mapping[str, StreamState]

    def save(self, folder: Path) -> None:
        """Write all of it to ``folder``."""
        folder.mkdir(parents=True, exist_ok=True)
        if self.structure is not None:
            self.structure.save(folder)
        for name, part in self.parts.items():
            part.save(folder / name)
