"""Every generator on real streams under w-event privacy: PSGraph's five metrics, and absolute errors.

    python -m benchmarks.stream_tables RESULTS.jsonl --runs 10 \\
        --stream collegemsg-28d=CollegeMsg.txt --stream as-days=as-733 --stream email-weekly=email-Eu.txt \\
        --stream collegemsg-weekly=CollegeMsg.txt --stream bitcoin-monthly=soc-sign-bitcoinotc.csv \\
        --stream cithepph-monthly=cit-HepPh.txt.gz
    python -m benchmarks.stream_tables RESULTS.jsonl --table
    python -m benchmarks.stream_tables RESULTS.jsonl --table --over-time

RESULTS holds one line a run; a call makes only the runs that are missing for its streams, methods and
windows. Runs of one (stream, method, window) share a process of their own, whose largest memory is reported
(imports and the original stream included). Figures are means over snapshots, then mean and spread over runs.
``--over-time`` prints what stays from step to step, the true value in brackets.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import resource
from collections import Counter, defaultdict
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.stream_data import (
    FIGURES,
    LASTING,
    LOADERS,
    OVER_TIME,
    figures,
    figures_over_time,
    release,
)
from core.methods.registry import generators, get
from core.privacy.units import Unit

PAPER = ("overlap", "assortativity_re", "degree_kl", "density_re", "transitivity_re")


class Cell(NamedTuple):
    """What shares one process; ``label`` names the method with its parameters."""

    stream: str
    label: str
    window: int
    epsilon: float


def measure(
    cell: Cell, path: Path, method: str, parameters: dict[str, Any], runs: int
) -> list[dict[str, Any]]:
    """``runs`` rows of one cell, after a release that compiles or loads the kernels."""
    original = LOADERS[cell.stream](path)
    release(method, original, cell.window, cell.epsilon, parameters)
    rows = []
    for _ in range(runs):
        synthetic, seconds = release(method, original, cell.window, cell.epsilon, parameters)
        found = figures(original, synthetic) | {
            "cpu_seconds_a_step": seconds / original.schema.steps,
            "peak_megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        }
        row = {"method": method, "parameters": parameters, "figures": found}
        rows.append(cell._asdict() | row | {"over_time": figures_over_time(original, synthetic)})
    return rows


def parsed(pairs: list[str]) -> dict[str, str]:
    """``NAME=VALUE`` texts as a mapping."""
    return dict(pair.split("=", 1) for pair in pairs)


def run_missing(args: argparse.Namespace) -> None:
    """Appends what RESULTS lacks, cell by cell, as each one ends."""
    parameters = parsed(args.set)
    done = Counter(Cell(r["stream"], r["label"], r["window"], r["epsilon"]) for r in read(args.results))
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(args.processes, mp_context=context, max_tasks_per_child=1) as pool:
        jobs = {}
        for window in args.window:
            for stream, path in parsed(args.stream).items():
                for method in args.method:
                    label = args.label or method
                    cell = Cell(stream, label, window, args.epsilon)
                    if (missing := args.runs - done[cell]) > 0:
                        jobs[pool.submit(measure, cell, Path(path), method, parameters, missing)] = cell
        for job in as_completed(jobs):
            rows = job.result()
            with args.results.open("a") as file:
                file.writelines(json.dumps(row) + "\n" for row in rows)
            print(*jobs[job], f"{len(rows)} runs", flush=True)


def read(path: Path) -> list[dict[str, Any]]:
    """The rows of RESULTS; none where there is no such file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(rows: list[dict[str, Any]], against: str) -> None:
    """Markdown: one table for every stream and window, best figure of a column in bold.

    The last column says on how many of the five metrics ``against`` is ahead of the row.
    """
    grouped: dict[tuple, dict[str, list[dict[str, float]]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        grouped[row["stream"], row["window"], row["epsilon"]][row["label"]].append(row["figures"])
    for (stream, window, epsilon), methods in sorted(grouped.items()):
        print(f"\n**{stream}**, epsilon {epsilon:g}, w = {window}\n")
        titles = [title for title, _ in FIGURES.values()]
        print("| method | runs |", " | ".join(titles), f"| CPU s a step | MB | {against} ahead |")
        print("|---" * (len(titles) + 5) + "|")
        means = {
            m: {name: np.mean([r[name] for r in runs]) for name in FIGURES} for m, runs in methods.items()
        }
        best = {
            name: (max if better == "higher" else min)(mean[name] for mean in means.values())
            for name, (_, better) in FIGURES.items()
        }
        for method, runs in methods.items():
            cells = []
            for name in FIGURES:
                spread = np.std([r[name] for r in runs])
                text = f"{means[method][name]:.3f} ±{spread:.3f}"
                cells.append(f"**{text}**" if means[method][name] == best[name] else text)
            cpu = np.mean([r["cpu_seconds_a_step"] for r in runs])
            peak = max(r["peak_megabytes"] for r in runs)
            ahead = ahead_of(means.get(against), means[method])
            print(f"| {method} | {len(runs)} |", " | ".join(cells), f"| {cpu:.3f} | {peak:.0f} | {ahead} |")


def table_over_time(rows: list[dict[str, Any]]) -> None:
    """Markdown: what every stream keeps from step to step, a row a method; undefined figures are left out."""
    grouped: dict[tuple, list[dict[str, float | None]]] = defaultdict(list)
    for row in rows:
        grouped[row["stream"], row["window"], row["epsilon"], row["label"]].append(row["over_time"])
    print("| stream | w | epsilon | method | runs |", " | ".join((*LASTING, *OVER_TIME)), "|")
    print("|---" * (5 + len(LASTING) + len(OVER_TIME)) + "|")
    for (stream, window, epsilon, label), runs in sorted(grouped.items()):
        cells = []
        for name in (*LASTING, *OVER_TIME):
            values = [run[name] for run in runs if run[name] is not None]
            text = f"{np.mean(values):.3f} ±{np.std(values):.3f}" if values else ""
            true = runs[0].get(f"true_{name}")
            cells.append(text if true is None else f"{text} ({true:.3f})")
        print(f"| {stream} | {window} | {epsilon:g} | {label} | {len(runs)} |", " | ".join(cells), "|")


def ahead_of(one: dict[str, float] | None, other: dict[str, float]) -> str:
    """On how many of the five metrics ``one`` is better."""
    if one is None or one is other:
        return ""
    signs = {name: 1 if FIGURES[name][1] == "higher" else -1 for name in PAPER}
    return f"{sum(sign * (one[name] - other[name]) > 0 for name, sign in signs.items())} of 5"


def main() -> None:
    every = [name for name, each in generators().items() if Unit.W_EVENT in each.units]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path)
    parser.add_argument("--table", action="store_true", help="print what RESULTS holds, run nothing")
    parser.add_argument("--over-time", action="store_true", help="the table of what stays from step to step")
    parser.add_argument("--stream", action="append", default=[], metavar="NAME=PATH", help=f"{list(LOADERS)}")
    parser.add_argument("--method", action="append", choices=every)
    parser.add_argument("--label", help="the name in the table of one method with other parameters")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--window", action="append", type=int)
    parser.add_argument("--against", default="psgraph", help="the row that the last column compares with")
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--processes", type=int, default=2)
    args = parser.parse_args()
    args.method, args.window = args.method or every, args.window or [5, 10]
    if args.set and not (args.label and len(args.method) == 1):
        parser.error("--set needs one --method and a --label")
    for method in args.method:
        get(method).Params.model_validate(parsed(args.set))
    if args.table and args.over_time:
        table_over_time(read(args.results))
    elif args.table:
        table(read(args.results), args.against)
    else:
        run_missing(args)


if __name__ == "__main__":
    main()
