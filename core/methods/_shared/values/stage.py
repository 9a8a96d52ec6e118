"""The stage that gives sampled edges their values.

Any method that can sample a graph may have it. It has a share of the job's epsilon, which the method does
without. It samples one graph from the fitted model (free: the model is paid for), reads the attributes'
tables by the degrees of that graph, and gives values to the edges of every graph that is sampled later.

Proof, beside any structure: its reads look at edges alone, and those of values follow on its answers. Under
EDGE and EVENT an edge lies in one cell, whose pure epsilons, the values' among them, and Gaussian events,
sampled or not, are composed adaptively and converted once; the structure's noise was solved for so that
this keeps to the job's (epsilon, delta) (:func:`core.methods._shared.frame.plan.besides`). Under other
units structures are pure, and the two costs add up. Where values alone differ, the structure's answers have
one law, and only reads of values tell the graphs apart: at twice their share, without delta.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from core.graphs.schema import GraphSchema
from core.late import late
from core.methods._shared.frame.stages import Share, Stage
from core.methods._shared.values import share as value_share
from core.methods._shared.values.bins import SCORE
from core.methods.base import Method, Progress
from core.methods.room import FEWER
from core.privacy import limits
from core.privacy.accounting.plan import PlannedRead, PrivacyPlan
from core.privacy.units import Unit, records_of_unit

if TYPE_CHECKING:
    import numpy as np

    from core.methods._shared.frame.model import StoredCells
    from core.methods._shared.values.model import ValuedModel
    from core.privacy.entropy import Generator as Rng
    from core.privacy.session.counted import PrivateParts
    from core.privacy.session.private_graph import PrivateGraph

_value_reads = late("core.methods._shared.values.planned:value_reads")
_paid = late("core.methods._shared.values.model:paid")
_paid_in_parts = late("core.methods._shared.values.model:paid_in_parts")
_with_values = late("core.methods._shared.values.sharded:with_values")
_stepped = late("core.methods._shared.values.model:stepped")
_restored = late("core.methods._shared.values.model:ValuedModel")


class EdgeValueStage(Stage):
    """What edges carry, by tables that are paid separately."""

    share: ClassVar[Share] = value_share
    folder = value_share.FOLDER
    subject = "what edges carry is"
    beside_delta = True

    def described(self, method: Method) -> Method:
        """Add declared edge values to the method's releases.

        They come where a share is set aside for them.
        """
        return replace(method, carries=self.asked, values_plan=self.plan_of)

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List what each attribute pays for margins and classes.

        It is of a relation: its margins, and its values between classes. Counts of values by node are left
        out: which of two reads they are follows from a paid histogram.
        """
        found: list[PlannedRead] = _value_reads(value_share.granted(plan), schema, plan.unit)
        return found

    def require_room(self, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]) -> None:
        """Check the reads of nodes. They are the largest and move furthest: by a score for each end."""
        _require_room(value_share.granted(plan), schema, nodes, plan.unit)

    def paid(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
    ) -> ValuedModel:
        found: ValuedModel = _paid(method, model, graph, plan, params, progress)
        return found

    def paid_in_parts(
        self,
        method: str,
        model: Any,
        graph: PrivateParts,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
        degrees: Callable[[], Mapping[str, Sequence[np.ndarray]]],
    ) -> ValuedModel:
        found: ValuedModel = _paid_in_parts(method, model, graph, plan, params, progress, degrees())
        return found

    def laws(self, model: ValuedModel, laws: Any, orders: Mapping[str, np.ndarray], rng: Rng) -> Any:
        """Add the laws of edges' values to those of their ends."""
        return _with_values(laws, model.tables, orders, rng)

    def stepped(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        state: Path | None,
        progress: Progress,
    ) -> tuple[ValuedModel, StoredCells]:
        """Pay for a live snapshot's tables, added to earlier ones.

        Every step is charged its own reads, which see only its edges. What the next one may know are noisy
        tables added up, and degrees of graphs that paid models drew: post-processing.
        """
        found: tuple[ValuedModel, StoredCells] = _stepped(method, model, graph, plan, params, state, progress)
        return found

    def restored(self, model: Any, stored: StoredCells) -> ValuedModel:
        found: ValuedModel = _restored(model, stored)
        return found


VALUES = EdgeValueStage()


def _require_room(
    granted: Mapping[str, int], schema: GraphSchema, nodes: Mapping[str, int], unit: Unit
) -> None:
    """Ask the limits for each relation's reads of nodes; graphs of a collection are read as one."""
    together = schema.collection is not None
    for name in list(granted)[:1] if together else granted:
        relation = schema.edge_type(name)
        sides = [
            sum(nodes[each] for each in granted) if together else nodes[end]
            for end in (relation.source, relation.target)
        ]
        what = "what edges carry" if together else f"what edges of {name!r} carry"
        limits.check_values(max(sides), f"a read of {what}", field="schema.node_types", mend=FEWER)
        # Undirected, an edge counts in the same vector at either end.
        ends = 2 if relation.homogeneous and not relation.directed else 1
        score = SCORE if any(each.numeric for each in relation.attributes) else 1
        limits.check_sensitivity(
            ends * score * records_of_unit(unit, relation),
            f"a read of {what}",
            field="schema.collection" if together else f"schema.edge_types.{name}",
            mend=f"; declare fewer records_per_slot, or leave {value_share.FIELD} out",
        )
