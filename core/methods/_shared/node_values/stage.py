"""The stage that draws protected node attributes together with edges.

The method spends what the share leaves of an edge's epsilon. The stage then pays for nodes by value and for
who meets whom, deals every node values, and hands the method's model the nodes' groups and what share of the
edges is to lie between each two of them. How edges are sampled by that is the method's own: see
:class:`core.methods.base.Mixing`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar

from core.graphs.schema import EVERY, GraphSchema, NodeType
from core.graphs.schema.node_bins import moved_by, synthesised, vectors
from core.late import late
from core.methods._shared.frame.plan import divide
from core.methods._shared.frame.stages import Share, Stage
from core.methods._shared.node_values import share as value_share
from core.methods._shared.node_values.share import Granted
from core.methods.base import FittedModel, Method, Mixing, Progress, PublicFacts
from core.privacy.accounting.events import Pure
from core.privacy.accounting.plan import PlannedRead, PrivacyPlan, rows_of

FOLDER = "node_values"
_paid_model = late("core.methods._shared.node_values.model:paid_model")
_restored = late("core.methods._shared.node_values.model:LabelledModel")
VECTORS = value_share.OF_A_VECTOR.partition("/")[2]

if TYPE_CHECKING:
    from core.methods._shared.frame.model import StoredCells
    from core.privacy.session.private_graph import PrivateGraph


class NodeValueStage(Stage):
    """Protected attributes of nodes, sampled with the edges.

    Labels, and who meets whom, are inside the method's own sampling. ``mixing()``: how the method's model
    takes groups; imports what it needs.
    """

    share: ClassVar[Share] = value_share
    folder = FOLDER
    subject = "protected node attributes are"

    def __init__(self, mixing: Callable[[], Mixing]) -> None:
        self.mixing = mixing

    def described(self, method: Method) -> Method:
        """Add synthetic node values to the method's releases.

        They come where a share is set aside for them.
        """
        return replace(
            method,
            carries_nodes=self.asked,
            carries_vectors=self.asked,
            node_values_plan=self.plan_of,
            mixing=self.mixing,
        )

    def spends(self, params: Any, public: PublicFacts) -> int:
        """Return a unit's spending on it, in nano-epsilon. That is 0 where edges pay for nothing of it."""
        return value_share.given_up(public, getattr(params, self.field))

    def planned_reads(self, plan: PrivacyPlan, schema: GraphSchema) -> Sequence[PlannedRead]:
        """List the least that a row pays for its tables.

        They are the tables of its attributes, for each node type. Edges by their ends' values are left out:
        their noise follows from a cap that paid degrees set.
        """
        return _row_reads(plan, schema)

    def paid(
        self,
        method: str,
        model: Any,
        graph: PrivateGraph,
        plan: PrivacyPlan,
        params: Any,
        progress: Progress,
    ) -> FittedModel:
        found: FittedModel = _paid_model(method, model, self.mixing(), graph, plan, params, progress)
        return found

    def restored(self, model: Any, stored: StoredCells) -> FittedModel:
        found: FittedModel = _restored(model, stored)
        return found


def _row_reads(plan: PrivacyPlan, schema: GraphSchema) -> list[PlannedRead]:
    """List what a row of each node type pays for the tables of its attributes, at least."""
    rows, _ = value_share.granted(plan, schema)
    reads: list[PlannedRead] = []
    if schema.collection is not None and rows:  # which are read together
        rows = {EVERY: min(rows.values(), key=lambda each: each.nano_epsilon)}
    for name, own in rows.items():
        kind = schema.node_type_or_every(name)
        reads += vector_reads(kind, own)
        count = len(synthesised(kind))
        if not count:
            continue
        tables = value_share.TABLES if count == 1 else value_share.TABLES_OF_SEVERAL
        costs = divide(own.nano_epsilon, *[tables / count] * count)[:-1]
        reads.append(PlannedRead(rows_of(name), "node_values", (min(costs),)))
    return reads


def vector_reads(kind: NodeType, own: Granted) -> Iterator[PlannedRead]:
    """List the reads of a type's vectors, each with what it costs or with its noise."""
    for vector, noise in zip(vectors(kind), own.vectors, strict=True):
        moved = moved_by(vector)
        if isinstance(noise, Pure):
            yield PlannedRead(rows_of(kind.name), VECTORS, (noise.nano_epsilon,), moved=moved)
        else:
            spread = float(noise) * math.sqrt(moved)
            yield PlannedRead(rows_of(kind.name), VECTORS, (), deviation=spread)
