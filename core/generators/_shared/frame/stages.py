"""Stages: what a method draws beside bare edges, each paid for with its own share of an edge's epsilon.

A stage says what its share is called, what it adds to the plan, and what is paid for once the structure's
model is fitted. :class:`Staged` stands before a method's own class and wraps it in all stages that are asked
for: the first named is the outermost, so that it takes its share of epsilon first and pays last.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

from core import errors
from core.generators._shared.frame.heeded import Idle, require_heeded
from core.privacy.plan import GuaranteeKind

if TYPE_CHECKING:
    from core.generators._shared.frame.model import StoredCells
    from core.generators.base import FittedModel, Parameters, Progress, PublicFacts, StreamState
    from core.graphs.schema import GraphSchema
    from core.privacy.plan import Allotment, PlannedRead, PrivacyPlan
    from core.privacy.private_graph import PrivateGraph

    class Structure:
        """A method's own class, which draws edges."""

        name: ClassVar[str]
        Params: ClassVar[type[Parameters]]

        def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan: ...
        def planned_reads(
            self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
        ) -> Sequence[PlannedRead]: ...
        def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> Any: ...
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
    synthesises, in words.
    """

    share: ClassVar[Share]
    folder: ClassVar[str]
    subject: ClassVar[str]

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

    def asked(self, params: Any) -> bool:
        """Tell whether the parameters set a share aside for it."""
        return bool(getattr(params, self.field) > 0)

    def spends(self, params: Any, public: PublicFacts) -> int:
        """Return what a unit of edges may spend on it, in nano-epsilon; at least 1, and not all."""
        return max(1, int(public.nano_epsilon * getattr(params, self.field)))

    def planned(self, structure: PrivacyPlan, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Add what it reads to the plan of the structure, which was made of what it leaves of epsilon.

        Costs of two pure plans add up at most, whatever the unit. Raises NotAccepted where the share could
        change nothing, or for a structure with a delta, whose cost the accountant converts as a whole.
        """
        idle = self.share.why_idle(public)
        require_heeded(params, [Idle((self.field,), idle)] if idle else [])
        self.require_synthesised(public)
        if structure.kind is not GuaranteeKind.PURE:
            raise errors.NotAccepted(
                f"{self.subject} paid for in pure epsilon, not beside parameters that spend a delta; leave "
                f"out {self.field}, or them",
                field=self.field,
            )
        added = self.share.allotments(public, self.spends(params, public))
        return replace(structure, allotments=(*structure.allotments, *added))


class Staged(Structure):
    """Stands before a method's own class; ``stages``: the outermost first."""

    stages: ClassVar[tuple[Stage, ...]] = ()

    def plan(self, params: Any, public: PublicFacts) -> PrivacyPlan:
        """Plan the method with what the stages' shares leave of epsilon, and what they read with those."""
        facts = [public]
        asked = [each for each in self.stages if each.asked(params)]
        for stage in asked:
            left = facts[-1].nano_epsilon - stage.spends(params, facts[-1])
            facts.append(replace(facts[-1], nano_epsilon=left))
        plan = super().plan(params, facts.pop())
        for stage in reversed(asked):
            plan = stage.planned(plan, params, facts.pop())
        return plan

    def planned_reads(
        self, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
    ) -> Sequence[PlannedRead]:
        """Return the reads of the edges themselves, from what the plan leaves for them, and the stages'."""
        reads = [*super().planned_reads(params, self.structure_of(plan), schema, nodes)]
        for stage in reversed(self.stages):
            if stage.asked(params):
                reads += stage.planned_reads(plan.only(stage.purpose), schema)
        return reads

    def structure_of(self, plan: PrivacyPlan) -> PrivacyPlan:
        """Return the part of the plan that reads edges alone."""
        return plan.without(*(each.purpose for each in self.stages))

    def fit(self, graph: PrivateGraph, plan: PrivacyPlan, params: Any, progress: Progress) -> Any:
        """Fit the method, then pay for each stage that is asked for, at the plan's cost at most."""
        model = super().fit(graph, self.structure_of(plan), params, progress)
        for stage in reversed(self.stages):
            if stage.asked(params):
                model = stage.paid(self.name, model, graph, plan.only(stage.purpose), params, progress)
        return model

    def load(self, folder: Path) -> Any:
        """Read the model that its ``save`` wrote."""
        model = super().load(folder)
        for stage in reversed(self.stages):
            if (folder / stage.folder).exists():
                from core.generators._shared.frame.model import load_stored

                stored = load_stored(folder / stage.folder, self.name, self.Params)
                model = stage.restored(model, stored)
        return model


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
