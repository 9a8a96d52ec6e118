"""Which node attributes may be synthesised, and into which bins their values fall: by public declarations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from core.graphs.schema import Attribute, AttributeKind, GraphSchema, NodeType, Protection
from core.graphs.schema.edge_attributes import Aggregate, EdgeAttribute, EdgeAttributeKind
from core.graphs.schema.value_bins import ValueBins, bins_of

if TYPE_CHECKING:
    import pyarrow as pa


def synthesised(kind: NodeType) -> tuple[Attribute, ...]:
    """List the protected attributes that declare categories or bounds, the class label first.

    The first of them is the one by which nodes mix.
    """
    usable = [
        each
        for each in kind.attributes
        if each.protection is Protection.PROTECTED
        and (each.categories is not None or each.bounds is not None)
    ]
    return tuple(sorted(usable, key=lambda each: not each.label))


def synthesised_in(schema: GraphSchema, edge_types: Sequence[str]) -> Mapping[str, tuple[Attribute, ...]]:
    """List, by node type at an end of ``edge_types``, the attributes that may be synthesised."""
    ends = {
        end for each in schema.edge_types if each.name in edge_types for end in (each.source, each.target)
    }
    found = {kind.name: synthesised(kind) for kind in schema.node_types if kind.name in ends}
    return {name: attributes for name, attributes in found.items() if attributes}


def node_bins(attribute: Attribute) -> ValueBins:
    """Divide what the attribute's values may be into bins, as those of an edge are divided."""
    of_edge, category = EdgeAttributeKind, attribute.kind is AttributeKind.CATEGORY
    alike = EdgeAttribute(
        name="value",
        kind=of_edge.CATEGORY if category else of_edge.NUMBER,
        categories=attribute.categories,
        bounds=attribute.bounds,
        cuts=attribute.cuts,
        aggregate=Aggregate.MAX,
    )
    return bins_of(alike)


def places_of(attribute: Attribute, column: np.ndarray | pa.Array) -> np.ndarray:
    """Find the bin of every node's value in a stored column; int64 (n,), -1 where there is none."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if attribute.categories is not None:
        text = (column if isinstance(column, pa.Array) else pa.array(column)).cast(pa.string())
        known = pa.array(attribute.categories, type=pa.string())
        codes: np.ndarray = pc.fill_null(pc.index_in(text, value_set=known), -1).to_numpy().astype(np.int64)
        return codes
    own = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column
    numbers = np.asarray(own, dtype=np.float64)
    return np.where(np.isnan(numbers), -1, node_bins(attribute).places(np.nan_to_num(numbers)))
