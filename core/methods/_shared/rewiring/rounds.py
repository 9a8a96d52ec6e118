"""Rounds that bring a large graph to its aims.

It is brought there by groups, as far as random paths tell.

Reads noisy values only: post-processing.
"""

from __future__ import annotations

import numpy as np

from core.methods._shared.rewiring import moves
from core.methods._shared.rewiring.affinity import (
    ERRORS,
    SHARES,
    Grouping,
    Standing,
    within_circles,
)
from core.methods._shared.rewiring.clustering import CLOSED, ToldClustering
from core.methods._shared.rewiring.rows import Products, Rows
from core.privacy.entropy import Generator as Rng

ENOUGH = 0.97  # of the triangles that are aimed at: no groups
AHEAD = 1.15  # times a round's part: edges that groups are given break triangles that were there
STEERED = 1 / 3  # of the proposals that are left, at most, to bring degree products near their aim
STEERING = 1, 3  # the rounds after which that is done


class Rounds:
    """Groups for ``rows`` made with ``falling``.

    There are so many ``triangles``, and the measured clustering is ``told``.
    """

    def __init__(self, rows: Rows, triangles: int, told: ToldClustering | None, rng: Rng) -> None:
        weight = np.zeros(len(rows.labels)) if told is None else told.weights(np.diff(rows.start))
        self._rows, self._told, self._rng = rows, told, rng
        # Noise may lead below 0, and no graph does.
        self._aim = Standing(triangles, 0.0 if told is None else max(told.total, 0.0))
        self._grouping = Grouping(rows, weight, rng)

    def gather(self, products: Products, left: int) -> tuple[int, int]:
        """Gather edges into circles, unless the triangles are there.

        Returned are the product sum, and moves tried.
        """
        now = self._grouping.standing(self._aim, ERRORS[0])
        if self._enough(now):
            return products[0], 0
        return self._grouping.gather(self._usual(now)[1], products, left)

    def steer(self, products: Products, most: int) -> tuple[int, int]:
        """Steer the product sum nearer to its aim. Returned are the sum, and the moves tried."""
        product, aim, band, steer = products
        if not steer or abs(product - aim) <= band:
            return product, 0
        return moves.shift_product(within_circles(self._rows), product, aim, band, most, self._rng)

    def fill(self, products: Products, left: int) -> tuple[int, int, bool]:
        """Fill groups. Returned are the product sum, the moves made, and whether the aims are met."""
        (product, target, band, steer), before, told = products, left, self._told
        now = self._grouping.standing(self._aim, ERRORS[0])
        if self._enough(now):
            return product, 0, False
        if told is not None:
            # What it would be if what is missing came by the usual law: the prior that noise is weighed
            # against.
            own = now.clustering + self._usual(now)[0]
            variance = told.variance_at_hubs(self._rows)
            self._aim = Standing(self._aim.triangles, told.aim(own, CLOSED, variance, len(self._rows.labels)))
        first, parts, asked = now, Standing(1.0, 1.0), Standing(0.0, 0.0)
        for number in range(len(SHARES)):
            # Of what is missing, this round's share among those that are left.
            part = min(1.0, AHEAD * SHARES[number] / sum(SHARES[number:]))
            # Groups bring more or less than the law says: what is requested is divided by what came so far.
            need = now.towards(self._aim, part).over(parts)
            asked = asked.plus(need)
            product, made = self._grouping.add(
                number, need, told is not None, (product, target, band, steer), left
            )
            left -= made
            if number in STEERING:
                product, made = self.steer((product, target, band, steer), int(STEERED * left))
                left -= made
            now = self._grouping.standing(self._aim, ERRORS[number])
            parts = now.brought(asked, first)
        return product, before - left, now.near(self._aim, told is not None)

    def _enough(self, now: Standing) -> bool:
        return now.triangles >= ENOUGH * self._aim.triangles

    def _usual(self, now: Standing) -> tuple[float, float]:
        return self._grouping.usual(self._aim.triangles - now.triangles)
