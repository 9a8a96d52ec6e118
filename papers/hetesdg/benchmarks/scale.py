"""CPU seconds and peak memory of ``hetesdg``: on IMDB beside the published program, and by size to 1M links.

    python -m papers.hetesdg.benchmarks.scale --data FOLDER             IMDB, then 10,000 to 1,000,000 links
    python -m papers.hetesdg.benchmarks.scale --links 1000000 --only graph

Every line is a process of its own, one thread: a release of a small graph first, which loads what is
compiled and says how much memory that takes, then fit and draw are timed. The generated graphs have one
relation: three links a source on average, as many targets as sources, heavy-tailed degrees of targets, 32
features in eight groups, seven links of ten inside a group.
"""

from __future__ import annotations

import argparse
import multiprocessing
import resource
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.anchored_scale import growth
from core.graphs.graph import Graph
from core.methods.base import no_progress
from core.privacy.entropy import noise_generator
from papers.hetesdg.benchmarks.data import built, load
from papers.hetesdg.benchmarks.reported import PROGRAM_SECONDS
from papers.hetesdg.benchmarks.rows import Row, fitted

SIZES = (10_000, 100_000, 1_000_000)
SMALL = 1_000
GROUPS, WIDTH, INSIDE = 8, 32, 0.7
ROWS: dict[str, Row] = {
    "graph": Row("hetesdg", {"release": ("graph",)}),
    "embedding": Row("hetesdg", {"release": ("embedding",), "second_hop": "on"}),
    "graph and embedding": Row("hetesdg", {"release": ("graph", "embedding"), "second_hop": "on"}),
}
EPOCHS = "link predictor, 100 epochs"
# Batches of 2048 of IMDB's 12,828 links, as the paper has them.
LEARNED = Row(
    "hetesdg", {"release": ("embedding",), "learn": "link-sgd", "rate": 0.16, "steps": 625}, delta=True
)


def planted(links: int, seed: int = 1) -> Graph:
    """A graph of about that many links; a few per cent less, as repeats are dropped. O(links)."""
    rng = np.random.default_rng(seed)
    sources = targets = max(GROUPS, links // 3)
    group = rng.integers(0, GROUPS, sources)
    centre = rng.normal(size=(GROUPS, WIDTH))
    values = centre[group] + rng.normal(size=(sources, WIDTH))
    weight = np.minimum((1 - rng.random(targets)) ** (-1 / 1.5), targets**0.5)
    home = rng.integers(0, GROUPS, targets)
    target = rng.choice(targets, size=links, p=weight / weight.sum())
    order = np.argsort(group, kind="stable")
    bound = np.searchsorted(group[order], np.arange(GROUPS + 1))
    near = rng.random(links) < INSIDE
    low, high = (np.where(near, bound[home[target] + side], side * sources) for side in (0, 1))
    source = order[low + (rng.random(links) * (high - low)).astype(np.int64)]
    return built("left", values, None, {"left-right": ("right", source, target)}, seed)


def measured(row: str, epsilon: float, make: Callable[..., Graph], *arguments: Any) -> dict[str, float]:
    """Links, CPU seconds of fit and draw, and the largest memory before and after, of this process."""
    chosen = (ROWS | {EPOCHS: LEARNED})[row]
    short = {"steps": 2} if "steps" in chosen.parameters else {}
    release(replace(chosen, parameters={**chosen.parameters, **short}), planted(SMALL), epsilon)
    graph = make(*arguments)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    fit, draw = release(chosen, graph, epsilon)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    links = sum(table.count for table in graph.edges.values())
    return {"links": links, "fit": fit, "draw": draw, "before": before, "peak": peak}


def release(row: Row, graph: Graph, epsilon: float) -> tuple[float, float]:
    """CPU seconds of the fit, and of a draw."""
    started = time.process_time()
    model = fitted(row, graph, epsilon)
    done = time.process_time()
    model.sample(noise_generator(), no_progress)
    return done - started, time.process_time() - done


def apart(*arguments: Any) -> dict[str, float]:
    """The same from a process of its own."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(measured, *arguments).result()


def line(titles: list[str], found: dict[str, float]) -> str:
    """A Markdown row."""
    seconds = [f"{found[name]:.2f}" for name in ("fit", "draw")]
    memory = [f"{found[name]:,.0f}" for name in ("peak", "before")]
    return "| " + " | ".join([*titles, f"{found['links']:,}", *seconds, *memory]) + " |"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path, help="the folder of the public data sets")
    parser.add_argument("--only", action="append", choices=[*ROWS, EPOCHS])
    parser.add_argument("--links", action="append", type=int)
    parser.add_argument("--epsilon", type=float, default=1.0)
    asked = parser.parse_args()
    print("| graph | row | links | fit CPU s | draw CPU s | peak MB | MB before |")
    print("|---|---|---|---|---|---|---|")
    for row in asked.only or [*ROWS, EPOCHS]:
        if asked.data is not None:
            found = apart(row, asked.epsilon, load, "imdb", asked.data)
            print(line(["imdb", row], found), flush=True)
        points = []
        for links in asked.links or (SIZES if row in ROWS else ()):
            found = apart(row, asked.epsilon, planted, links)
            points.append((found["links"], found["fit"] + found["draw"]))
            exponent = growth(points)[-1]
            told = "planted" if exponent is None else f"planted, growth {exponent:.2f}"
            print(line([told, row], found), flush=True)
    if asked.data is not None:
        told = "; ".join(f"{what} {seconds}" for what, seconds in PROGRAM_SECONDS.items())
        print(f"\nThe published program on IMDB, CPU seconds: {told}")


if __name__ == "__main__":
    main()
