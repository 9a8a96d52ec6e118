"""The share of hubs that a plan expects to be found, beside what noise leaves of them on public graphs.

    python -m benchmarks.hubs_expected ../shared/data [--draws 20]

Expected is the answer ``hubs_found`` of a dry run that assumes the graph's own numbers of nodes and edges.
Found is the mean overlap of the 1 % of nodes of most edges with the 1 % of highest noisy degree, ties by
chance, over fresh noise. Nothing here is private: the graphs are public.
"""

from __future__ import annotations

import argparse
import math
from pathlib import Path

import numpy as np

from benchmarks.static_graphs import SOURCES, load
from core.privacy.accounting.measurements import deviation
from core.reports.precision import within
from core.workflows.jobs.questions import TOP, hubs_found

SCALES = (2, 8, 32)


def found(degrees: np.ndarray, scale: float, draws: int, rng: np.random.Generator) -> float:
    """The mean share of the top nodes that noisy degrees put among the top."""
    top = max(1, round(TOP * len(degrees)))
    q = math.exp(-1 / scale)
    shares = []
    for _ in range(draws):
        noise = rng.geometric(1 - q, len(degrees)) - rng.geometric(1 - q, len(degrees))
        chance = rng.random(len(degrees))
        true, noisy = np.lexsort((chance, -degrees))[:top], np.lexsort((chance, -degrees - noise))[:top]
        shares.append(len(np.intersect1d(true, noisy)) / top)
    return float(np.mean(shares))


def main() -> None:
    """Print a table."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("data", type=Path)
    arguments.add_argument("--draws", type=int, default=20)
    asked = arguments.parse_args()
    rng = np.random.default_rng(7)
    print("| graph | nodes | mean degree | noise within | expected | found |\n|---|---|---|---|---|---|")
    errors = []
    for name in SOURCES:
        graph = load(name, asked.data)
        table, count = graph.edges["edge"], graph.nodes["node"].count
        degrees = np.bincount(np.concatenate([table.source, table.target]), minlength=count)
        for scale in SCALES:
            expected = hubs_found(float(degrees.mean()), count - 1, deviation(scale))
            share = found(degrees, scale, asked.draws, rng)
            errors.append(expected - share)
            near = within(scale, 0.95)
            print(f"| {name} | {count} | {degrees.mean():.1f} | {near} | {expected:.2f} | {share:.2f} |")
    mean, spread = np.mean(errors), np.mean(np.abs(errors))
    print(f"\nExpected less found: {mean:+.3f} on average, {spread:.3f} either way.")


if __name__ == "__main__":
    main()
