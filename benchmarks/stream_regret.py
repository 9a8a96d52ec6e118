"""When another method than the default would have been better on streams, and whether a public rule finds it.

    python -m benchmarks.stream_regret RESULTS.jsonl --method keyframe --method psgraph

RESULTS as :mod:`benchmarks.stream_tables` writes it. The regret of a method at a stream, window and epsilon
is the mean over the errors below of the logarithm of its error over the best one's. A rule names the second
method where epsilon over w is a threshold at least. Leave one stream out: the threshold is that of least
regret on the others.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.stream_tables import read

FLOOR = 0.01  # an error below it is as good
THRESHOLDS = (0.0, 0.1, 0.2, 0.4, 0.5, 0.8, 2.0, np.inf)
ERRORS = {
    "degree TV": lambda row: row["figures"]["degree_tv"],
    "active steps": lambda row: row["over_time"]["active_steps_ks"],
    "edges of a step": lambda row: row["over_time"]["edge_series_step_error"],
    "actives": lambda row: row["over_time"]["active_series_error"],
    "hub order": lambda row: 1 - row["over_time"]["degree_correlation"],
    "top 10 %": lambda row: 1 - row["over_time"]["top_degree_overlap"],
    "transitivity": lambda row: row["figures"]["transitivity_error"],
    "assortativity": lambda row: row["figures"]["assortativity_error"],
    "edges persist": lambda row: _apart(row, "edge_persistence"),
    "stay active": lambda row: _apart(row, "activity_persistence"),
}
Setting = tuple[int, float, str]


def _apart(row: dict[str, Any], name: str) -> float:
    return abs(row["over_time"][name] - row["over_time"][f"true_{name}"])


def errors(rows: list[dict[str, Any]], methods: list[str]) -> dict[Setting, np.ndarray]:
    """Errors by setting, float64 (methods, errors), of settings that every method ran at."""
    found: dict[Setting, dict[str, list[list[float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        setting = row["window"], row["epsilon"], row["stream"]
        found[setting][row["label"]].append([float(error(row)) for error in ERRORS.values()])
    return {
        setting: np.array([np.mean(runs[method], axis=0) for method in methods])
        for setting, runs in found.items()
        if all(method in runs for method in methods)
    }


def regrets(found: np.ndarray) -> np.ndarray:
    """Mean log ratio of every method's errors to the least one, float64 (methods,)."""
    ratios = np.maximum(found, FLOOR) / np.maximum(found, FLOOR).min(axis=0)
    means: np.ndarray = np.log(ratios).mean(axis=1)
    return means


def by_rule(regret: dict[Setting, np.ndarray], threshold: float) -> float:
    """Mean regret of a choice between the first two methods."""
    return float(np.mean([each[int(w and eps / w >= threshold)] for (w, eps, _), each in regret.items()]))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument(
        "--method", action="append", required=True, help="a label of RESULTS, the default first"
    )
    args = parser.parse_args()
    found = errors(read(args.results), args.method)
    regret = {setting: regrets(each) for setting, each in found.items()}
    print("| w | epsilon | streams |", " | ".join(args.method), "| leads of the first |")
    print("|---" * (4 + len(args.method)) + "|")
    for w, eps in sorted({setting[:2] for setting in found}):
        own = {setting: each for setting, each in regret.items() if setting[:2] == (w, eps)}
        means = np.mean(list(own.values()), axis=0)
        leads = sum(int(each.argmin() == 0) for each in own.values())
        print(f"| {w} | {eps:g} | {len(own)} |", " | ".join(f"{mean:.3f}" for mean in means), f"| {leads} |")
    print("\n| error |", " | ".join(args.method), "|\n|---" + "|---" * len(args.method) + "|")
    for at, name in enumerate(ERRORS):
        mean = np.mean([regrets(each[:, [at]]) for each in found.values()], axis=0)
        print(f"| {name} |", " | ".join(f"{each:.3f}" for each in mean), "|")
    total = 0.0
    for left in sorted({setting[2] for setting in found}):
        others = {setting: each for setting, each in regret.items() if setting[2] != left}
        own = {setting: each for setting, each in regret.items() if setting[2] == left}
        chosen = min(THRESHOLDS, key=lambda threshold: by_rule(others, threshold))
        total += sum(by_rule({setting: each}, chosen) for setting, each in own.items())
        print(
            f"without {left}: {args.method[1]} from epsilon / w = {chosen:g} on",
            f"{by_rule(own, chosen):.3f}",
        )
    mean, never = total / len(regret), by_rule(regret, np.inf)
    print(f"rule, each stream left out: {mean:.3f}; always the first: {never:.3f}")


if __name__ == "__main__":
    main()
