"""The metered operations of undirected relations that take local sensitivities or paid-for degrees."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable

import numpy as np

from core.errors import NotAccepted
from core.graphs.graph import Cell
from core.privacy import queries
from core.privacy.accounting.events import Event, Pure
from core.privacy.mechanisms import ladder
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms.clustering import clustering_ladder, damping_of
from core.privacy.mechanisms.product_sum import degree_product_sum, unit_of
from core.privacy.mechanisms.triangle_kernels import triangles_and_common


class UndirectedReads(ABC):
    """Undirected reads, a part of a private cell. It is that of
    :class:`core.privacy.session.private_graph.PrivateCell`: what it needs of the cell stands here."""

    shape: queries.Shape
    _charge: Callable[[Event, str], None]
    _read: Callable[[], Cell]
    _triangles: np.ndarray | None = None
    """Those at every node, private, once they were counted: no read hands them out."""

    @property
    @abstractmethod
    def multiplicity(self) -> int:
        """The edges that one unit may have in this cell. Public."""

    def triangle_count(self, *, nano_epsilon: int, purpose: str) -> int:
        """Measure the triangles by the ladder mechanism. Their number may be any integer, below 0 too.

        Sensitivity, proof: :func:`core.privacy.mechanisms.ladder.ladder`. Unit: one undirected edge of the
        cell, which is all that any unit has in it. Undirected relations inside one node type only.
        """
        if not self.shape.undirected:
            raise NotAccepted(
                "triangles are counted in undirected relations inside one node type", field="edge_type"
            )
        nodes = self.shape.source_count
        self._charge(Pure(nano_epsilon, "ladder/triangles"), purpose)
        cell = self._read()
        self._triangles, most_common = triangles_and_common(cell.source, cell.target, nodes)
        # Each triangle was counted at its three nodes.
        return ladder.ladder(int(self._triangles.sum()) // 3, most_common, nodes, nano_epsilon)

    def clustering_sum(self, *, damping: int, nano_epsilon: int, purpose: str) -> float:
        """Sum damped clustering by the ladder mechanism. It is the sum over nodes of triangles over
        C(max(degree, damping), 2); any number on a fixed grid, below 0 too.

        Sensitivity, proof: :func:`core.privacy.mechanisms.clustering.clustering_ladder`. Unit: one undirected
        edge of the cell, which is all that any unit has in it. Undirected relations inside one node type
        only.
        """
        if not self.shape.undirected:
            raise NotAccepted(
                "clustering is summed in undirected relations inside one node type", field="edge_type"
            )
        nodes = self.shape.source_count
        chosen = damping_of(nodes, damping)
        self._charge(Pure(nano_epsilon, "ladder/clustering"), purpose)
        cell = self._read()
        # Counted once where triangles were read before; in either case they stay in here.
        known = self._triangles
        noisy = clustering_ladder(cell.source, cell.target, nodes, chosen, nano_epsilon, known)
        return noisy / chosen.unit

    def degree_product_sum(self, *, noisy_degrees: np.ndarray, nano_epsilon: int, purpose: str) -> int:
        """Sum noisy degree products over edges. They are noisy degree times noisy degree, with discrete
        Laplace noise; any integer.

        ``noisy_degrees`` (n,) are already paid for. Estimates the same sum of true degrees without bias.

        Sensitivity, proof: :func:`core.privacy.mechanisms.product_sum.degree_product_sum`. Unit: one
        undirected edge of the cell, which is all that any unit has in it. Undirected relations inside one
        node type only.
        """
        question = degree_product_sum(self.shape, noisy_degrees=noisy_degrees)
        self._charge(Pure(nano_epsilon, "discrete_laplace/degree_product_sum"), purpose)
        sensitivity = question.l1_sensitivity * self.multiplicity
        noisy = mechanisms.discrete_laplace(question.measure(self._read()), sensitivity, nano_epsilon)
        return int(noisy[0]) * unit_of(noisy_degrees)
