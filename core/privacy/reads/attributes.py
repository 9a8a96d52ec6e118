"""The columns of one node type, public and noisy. The public ones come as they are, rows of the protected
ones under Gaussian noise.

One unit here is one node's row of protected numbers, present or replaced by zeros. It is paid for in a cell
of its own, named after the node type: an edge lies in no such cell, and a row in no other.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pyarrow as pa

from core.errors import InvalidInput
from core.graphs.graph import NodeTable
from core.graphs.schema import AttributeKind, NodeType, Protection
from core.privacy import entropy, limits
from core.privacy.accounting.events import GaussianEvent, positive_fraction
from core.privacy.accounting.meter import Meter
from core.privacy.accounting.plan import rows_of
from core.privacy.entropy import Generator
from core.privacy.mechanisms import samplers
from core.privacy.mechanisms.aggregation import on_grid, scale_of
from core.privacy.reads.public_groups import public_groups

NUMERIC = frozenset({AttributeKind.NUMBER, AttributeKind.VECTOR})


class PrivateAttributes:
    """What may be had of one node type's columns. Made by ``PrivateGraph.attributes``."""

    def __init__(self, kind: NodeType, table: NodeTable, meter: Meter) -> None:
        self._kind = kind
        self._table = table
        self._meter = meter

    def public(self) -> dict[str, np.ndarray | pa.Array]:
        """Return every public column that the graph has, by name. Class labels are left out. Free."""
        return {
            each.name: self._table.attributes[each.name]
            for each in self._kind.attributes
            if each.protection is Protection.PUBLIC and not each.label and each.name in self._table.attributes
        }

    def groups(self, name: str, most: int) -> np.ndarray:
        """Number the values of a public categorical attribute, see :func:`public_groups`. Free."""
        return public_groups(self._kind, self._table, name, most)

    def noisy_rows(
        self, *, width: int, noise_multiplier: Fraction | float, purpose: str, rng: Generator | None = None
    ) -> np.ndarray:
        """Project every node's protected numbers, and add noise. They are scaled to length 1 at most before;
        (n, width).

        Side by side are all protected numbers and vectors but class labels; values that are not finite count
        as 0. The projection has signs of a fixed public stream. float64. ``rng`` is for tests of the law
        alone. Raises InvalidInput where the node type declares no such column.

        Sensitivity: one row replaced by zeros moves its own row alone, by length 1 at most, checked on an
        integer grid. Unit: one node's protected row. Proof: integers plus discrete Gaussian noise of standard
        deviation at least noise_multiplier grid lengths, independent in every entry (Canonne, Kamath,
        Steinke 2020, Theorem 14). A row's projection and scale depend on that row alone. How many numbers a
        column has is public, as the number of rows is.
        """
        named = [
            each
            for each in self._kind.attributes
            if each.protection is Protection.PROTECTED and each.kind in NUMERIC and not each.label
        ]
        if not named:
            raise InvalidInput(f"node type {self._kind.name!r} has no protected numbers", field="node_type")
        if type(width) is not int or width < 1:
            raise InvalidInput("width is a positive integer", field="width")
        limits.check_values(self._table.count * width, "noisy rows", field="width")
        sigma = positive_fraction(noise_multiplier, "noise_multiplier")
        radius, scale = scale_of(sigma**2)
        # Charged before a column is touched.
        self._meter.charge(rows_of(self._kind.name), None, GaussianEvent(sigma), purpose)
        projected = np.zeros((self._table.count, width))
        # A fixed public stream: the projection is no secret, and the same in every release.
        signs = entropy.public_generator(0)
        for each in named:
            if each.name in self._table.attributes:
                values = _numbers(self._table.attributes[each.name])
                projected += values @ (2.0 * signs.integers(0, 2, (values.shape[1], width)) - 1)
        length = np.sqrt(np.square(projected).sum(axis=1, keepdims=True))
        # 1e-12 keeps a row of zeros one.
        projected = np.nan_to_num(projected / np.maximum(length, 1e-12), posinf=0.0, neginf=0.0)
        points = on_grid(projected, radius)
        noisy = samplers.add_discrete_gaussian_wide(rng or entropy.noise_generator(), points.ravel(), scale)
        return noisy.reshape(points.shape) / radius


def _numbers(column: np.ndarray | pa.Array) -> np.ndarray:
    """Convert the column to float64 (n, d); what is missing or not finite is 0, and nothing overflows."""
    values = column.to_numpy(zero_copy_only=False) if isinstance(column, pa.Array) else column
    numbers = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    # At 1e30 squares, and sums of them, are still finite.
    return np.clip(np.nan_to_num(numbers, nan=0.0, posinf=0.0, neginf=0.0), -1e30, 1e30)
