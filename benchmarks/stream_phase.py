"""What a declared period does for numbers of edges: errors of a step with and without it.

    python -m benchmarks.stream_phase --stream digg-6h=munmun_digg_reply.txt,4 --runs 10

Made streams first, of known periods and of none; streams as in :mod:`benchmarks.stream_tables`, each with
the period to try. Only the number of edges is followed, under the noise of its share of epsilon at w = 5. The
first period counts for nothing: there is nothing to recall.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import numpy as np

from benchmarks.stream_data import LOADERS
from core.methods.keyframe import KeyframeParams
from core.methods.keyframe.counts import EdgeCount, Phase

WINDOW = 5
SLOTS = 10**8


def made(rng: np.random.Generator) -> dict[str, tuple[np.ndarray, int]]:
    """Numbers of edges by step, and the period that is tried."""

    def days(period: int, count: int, peak: float, varying: float) -> np.ndarray:
        phase = np.arange(period * count) % period / period
        shape = peak * np.maximum(0, np.sin(2 * np.pi * phase - 1))
        return np.rint(shape * np.exp(varying * rng.standard_normal(len(shape))))

    return {
        "days of hours, 300 at noon": (days(24, 8, 300, 0.2), 24),
        "days of hours, 100 at noon": (days(24, 8, 100, 0.2), 24),
        "days of 6 hours, 500 at noon": (days(4, 30, 500, 0.3), 4),
        "weeks of days, 1,000 at most": (days(7, 20, 1000, 0.3), 7),
        "no period, a random walk": (np.rint(np.exp(5 + np.cumsum(0.1 * rng.standard_normal(150)))), 7),
        "no period, one level": (np.rint(400 * np.exp(0.1 * rng.standard_normal(150))), 12),
        "no period, bursts": (np.rint(np.exp(rng.normal(4, 1.5, 150))), 10),
    }


def released(true: np.ndarray, period: int | None, noise: np.ndarray, scale: float) -> np.ndarray:
    """What is released of these numbers under this noise."""
    found: list[float] = []
    known: dict[int, Phase] = {}
    count: EdgeCount | None = None
    for step, measured in enumerate(true + noise):
        past = known.get(step % period) if period else None
        start = float(measured), scale, SLOTS
        count = EdgeCount.start(*start) if count is None else count.step(*start, 1, past)
        if period:
            known[step % period] = count.phase()
        found.append(count.estimate()[0])
    return np.array(found)


def errors(true: np.ndarray, period: int, epsilon: float, runs: int, rng: np.random.Generator) -> list[str]:
    """Errors of a step over max(edges, 10), without and with the period, under the same noise."""
    scale = WINDOW / (epsilon * float(KeyframeParams().count_share))
    found: dict[int | None, list[float]] = {None: [], period: []}
    for _ in range(runs):
        noise = np.rint(rng.laplace(0, scale, len(true)))
        for tried, rows in found.items():
            far = np.abs(released(true, tried, noise, scale) - true) / np.maximum(true, 10)
            rows.append(float(far[period:].mean()))
    return [f"{np.mean(rows):.3f} ± {np.std(rows):.3f}" for rows in found.values()]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--stream", action="append", default=[], metavar="NAME=PATH,PERIOD")
    parser.add_argument("--epsilon", action="append", type=float)
    parser.add_argument("--runs", type=int, default=5)
    args = parser.parse_args()
    rng = np.random.default_rng(1)
    streams = made(rng)
    for stream, said in (pair.split("=", 1) for pair in args.stream):
        path, period = said.rsplit(",", 1)
        graph = LOADERS[stream](Path(path))
        edges = [len(graph.cell("edge", step).source) for step in range(graph.schema.steps)]
        streams[stream] = np.array(edges, dtype=np.float64), int(period)
    print("| stream | period | epsilon | without | with |\n|---|---|---|---|---|")
    for name, (true, period) in streams.items():
        for epsilon in args.epsilon or [1.0]:
            cells = errors(true, period, epsilon, args.runs, rng)
            print(f"| {name} | {period} | {epsilon:g} |", " | ".join(cells), "|", flush=True)


if __name__ == "__main__":
    main()
