"""Node attributes to synthesise, and their bins. Public declarations say which may be, and into which bins
their values fall."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, cast

from core.graphs.schema import Attribute, AttributeKind, GraphSchema, NodeType, Protection
from core.graphs.schema.edge_attributes import Aggregate, EdgeAttribute, EdgeAttributeKind
from core.late import late

if TYPE_CHECKING:
    from core.graphs.schema.value_bins import ValueBins

OF_A_VECTOR = 8
"""Bins of each number of a vector that declares no cuts."""
_bins_of = late("core.graphs.schema.value_bins:bins_of")  # which brings NumPy: the api plans without it


def synthesised(kind: NodeType) -> tuple[Attribute, ...]:
    """List the protected attributes to synthesise. They declare categories or bounds; the class label comes
    first, no vectors.

    The first of them is the one by which nodes mix.
    """
    usable = [
        attribute
        for attribute in kind.attributes
        if attribute.protection is Protection.PROTECTED
        and attribute.kind is not AttributeKind.VECTOR
        and (attribute.categories is not None or attribute.bounds is not None)
    ]
    # A stable sort: the others stay as they are declared.
    return tuple(sorted(usable, key=lambda attribute: not attribute.label))


def vectors(kind: NodeType) -> tuple[Attribute, ...]:
    """List the protected vectors with declared bounds. Their length is declared, too; they go with the first
    of the others."""
    return tuple(
        attribute
        for attribute in kind.attributes
        if attribute.protection is Protection.PROTECTED and attribute.length is not None
    )


def most_counted(vector: Attribute) -> int:
    """Count a vector's numbers outside of the bin of 0. There are this many at most."""
    return vector.nonzero or vector.length or 0


def moved_by(vector: Attribute) -> int:
    """Bound the sensitivity of a vector's counts. It is what another row moves them by: in L1, and the square
    of that in L2.

    Proof: :mod:`core.privacy.reads.node_values`.
    """
    # At most so many counts fall by one with the old row, and so many rise by one with the new.
    return 2 * most_counted(vector)


def synthesised_in(schema: GraphSchema, edge_types: Sequence[str]) -> Mapping[str, tuple[Attribute, ...]]:
    """List the attributes to synthesise by node type. These are types at an end of ``edge_types``, vectors
    come last."""
    ends = {
        end
        for relation in schema.edge_types
        if relation.name in edge_types
        for end in (relation.source, relation.target)
    }
    by_type = {
        kind.name: (*synthesised(kind), *vectors(kind)) for kind in schema.node_types if kind.name in ends
    }
    return {name: attributes for name, attributes in by_type.items() if attributes}


def node_bins(attribute: Attribute) -> ValueBins:
    """Divide the attribute's values into bins. They are divided as those of an edge are."""
    of_edge, category = EdgeAttributeKind, attribute.kind is AttributeKind.CATEGORY
    alike = EdgeAttribute(
        name="value",
        kind=of_edge.CATEGORY if category else of_edge.NUMBER,
        categories=attribute.categories,
        bounds=attribute.bounds,
        cuts=attribute.cuts or _of_a_vector(attribute),
        aggregate=Aggregate.MAX,
    )
    return cast("ValueBins", _bins_of(alike))


def _of_a_vector(attribute: Attribute) -> tuple[float, ...]:
    """Cut the range of a vector's numbers evenly, where that is what the attribute is."""
    if attribute.length is None or attribute.bounds is None or attribute.bounds[0] == attribute.bounds[1]:
        return ()
    low, high = attribute.bounds
    return tuple(low + (high - low) * place / OF_A_VECTOR for place in range(1, OF_A_VECTOR))
