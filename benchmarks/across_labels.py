"""Triangles closed across labels too, beside within labels alone as ``dcsbm`` does.

    python -m benchmarks.across_labels RESULTS.jsonl --data FOLDER --epsilons 0.5 1 2 4 --runs 10
    python -m benchmarks.across_labels RESULTS.jsonl --table

A copy of the code in which two lines are changed (``CHANGES``) draws the same number of releases, each of a
model that is paid for anew. Cells: graphs of ``benchmarks.static_graphs`` and epsilons at which the default
reads several labels; with one label nothing changes. Unit edge. RESULTS holds one line a run.
"""

from __future__ import annotations

import argparse
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np

import core
from benchmarks.freed_shares import SCOPES
from benchmarks.gathering import drawn, evidence_of, loss, paid
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.static_graphs import SOURCES, load
from core.evaluation.view import UndirectedView
from core.methods.dcsbm.fit import LEAST_EVIDENCE

CHANGED = Path("core/methods/_shared/rewiring/moves.py")
CHANGES: Mapping[str, str] = {
    "(large and labels[y] == labels[x] and degree_of(start, y) >= hub)": (
        "(large and degree_of(start, y) >= hub)"
    ),
    "(labels[a] != labels[x] and labels[b] != labels[x])": (
        "(labels[a] != labels[y] and labels[b] != labels[x])"
    ),
}
"""Who may be linked, and which swaps keep the number of edges between each two labels."""
WAYS = ("within", "across")
SHOWN = ("mean_local_clustering", "modularity", "transitivity", "distance_total_variation")


def runs_of(asked: argparse.Namespace) -> None:
    """Both ways have their runs: this process the one that it was asked for, or a child each."""
    if asked.way is None:
        here = Path(core.__file__).parents[1]
        places = [
            str(asked.results.resolve()),
            "--data",
            str(asked.data.resolve()),
            "--runs",
            str(asked.runs),
        ]
        cells = ["--graphs", *asked.graphs, "--epsilons", *map(str, asked.epsilons)]
        with tempfile.TemporaryDirectory() as folder:
            for way, root in (("within", here), ("across", changed(here, Path(folder)))):
                call = [sys.executable, "-m", "benchmarks.across_labels", *places, *cells, "--way", way]
                subprocess.run(call, cwd=root, check=True)
        return
    for name in asked.graphs:
        graph = load(name, asked.data)
        original = UndirectedView.of(graph.cell("edge", None))
        for epsilon in asked.epsilons:
            if evidence_of(graph, epsilon) < LEAST_EVIDENCE:
                continue
            key = {"graph": name, "epsilon": epsilon, "way": asked.way}
            had = sum(key.items() <= line.items() for line in read(asked.results))
            for _ in range(asked.runs - had):
                add(asked.results, {**key, "errors": drawn(paid(graph, epsilon, None), original)})


def changed(here: Path, folder: Path) -> Path:
    """A copy of the code with its two lines changed."""
    for room in ("core", "papers", "benchmarks"):
        shutil.copytree(here / room, folder / room, ignore=shutil.ignore_patterns("__pycache__", "compiled"))
    text = (folder / CHANGED).read_text()
    for line, other in CHANGES.items():
        if text.count(line) != 1:
            raise ValueError(f"{CHANGED} has {text.count(line)} times: {line}")
        text = text.replace(line, other)
    (folder / CHANGED).write_text(text)
    return folder


def tables(lines: list[Line]) -> Iterator[str]:
    """A row a cell, and the mean of the differences."""
    names = ("shape", *SHOWN)
    yield "| graph, epsilon | " + " | ".join(f"{name}, within | across" for name in names) + " |"
    yield "|---" * (1 + 2 * len(names)) + "|"
    differences = []
    for cell in sorted({(line["epsilon"], line["graph"]) for line in lines}):
        both = [
            [line for line in lines if (line["epsilon"], line["graph"], line["way"]) == (*cell, way)]
            for way in WAYS
        ]
        told = [[loss(own, SCOPES["shape"]), *(loss(own, [name]) for name in SHOWN)] for own in both if own]
        if len(told) < len(WAYS):
            continue
        within, across = np.array(told)
        differences.append(across - within)
        pairs = " | ".join(f"{one:.3f} | {other:.3f}" for one, other in zip(within, across, strict=True))
        yield f"| {cell[1]}, {cell[0]:g} | {pairs} |"
    found = np.array(differences)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    shown = " | ".join(
        f"| {mean:+.3f} ± {own:.3f}" for mean, own in zip(found.mean(axis=0), error, strict=True)
    )
    yield f"| across less within, {len(found)} cells | {shown} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--graphs", nargs="+", choices=list(SOURCES), default=list(SOURCES), metavar="GRAPH")
    parser.add_argument("--epsilons", nargs="+", type=float, default=[0.5, 1.0, 2.0, 4.0])
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--way", choices=WAYS, help="this way alone, in this process")
    run_or_print(parser, parser.parse_args(), runs_of, tables)


if __name__ == "__main__":
    main()
