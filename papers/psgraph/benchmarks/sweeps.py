"""PSGraph over epsilons, windows and thresholds: its Figures 2, 5, 6 and 11, from the file of runs."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from benchmarks.line_plots import panels
from benchmarks.results_file import Line
from benchmarks.stream_data import FIGURES

METRICS = ("overlap", "assortativity_re", "degree_kl", "density_re", "transitivity_re")
PAPER: dict[str, Any] = {"preset": "paper"}
PUBLISHED = "PSGraph, as published"
THRESHOLDS = (0.01, 0.1, 1.0, 10.0, 100.0)
"""A step partitions anew where its number of edges has changed by more than so many times its nodes."""

Setting = tuple[int, float]
Means = dict[str, list[float]]


def threshold_system(factor: float) -> str:
    """Name the published form under a threshold; 1 is the paper's own choice."""
    return PUBLISHED if factor == 1 else f"{PUBLISHED}, threshold {factor:g} n"


def at_thresholds(factors: list[float]) -> dict[str, tuple[str, dict[str, Any]]]:
    """The published form at every threshold but the paper's, which is run anyway."""
    return {
        threshold_system(each): ("psgraph", {**PAPER, "threshold_factor": each})
        for each in factors
        if each != 1
    }


def factor_of(system: str) -> float | None:
    """The threshold that a system's name tells, in numbers of nodes; None for what is no threshold."""
    if system == PUBLISHED:
        return 1.0
    begun = f"{PUBLISHED}, threshold "
    return float(system.removeprefix(begun).removesuffix(" n")) if system.startswith(begun) else None


def mean_of(line: Line, metric: str) -> float | None:
    """A run's result: the mean over the steps that have the metric, as in the paper."""
    values = [step[metric] for step in line["steps"] if metric in step]
    return float(np.mean(values)) if values else None


def means_of(lines: list[Line]) -> Means:
    """Every metric's results, a number a run."""
    return {
        metric: [value for line in lines if (value := mean_of(line, metric)) is not None]
        for metric in METRICS
    }


def threshold_table(cells: Mapping[Setting, Mapping[str, list[Line]]]) -> Iterator[str]:
    """A table of the published form by threshold, where several were run (Figures 6 and 11)."""
    rows = []
    for (window, epsilon), systems in cells.items():
        factors = {factor: name for name in systems if (factor := factor_of(name)) is not None}
        if len(factors) < 2:
            continue
        found = {factor: means_of(systems[name]) for factor, name in sorted(factors.items())}
        best = {metric: _best(found, metric) for metric in METRICS}
        for factor, means in found.items():
            texts = [_text(means[metric], factor in best[metric]) for metric in METRICS]
            rows.append(
                f"| {window} | {epsilon:g} | {factor:g} | {len(systems[factors[factor]])} | "
                f"{' | '.join(texts)} |"
            )
    if rows:
        yield "\n## The published form by threshold (Figures 6 and 11)\n"
        yield (
            "| w | epsilon | threshold, in nodes | runs | "
            + " | ".join(FIGURES[each][0] for each in METRICS)
            + " |"
        )
        yield "|---" * (len(METRICS) + 4) + "|"
        yield from rows
        yield "\nBold: the best mean of a window and epsilon, where they differ."


def _best(found: Mapping[float, Means], metric: str) -> set[float]:
    means = {factor: float(np.mean(each[metric])) for factor, each in found.items() if each[metric]}
    if len(set(means.values())) < 2:
        return set()
    pick = max if FIGURES[metric][1] == "higher" else min
    return {factor for factor, mean in means.items() if mean == pick(means.values())}


def _text(values: list[float], bold: bool) -> str:
    if not values:
        return "undefined"
    told = f"{np.mean(values):.3f} ±{np.std(values):.3f}"
    return f"**{told}**" if bold else told


def sweep_picture(
    cells: Mapping[Setting, Mapping[str, list[Line]]], systems: tuple[str, ...], title: str
) -> str | None:
    """Draw the metrics over epsilon, window and threshold, whichever has several values; None where none has.

    Over epsilon at the first window, over windows at the last epsilon, and so with thresholds.
    """
    windows, epsilons = sorted({each for each, _ in cells}), sorted({each for _, each in cells})
    charts = []
    for metric in METRICS:
        for what, settings in (
            ("epsilon", [(epsilon, (windows[0], epsilon)) for epsilon in epsilons]),
            ("window", [(float(window), (window, epsilons[-1])) for window in windows]),
        ):
            drawn: dict[str, list[tuple[float, float]]] = defaultdict(list)
            for x, setting in settings:
                for system in systems:
                    values = means_of(cells.get(setting, {}).get(system, []))[metric]
                    if values:
                        drawn[system].append((x, float(np.mean(values))))
            charts += _chart(metric, what, drawn)
        by_epsilon = {}
        for window, epsilon in cells:
            if window == windows[0]:
                by_epsilon[f"epsilon {epsilon:g}"] = _over_thresholds(cells[window, epsilon], metric)
        charts += _chart(metric, "log10 of the threshold in nodes", by_epsilon)
    order = (*systems, *(f"epsilon {each:g}" for each in epsilons))
    return panels(title, title, charts, thick=(PUBLISHED,), order=order, columns=3) if charts else None


def _over_thresholds(systems: Mapping[str, list[Line]], metric: str) -> list[tuple[float, float]]:
    found = []
    for name, lines in systems.items():
        factor, values = factor_of(name), means_of(lines)[metric]
        if factor and values:
            found.append((math.log10(factor), float(np.mean(values))))
    return sorted(found)


def _chart(metric: str, what: str, drawn: Mapping[str, list[tuple[float, float]]]) -> list[Any]:
    """One chart, or none where no line has two points."""
    lines = {name: points for name, points in drawn.items() if points}
    if not any(len(points) > 1 for points in lines.values()):
        return []
    title, better = FIGURES[metric]
    return [(f"{title}, by {what.removeprefix('log10 of the ')}", what, f"{better} is better", lines)]
