"""The groups that a public attribute of categories makes of a type's nodes. Free: what is read is public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from core.errors import NotAccepted
from core.graphs.schema import AttributeKind, NodeType, Protection
from core.late import late

if TYPE_CHECKING:
    import pyarrow as pa

    from core.graphs.graph import NodeTable
    from core.graphs.schema import GraphSchema


_dictionary_encode = late("pyarrow.compute:dictionary_encode")
MOST_PUBLIC = 64
"""Groups of a public attribute that a fit may ask for; those of fewest nodes are one group."""


def group_attribute(kind: NodeType, name: str | None) -> str | None:
    """Choose the public categorical attribute that groups nodes. It is the one named, or the label where
    public.

    NotAccepted where the named one is not declared public, or has no categories. Public facts alone.
    """
    usable = [
        each
        for each in kind.attributes
        if each.protection is Protection.PUBLIC and each.kind is AttributeKind.CATEGORY
    ]
    if name is None:
        return next((each.name for each in usable if each.label), None)
    names = [each.name for each in usable]
    if name not in names:
        mend = f"name one of: {', '.join(names)}" if names else "it has none: leave groups out"
        raise NotAccepted(
            f"{name!r} is no public attribute of categories of node type {kind.name!r}; {mend}",
            field="groups",
        )
    return name


def public_groups(kind: NodeType, table: NodeTable, name: str, most: int) -> np.ndarray:
    """Number the values of a public categorical attribute. The most frequent is first; int64 (n,), 0..most-1.

    Those of fewest nodes share the last number where there are more than ``most``. A node without a value is
    in a group of those without. NotAccepted for any other attribute, and where the graph has no such column.
    """
    column = table.attributes.get(group_attribute(kind, name) or name)
    if column is None:
        raise NotAccepted(f"the graph has no column {name!r}", field="groups")
    distinct, place = _distinct(column)
    # By the text of the values: numbers must not follow from the order in which a file has them.
    of_value = np.unique(np.array([str(each) for each in distinct]), return_inverse=True)[1]
    labels = of_value[place]
    sizes = np.bincount(labels)
    rank = np.empty(len(sizes), dtype=np.int64)
    rank[np.argsort(-sizes, kind="stable")] = np.arange(len(sizes))
    groups: np.ndarray = np.minimum(rank, most - 1)[labels]
    return groups


def labellings(kind: NodeType, table: NodeTable) -> list[tuple[np.ndarray, int]]:
    """List the labels that a fit may ask for, and how many: those of every public attribute of categories."""
    found = []
    for each in kind.attributes:
        if each.protection is Protection.PUBLIC and each.kind is AttributeKind.CATEGORY:
            labels = public_groups(kind, table, each.name, MOST_PUBLIC)
            found.append((labels, int(labels.max(initial=0)) + 1))
    return found


def labellings_of(
    schema: GraphSchema, nodes: Mapping[str, NodeTable]
) -> dict[str, list[tuple[np.ndarray, int]]]:
    """List them for every node type."""
    return {kind.name: labellings(kind, nodes[kind.name]) for kind in schema.node_types}


def _distinct(column: np.ndarray | pa.Array) -> tuple[list[Any], np.ndarray]:
    """Return the values that a column has, those that are missing among them, and the place of each row's."""
    if isinstance(column, np.ndarray):
        values, place = np.unique(column, return_inverse=True)
        return values.tolist(), place
    coded = _dictionary_encode(column, null_encoding="encode")
    return coded.dictionary.to_pylist(), coded.indices.to_numpy(zero_copy_only=False)
