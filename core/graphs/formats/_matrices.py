"""Sparse matrices as graphs. There is one static relation, nodes named by row and column number, from 0.

Its entries hold one number for each edge, where the relation carries one and no more.
"""

from __future__ import annotations

from pydantic import Field

from core.graphs.schema import GraphSchema
from core.graphs.schema.names import Name
from core.graphs.uploads.batches import Options


class MatrixOptions(Options):
    """A stored entry that is not zero is an edge; where entries are values, every stored entry is one."""

    value: Name | None = Field(
        default=None,
        description="The edge attribute that the entries hold; by default the only one that is declared.",
    )


def refuses(schema: GraphSchema) -> str | None:
    """Say why the schema cannot be written as one matrix, or None."""
    if len(schema.edge_types) != 1:
        return "a matrix holds one edge type; take csv, parquet or graphml"
    if schema.temporal:
        return "a matrix carries no time; take csv, parquet or graphml"
    relation = schema.edge_types[0]
    if relation.attributes:
        several = len(relation.attributes) > 1 or not relation.merged
        if several or relation.attributes[0].categories is not None:
            return "a matrix holds one number for each edge; take csv, parquet or graphml"
    return None
