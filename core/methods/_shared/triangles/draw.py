"""A cell's budget for degrees and triangles, and its graph."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from core.methods._shared.degrees.counts import integers, noisy_count
from core.methods._shared.degrees.fitted import fitted_degrees, scaled_to
from core.methods._shared.degrees.tails import Ends, Tails, counted_tails, law_with_tails, thresholds
from core.methods._shared.frame.resized import degrees_of
from core.methods._shared.matching.exact import matched, one_block
from core.methods._shared.rewiring.products import degree_covariance, product_aim
from core.methods._shared.rewiring.triangles import Targets, proposals_for, rewired
from core.methods._shared.triangles.params import Triangled, shares
from core.privacy.accounting.events import NANO
from core.privacy.entropy import Generator as Rng
from core.privacy.session.private_graph import PrivateCell

MODEL_SPREAD = 0.05  # standard deviation of the assortativity that degrees alone get wrong


def fit(
    cell: PrivateCell, nodes: int, nano_epsilon: int, params: Triangled, rng: Rng
) -> Mapping[str, np.ndarray]:
    """The noisy values of one cell, at ``nano_epsilon`` in all.

    Columns: ``degrees`` float64 (n,), in 0..n-1, summing to twice the noisy number of edges; ``triangles``
    float64 (1,), what is aimed at; ``covariance`` float64 (2,), that of the degrees at an edge's ends with
    the standard deviation of its noise, or () where it is not paid for. ``rng`` makes choices that are
    independent of the graph.
    """
    return columns(read(cell, nano_epsilon, params), nodes, params, rng)


@dataclass(frozen=True)
class Paid:
    """One cell's noisy answers, with the nano-epsilon of each."""

    budget: Mapping[str, int]
    edges: int
    degrees: np.ndarray
    tails: Tails | None
    triangles: int | None
    products: int | None


def read(cell: PrivateCell, nano_epsilon: int, params: Triangled, assortative: bool = True) -> Paid:
    """Measure a cell, at ``nano_epsilon`` in all. ``assortative``: degree products too."""
    budget = shares(params, nano_epsilon, assortative)
    edges = noisy_count(cell, budget["count"])
    noisy = cell.laplace("degrees", nano_epsilon=budget["degree"], purpose="degrees")
    tails = counted_tails(cell, thresholds(noisy), budget["tail"]) if "tail" in budget else None
    triangles = products = None
    if "triangle" in budget:
        triangles = cell.triangle_count(nano_epsilon=budget["triangle"], purpose="triangles")
    if "product" in budget:
        products = cell.degree_product_sum(
            noisy_degrees=noisy, nano_epsilon=budget["product"], purpose="degree products over edges"
        )
    return Paid(budget, edges, noisy, tails, triangles, products)


def columns(
    paid: Paid, nodes: int, params: Triangled, rng: Rng, shapes: np.ndarray | None = None
) -> Mapping[str, np.ndarray]:
    """The columns of :func:`fit`. ``shapes``: weights of the laws of degrees that others make likely."""
    budget, edges = paid.budget, paid.edges
    mean, law = 2 * edges / max(nodes, 1), None
    if paid.tails is not None and nodes:
        ends = Ends.of_count(edges, budget["count"])
        law = law_with_tails(paid.degrees, 2 * NANO / budget["degree"], paid.tails, ends)
    degrees = fitted_degrees(paid.degrees, budget["degree"], rng, mean=mean, shapes=shapes, law=law)
    degrees = scaled_to(degrees, 2 * edges)
    covariance = np.empty(0)
    if paid.products is not None:
        covariance = degree_covariance(
            paid.products, edges, paid.degrees, budget["degree"], budget["product"]
        )
    # Of the fitted degrees, as the graph will have those and not the noisy ones.
    aim = triangle_aim(paid.triangles, budget.get("triangle", 1), degrees, params.transitivity)
    return {"degrees": degrees, "triangles": np.array([aim]), "covariance": covariance}


def triangle_aim(measured: int | None, nano_epsilon: int, degrees: np.ndarray, transitivity: float) -> float:
    """Estimate the triangles to aim at.

    They are those ``measured``, shrunk towards the public guess by their variances. The guess is
    ``transitivity`` of the paths of length two that ``degrees`` make, and as uncertain as it is large; the
    ladder errs by as much as one edge may change, at most the largest degree, over epsilon.
    """
    paths = float((degrees * (degrees - 1)).clip(0).sum()) / 2
    guess = transitivity * paths / 3
    if measured is None:
        return guess
    # What one edge may change is at most the largest degree: a rung's width, over epsilon, as a variance.
    noise = (2 * float(degrees.max(initial=0)) * NANO / nano_epsilon) ** 2
    # The guess is as uncertain as it is large; one more, so that it is never certain.
    known = (guess + 1) ** 2
    # By precision, and no more triangles than closed paths: each closes three.
    return float(np.clip((known * measured + noise * guess) / (known + noise), 0, paths / 3))


def resized(columns: Mapping[str, np.ndarray], origins: np.ndarray) -> Mapping[str, np.ndarray]:
    """Give nodes their origins' degrees. Triangles grow with them, the law at edges' ends stays."""
    factor = len(origins) / max(len(columns["degrees"]), 1)
    return {
        **columns,
        "degrees": scaled_to(
            degrees_of(columns["degrees"], origins), round(float(columns["degrees"].sum()) * factor)
        ),
        "triangles": columns["triangles"] * factor,
    }


def draw(columns: Mapping[str, np.ndarray], nodes: int, params: Triangled, rng: Rng) -> np.ndarray:
    """Sample one graph's sorted keys.

    Degrees are met exactly where a graph can have them. O(m log m + proposals * degree) time, O(n + m)
    memory.
    """
    degrees = integers(columns["degrees"], rng)
    labels = np.zeros(nodes, dtype=np.int64)
    keys = matched(degrees, labels, one_block(int(degrees.sum())), rng)
    if not len(keys):
        return keys
    return rewired_to_aims(keys, columns, nodes, params, rng)


def rewired_to_aims(
    keys: np.ndarray, columns: Mapping[str, np.ndarray], nodes: int, params: Triangled, rng: Rng
) -> np.ndarray:
    """Rewire ``keys`` to the paid triangles and degree products. Degrees stay. Some keys at least."""
    labels = np.zeros(nodes, dtype=np.int64)
    known = columns["covariance"]
    aim = product_aim(keys, nodes, known[0], known[1], MODEL_SPREAD) if len(known) else None
    targets = Targets(round(float(columns["triangles"][0])), aim, params.band)
    return rewired(keys, nodes, labels, targets, proposals_for(len(keys), params.proposals), rng)
