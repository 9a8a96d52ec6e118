"""How unevenly edges are spread over nodes. Nodes without an edge count throughout."""

from __future__ import annotations

import numpy as np

from core.evaluation.metric import Metric, Suite, Value
from core.evaluation.view import Sized

SCALARS = (
    Metric("mean_degree", "Mean degree", "2 m / n over all nodes of the universe.", "degree"),
    Metric(
        "degree_variance",
        "Degree variance",
        "Variance of the degrees, divisor n - 1 (PGB); undefined below two nodes.",
        "degree",
    ),
    Metric(
        "gini",
        "Gini coefficient",
        "2 sum_i i d_(i) / (n sum d) - (n + 1)/n over the degrees in rising order, i from 1; undefined "
        "without edges.",
        "degree",
    ),
    Metric(
        "gini_dpggan",
        "Gini coefficient, DPGGAN",
        "The same with i from 0, as DPGGAN's published values have it: lower by 2/n.",
        "degree",
    ),
    Metric(
        "relative_edge_entropy",
        "Relative edge entropy",
        "-sum (d/2m) ln(d/2m) / ln n, 1 where all degrees are equal (DPGGAN's REDE); undefined without "
        "edges.",
        "degree",
    ),
)


def scalars(view: Sized, suite: Suite) -> dict[str, Value]:
    """Compute mean, variance, inequality and entropy of degrees.

    Inequality is both Gini coefficients. O(n + largest degree). Sums run over the degree histogram, so that
    integers stay exact.
    """
    n, ends = view.node_count, 2 * view.edge_count
    nodes = np.bincount(view.degrees)
    held = np.flatnonzero(nodes)
    nodes = nodes[held]
    values: dict[str, Value] = {
        "mean_degree": ends / n if n else 0.0,
        "degree_variance": float(view.degrees.var(ddof=1)) if n > 1 else None,
        "gini": None,
        "gini_dpggan": None,
        "relative_edge_entropy": None,
    }
    if ends == 0:
        return values
    # Ranks of one degree are consecutive: their sum is count * (first + last) / 2.
    last = np.cumsum(nodes)
    ranked = float((held * (nodes * (2 * last - nodes + 1) / 2)).sum())
    share = held[held > 0] / ends
    entropy = -float((nodes[held > 0] * share * np.log(share)).sum())
    values["gini"] = 2 * ranked / (n * ends) - (n + 1) / n
    values["gini_dpggan"] = 2 * (ranked - ends) / (n * ends) - (n + 1) / n
    values["relative_edge_entropy"] = entropy / float(np.log(n))
    return values
