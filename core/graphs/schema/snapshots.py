"""The schema of one stream snapshot. It is a graph of one step, over the dataset's public universe.

No NumPy here: the api plans a snapshot without loading data.
"""

from __future__ import annotations

from collections.abc import Sequence

from core.errors import InvalidInput
from core.graphs.schema import MAX_TIME, GraphSchema, TimeGrid


def tick_schema(
    schema: GraphSchema, edge_types: Sequence[str], step: int, *, values: bool = True
) -> GraphSchema:
    """Declare a schema of one step of the dataset. It has the same node types, the requested relations, and a
    grid of one step: the dataset's ``step``.

    ``once`` speaks of all steps together, which a snapshot alone cannot show: it is not declared here.
    Without ``values`` neither is what edges carry: then snapshots come without it. Raises
    InvalidInput where the step lies beyond every time, ValueError for a schema without time.
    """
    if schema.time is None:
        raise ValueError("a stream's dataset has a time grid")
    start = schema.time.start + step * schema.time.width
    if start + schema.time.width > MAX_TIME:
        raise InvalidInput("this step lies beyond the largest time", field="step")
    kept = tuple(
        (relation if values else relation.without_attributes()).model_copy(update={"once": False})
        for relation in schema.edge_types
        if relation.name in edge_types
    )
    grid = TimeGrid(start=start, width=schema.time.width, count=1, period=schema.time.period)
    return schema.model_copy(update={"edge_types": kept, "time": grid})
