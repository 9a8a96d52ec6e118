"""The stage that gives what edges carry to the edges of a method: any method that can draw a graph.

It has a share of the job's epsilon, which the method does without. It draws one graph from the fitted model
(free: the model is paid for), reads the attributes' tables by the degrees of that graph, and gives values to
the edges of every graph that is drawn later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from core.generators._shared.frame.stages import Share, Stage, Staged
from core.generators._shared.values import share as value_share

if TYPE_CHECKING:
    from core.generators._shared.frame.model import StoredCells
    from core.generators.base import FittedModel, Progress
    from core.graphs.graph import Graph
    from core.graphs.schema import GraphSchema
    from core.privacy.entropy import Generator as Rng
    from core.privacy.plan import PlannedRead, PrivacyPlan
    from core.privacy.private_graph import PrivateGraph


class EdgeValueStage(Stage):
    """What edges carry, by tables that are paid for beside the edges themselves."""

    share: ClassVar[Share] = value_share
    folder = "values"
    subject = "what edges carry is"

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List what each attribute of a relation pays for its margins, and for its values between classes.

        Counts of values by node are left out: which of two reads they are follows from a paid histogram.
        """
        return _value_reads(value_share.granted(plan), schema)

    def paid(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
    ) -> ValuedModel:
        granted = value_share.granted(plan)
        return ValuedModel(model, _paid(method, model, graph, granted, params, progress))

    def restored(self, model: Any, stored: StoredCells) -> ValuedModel:
        return ValuedModel(model, stored)


VALUES = EdgeValueStage()


class CarriesValues(Staged):
    """Stands before a method's own class, whose ``Params`` are :class:`value_share.ValueParameters` too;
    its ``stages`` name :data:`VALUES`."""

    stages: ClassVar[tuple[Stage, ...]] = (VALUES,)

    def carries(self, params: Any) -> bool:
        """Tell whether the edges of a release carry what the schema declares."""
        return VALUES.asked(params)

    def values_plan(self, plan: PrivacyPlan) -> PrivacyPlan:
        """Return the part of the plan that reads what edges carry."""
        return plan.only(VALUES.purpose)


@dataclass(frozen=True)
class ValuedModel:
    """A fitted model, and the paid tables of what edges carry: a cell for each attribute of a relation,
    (relation, its place among the declared ones)."""

    structure: FittedModel
    tables: StoredCells

    def sample(self, rng: Rng, progress: Progress) -> Graph:
        """Draw a graph, and values for its edges."""
        from core.generators._shared.values.draw import dressed

        return dressed(self.structure.sample(rng, progress), self.tables, rng)

    def save(self, folder: Path) -> None:
        """Write both, the tables below ``folder``."""
        self.structure.save(folder)
        self.tables.save(folder / VALUES.folder)


def _value_reads(granted: Mapping[str, int], schema: GraphSchema) -> list[PlannedRead]:
    """List what each attribute of a relation pays for its margins, and for its values between classes."""
    from core.generators._shared.frame.plan import divide
    from core.generators._shared.values.fit import CLASSES, HISTOGRAM, STEPS
    from core.privacy.plan import PlannedRead

    reads = []
    for name, nano_epsilon in granted.items():
        steps, attributes = schema.steps_of(name), len(schema.edge_type(name).attributes)
        shares = [HISTOGRAM, CLASSES, *([STEPS] if len(steps) > 1 else [])]
        queries = ("value_histogram", "values_by_classes", "values_by_step")
        costs = divide(nano_epsilon // attributes, *shares)[:-1]
        reads += [
            PlannedRead(name, query, (cost,), len(steps)) for query, cost in zip(queries, costs, strict=False)
        ]
    return reads


def _paid(
    method: str,
    model: FittedModel,
    graph: PrivateGraph,
    granted: Mapping[str, int],
    params: Any,
    progress: Progress,
) -> StoredCells:
    from core.generators._shared.frame.model import StoredCells
    from core.generators._shared.values.fit import paid
    from core.generators.base import no_progress
    from core.privacy.entropy import noise_generator

    drawn = model.sample(noise_generator(), no_progress)
    cells: dict[tuple[str, int | None], Any] = {}
    asked = [
        (graph.schema.edge_type(name), place, nano_epsilon)
        for name, nano_epsilon in granted.items()
        for place in range(len(graph.schema.edge_type(name).attributes))
    ]
    for done, (relation, place, nano_epsilon) in enumerate(asked):
        progress("values", done, len(asked))
        reads = graph.edge_values(relation.name, relation.attributes[place].name)
        each = nano_epsilon // len(relation.attributes)
        steps = len(graph.schema.steps_of(relation.name))
        cells[relation.name, place] = paid(reads, drawn.edges[relation.name], steps, each)
    progress("values", len(asked), len(asked))
    counts = {kind.name: graph.node_count(kind.name) for kind in graph.schema.node_types}
    return StoredCells(method, graph.schema, counts, params, cells)
