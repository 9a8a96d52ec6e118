"""Node attributes to synthesise, and their bins. Public declarations say which may be, and into which bins
their values fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core.graphs.schema import Attribute, AttributeKind, GraphSchema, NodeType, Protection
from core.graphs.schema.edge_attributes import Aggregate, EdgeAttribute, EdgeAttributeKind

if TYPE_CHECKING:
    import numpy as np
    import pyarrow as pa

    from core.graphs.schema.value_bins import ValueBins

OF_A_VECTOR = 8
"""Bins of each number of a vector that declares no cuts."""
AT_ONCE = 2**22
"""Numbers that are counted at once."""


def synthesised(kind: NodeType) -> tuple[Attribute, ...]:
    """List the protected attributes to synthesise. They declare categories or bounds; the class label comes
    first, no vectors.

    The first of them is the one by which nodes mix.
    """
    usable = [
        each
        for each in kind.attributes
        if each.protection is Protection.PROTECTED
        and each.kind is not AttributeKind.VECTOR
        and (each.categories is not None or each.bounds is not None)
    ]
    return tuple(sorted(usable, key=lambda each: not each.label))


def vectors(kind: NodeType) -> tuple[Attribute, ...]:
    """List the protected vectors with declared bounds. Their length is declared, too; they go with the first
    of the others."""
    return tuple(
        each
        for each in kind.attributes
        if each.protection is Protection.PROTECTED and each.length is not None
    )


def most_counted(vector: Attribute) -> int:
    """Count a vector's numbers outside of the bin of 0. There are this many at most."""
    return vector.nonzero or vector.length or 0


def moved_by(vector: Attribute) -> int:
    """Bound the sensitivity of a vector's counts. It is what another row moves them by: in L1, and the square
    of that in L2.

    Proof: :mod:`core.privacy.reads.node_values`.
    """
    return 2 * most_counted(vector)


def synthesised_in(schema: GraphSchema, edge_types: Sequence[str]) -> Mapping[str, tuple[Attribute, ...]]:
    """List the attributes to synthesise by node type. These are types at an end of ``edge_types``, vectors
    come last."""
    ends = {
        end for each in schema.edge_types if each.name in edge_types for end in (each.source, each.target)
    }
    found = {
        kind.name: (*synthesised(kind), *vectors(kind)) for kind in schema.node_types if kind.name in ends
    }
    return {name: attributes for name, attributes in found.items() if attributes}


def node_bins(attribute: Attribute) -> ValueBins:
    """Divide the attribute's values into bins. They are divided as those of an edge are."""
    from core.graphs.schema.value_bins import bins_of  # which brings numpy: the api plans without it

    of_edge, category = EdgeAttributeKind, attribute.kind is AttributeKind.CATEGORY
    alike = EdgeAttribute(
        name="value",
        kind=of_edge.CATEGORY if category else of_edge.NUMBER,
        categories=attribute.categories,
        bounds=attribute.bounds,
        cuts=attribute.cuts or _of_a_vector(attribute),
        aggregate=Aggregate.MAX,
    )
    return bins_of(alike)


def _of_a_vector(attribute: Attribute) -> tuple[float, ...]:
    """Cut the range of a vector's numbers evenly, where that is what the attribute is."""
    if attribute.length is None or attribute.bounds is None or attribute.bounds[0] == attribute.bounds[1]:
        return ()
    low, high = attribute.bounds
    return tuple(low + (high - low) * place / OF_A_VECTOR for place in range(1, OF_A_VECTOR))


def places_of(attribute: Attribute, column: np.ndarray | pa.Array) -> np.ndarray:
    """Find the bin of every node's value. It is a stored column; int64 (n,), -1 where there is none."""
    import numpy as np
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


def counts_of_places(vector: Attribute, rows: np.ndarray) -> np.ndarray:
    """Count nodes by place of a vector and bin; int64 (places, bins).

    ``rows`` (n, places). A part of them at a time. O(n places log bins).
    """
    import numpy as np

    bins, length = node_bins(vector), rows.shape[1]
    counts, size = np.zeros(length * bins.count, dtype=np.int64), max(1, AT_ONCE // max(1, length))
    for start in range(0, len(rows), size):
        part = rows[start : start + size].astype(np.float64)
        cells = np.arange(length) * bins.count + bins.places(part.ravel()).reshape(part.shape)
        counts += np.bincount(cells.ravel(), minlength=len(counts))
    return counts.reshape(length, bins.count)
