"""What DPGGAN's rows cost: CPU seconds of a fit and of a draw, and memory.

    python -m papers.dpggan.benchmarks.cost --only "dpggan, learned" --nodes 177 --edges 223 --runs 9
    python -m papers.dpggan.benchmarks.cost --only dpggan --path Facebook.txt --epsilon 4

Without a path the graph is generated: power-law degrees, planted communities. Each row has a process of its
own, where a small graph goes first: it compiles kernels and imports what is imported late. Medians of the
runs, one thread. Memory is the process's largest with its imports and the graph, and what it had of that
after the small graph. Unit edge, delta 1e-5 where a row needs one. Linux.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

import numpy as np

from benchmarks.graphs import community_graph
from benchmarks.load import load_static
from papers.dpggan.benchmarks.rows import FREE, ROWS, release

SMALL = 60, 120


def peak_megabytes() -> float:
    """The largest memory that this process has had; its parent's does not count."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]) / 1024


def measured(label: str, path: Path | None, size: tuple[int, int], epsilon: float, runs: int) -> list[float]:
    """CPU seconds of fit and of draw, MB at most, MB before."""
    release(label, community_graph(*SMALL), epsilon)
    before = peak_megabytes()
    graph = community_graph(*size) if path is None else load_static(path)
    seconds = [release(label, graph, epsilon)[1:] for _ in range(runs)]
    return [*np.median(seconds, axis=0), peak_megabytes(), before]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--only", action="append", choices=[*FREE, *ROWS], required=True)
    parser.add_argument("--path", type=Path)
    parser.add_argument("--nodes", type=int, default=177)
    parser.add_argument("--edges", type=int, default=223)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=1)
    asked = parser.parse_args()
    os.environ["OMP_NUM_THREADS"] = "1"
    print("| row | fit CPU s | draw CPU s | MB | of these before |\n|---|---|---|---|---|")
    for label in asked.only:
        with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
            work = (label, asked.path, (asked.nodes, asked.edges), asked.epsilon, asked.runs)
            fit, draw, most, before = pool.submit(measured, *work).result()
        print(f"| {label} | {fit:.3g} | {draw:.3g} | {most:.0f} | {before:.0f} |", flush=True)


if __name__ == "__main__":
    main()
