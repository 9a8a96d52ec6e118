"""Reads of edge values under a degree bound. They are of people and people, where the schema declares that
nobody has more than ``bound``.

The read is a sum over the records of all edges, each of which adds 1 to one entry.

Unit: NODE, all edges of one person with all that they carry, replaced by any others. Proof: edges without the
person are the same in both graphs, and so are their records. The person has at most ``bound`` edges in either
graph, which is declared and checked at ingest, each of at most r records (as many as are declared, or 1), so
that at most bound r entries lose 1 and as many gain 1: L1 2 bound r. Of a projected graph none of this holds:
which edges it keeps may change far away from the person, without end.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from core.graphs.columns.tables import EdgeTable
from core.graphs.schema.value_bins import ValueBins, bins_of
from core.graphs.views.records import asked_for, counted, each_alone, numbered
from core.privacy import queries
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms.value_kernels import by_pair


class BoundedValues:
    """The read of one attribute, or of the number of an edge's records. Made by ``BoundedGraph.values``."""

    def __init__(
        self,
        shape: queries.Shape,
        bound: int,
        attribute: str | None,
        paid: Callable[[int, str, str], EdgeTable],
    ) -> None:
        """``paid(nano_epsilon, what, purpose)`` charges the whole graph, then gives the edges."""
        relation = shape.edge_type
        self.bins: ValueBins = bins_of(asked_for(relation, attribute))
        self.shape = shape
        self._paid, self._numbers = paid, attribute is None
        self._most = 1 if attribute is None else relation.records_per_slot or 1
        self.multiplicity = 2 * bound * self._most
        """Records of a person that count, before and after. Public."""

    def by_classes(
        self,
        *,
        sources: np.ndarray,
        targets: np.ndarray,
        labels: np.ndarray,
        nano_epsilon: int,
        purpose: str,
    ) -> np.ndarray:
        """Count records by both ends' classes and bin. The bin is by label; (classes, classes, labels).

        A record counts where the smaller class comes first. ``sources`` (n,), the same as ``targets``, and
        ``labels`` (bins,): public or paid for.

        Sensitivity: L1 2 bound r. Unit, proof: the module's.
        """
        of_node, k = queries.check_labels(sources, self.shape.source_count, None, "sources")
        queries.check_labels(targets, self.shape.target_count, k, "targets")
        of_bin, kinds = queries.check_labels(labels, self.bins.count, None, "labels")

        table = self._paid(nano_epsilon, "values by groups", purpose)
        found, bins = binned(table, self.bins, self._most, numbers=self._numbers)
        exact = by_pair((of_node, of_node), (found.source, found.target), of_bin, bins, kinds, True)
        noisy = mechanisms.discrete_laplace(exact.astype(np.int64), self.multiplicity, nano_epsilon)
        return noisy.reshape(k, k, kinds)


def binned(table: EdgeTable, bins: ValueBins, most: int, *, numbers: bool) -> tuple[EdgeTable, np.ndarray]:
    """Give every record that counts a row and a bin. An edge has ``most`` rows at most; with ``numbers``
    every edge has one, and the bin of how many records it has. What counts hangs on its own edge only."""
    found = counted(numbered(table) if numbers else each_alone(table), most, by_pair=False)
    held = {} if found.values is None else found.values.columns
    return found, bins.places(held.get(bins.attribute.name, np.zeros(0, dtype=np.int32)))
