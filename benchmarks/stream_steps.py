"""How far single steps of a stream are off: relative error of transitivity, and overlap of hubs.

    python -m benchmarks.stream_steps collegemsg-28d=CollegeMsg.txt --window 5 --runs 30

Means and standard deviations over runs. A sparse step is one whose release holds little but noise: fewer than
500 edges. Streams, figures and releases are those of :mod:`benchmarks.stream_tables`.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path

import numpy as np

from benchmarks.stream_data import LOADERS, figures_by_step, release

SPARSE_EDGES = 500
SHOWN = ("transitivity_re", "overlap")


def main() -> None:
    """A line for every step, and one for the mean over the sparse ones."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("stream", metavar="NAME=PATH", help=f"{list(LOADERS)}")
    parser.add_argument("--method", default="keyframe")
    parser.add_argument("--window", type=int, default=5)
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=10)
    args = parser.parse_args()
    name, path = args.stream.split("=", 1)
    original = LOADERS[name](Path(path))
    found: dict[tuple[int, str], list[float]] = defaultdict(list)
    for _ in range(args.runs):
        synthetic, _ = release(args.method, original, args.window, args.epsilon, {})
        for step, row in enumerate(figures_by_step(original, synthetic)):
            for figure in SHOWN:
                if figure in row:
                    found[step, figure].append(row[figure])
    print(f"{name}, {args.method}, epsilon {args.epsilon:g}, w = {args.window}, {args.runs} runs\n")
    print("| step | edges | trans. RE | top-1% overlap |\n|---|---|---|---|")
    counts = [len(original.cell("edge", step).source) for step in range(original.schema.steps)]
    for step, edges in enumerate(counts):
        print(f"| {step} | {edges} | " + " | ".join(told(found[step, figure]) for figure in SHOWN) + " |")
    sparse = [step for step, edges in enumerate(counts) if edges < SPARSE_EDGES]
    means = [
        [float(np.mean(found[step, figure])) for step in sparse if found[step, figure]] for figure in SHOWN
    ]
    print(f"| sparse ({len(sparse)}) | | " + " | ".join(told(each) for each in means) + " |")


def told(values: list[float]) -> str:
    """Mean and spread; nothing where the figure is undefined."""
    return f"{np.mean(values):.2f} ±{np.std(values):.2f}" if values else ""


if __name__ == "__main__":
    main()
