"""What a release and an ingest cost beside floors and what one would pick instead, before and after.

    python -m benchmarks.peers --edges Facebook.txt    a file of edges, and what is generated
    python -m benchmarks.peers --edges Facebook.txt --before ../former   and another checkout, by turns
    python -m benchmarks.peers --tasks ingest --rounds 5 --only csv
    python -m benchmarks.peers --large                                   2M edges too

Every row is measured in a process of its own, once for kernels and caches, then ``--times`` times; rounds go
through all rows by turns, so that what else runs on the machine meets each alike. Prints a Markdown table of
CPU seconds, user and system time of all threads: the median, the least and the most, the wall's median, and
the median over the group's floor. Epsilon 1, unit edge. What is not installed is skipped by its name.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.util
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

ROUNDS, TIMES = 3, 3
SMALL = 200_000, 2_000_000  # nodes and rows of the upload
OURS = ("dcsbm", "psgraph", "privgraph")
START = "import runpy, sys; runpy.run_path(sys.argv.pop(1), run_name='__main__')"
Work = Callable[[], Any]


@dataclass(frozen=True)
class Row:
    """One line of a table. ``ours``: it has a line for ``--before`` too; ``needs``: a library."""

    name: str
    make: Callable[[Path, str], Work]
    ours: bool = False
    needs: str = ""


def _graph(source: str) -> Any:
    """The graph that ``source`` names: ``collaboration``, ``large``, or a file of edges."""
    from benchmarks import graphs, load  # a checkout of another day may lack what is not asked of it

    if source == "collaboration":
        return graphs.collaboration_graph(12_000, 11_000)
    return graphs.community_graph(*SMALL) if source == "large" else load.load_static(Path(source))


def _release(method: str) -> Callable[[Path, str], Work]:
    def make(_: Path, source: str) -> Work:
        from benchmarks.static_tables import release

        graph = _graph(source)
        return lambda: release(method, graph, 1.0, {})

    return make


def _floor(_: Path, source: str) -> Work:
    """Noise on every degree, and as many edges at random: less than any private graph of degrees."""
    from core.privacy.mechanisms.noise import discrete_laplace

    cell = _graph(source).cell("edge", None)
    nodes, edges, rng = cell.source_count, len(cell.source), np.random.default_rng(0)

    def work() -> np.ndarray:
        degrees = np.bincount(np.concatenate([cell.source, cell.target]), minlength=nodes)
        noisy = np.maximum(discrete_laplace(degrees, 2, 10**9), 0)
        ends = rng.permutation(np.repeat(np.arange(nodes), noisy))
        return np.unique(ends[:edges].astype(np.int64) * nodes + ends[-edges:])

    return work


def _networkit(_: Path, source: str) -> Work:
    """Degrees without noise, which NetworKit links at random."""
    import networkit

    cell = _graph(source).cell("edge", None)
    degrees = np.bincount(np.concatenate([cell.source, cell.target])).tolist()
    return lambda: networkit.generators.ConfigurationModelGenerator(degrees, True).generate()


def _networkx(_: Path, source: str) -> Work:
    import networkx

    cell = _graph(source).cell("edge", None)
    degrees = np.bincount(np.concatenate([cell.source, cell.target])).tolist()
    return lambda: networkx.Graph(networkx.configuration_model(degrees))


def _ingest(folder: Path, source: str) -> Work:
    from core.graphs.ingest.uploaded import IngestLimits, UploadedFile, canonicalise
    from core.graphs.schema import EdgeType, GraphSchema, NodeType

    schema = GraphSchema(node_types=(NodeType(count=SMALL[0]),), edge_types=(EdgeType(),))
    files = {"edges": UploadedFile(folder / f"edges.{source}", source)}

    def work() -> None:
        with tempfile.TemporaryDirectory(dir=folder) as out:
            canonicalise(files, schema, Path(out) / "graph", IngestLimits(), fingerprint_key=bytes(32))

    return work


def _polars(folder: Path, source: str) -> Work:
    import polars

    reader = polars.read_csv if source == "csv" else polars.read_parquet
    return lambda: reader(folder / f"edges.{source}")


def _pandas(folder: Path, source: str) -> Work:
    import pandas

    reader = pandas.read_csv if source == "csv" else pandas.read_parquet
    return lambda: reader(folder / f"edges.{source}").drop_duplicates()


def _duckdb(folder: Path, source: str) -> Work:
    import duckdb

    query = f"select distinct source, target from '{folder / f'edges.{source}'}' order by all"
    return lambda: duckdb.sql(query).arrow()


TASKS: dict[str, tuple[Row, ...]] = {
    "release": (
        Row("floor: noise on degrees, random edges", _floor),
        *(Row(each, _release(each), ours=True) for each in OURS),
        Row("NetworKit, true degrees, not private", _networkit, needs="networkit"),
        Row("NetworkX, true degrees, not private", _networkx, needs="networkx"),
    ),
    "ingest": (
        Row("floor: Polars reads it", _polars),
        Row("ingest", _ingest, ours=True),
        Row("pandas reads it, drops repeats", _pandas, needs="pandas"),
        Row("DuckDB reads it, sorts what is distinct", _duckdb, needs="duckdb"),
    ),
}


def upload(folder: Path) -> None:
    """``edges.csv`` and ``edges.parquet`` with the same rows."""
    import polars

    rng = np.random.default_rng(0)
    source, target = rng.integers(0, SMALL[0], (2, SMALL[1]))
    table = polars.DataFrame({"source": source, "target": target})
    table.write_csv(folder / "edges.csv")
    table.write_parquet(folder / "edges.parquet")


def measured(row: Row, folder: Path, source: str, times: int) -> list[tuple[float, float]]:
    """CPU and wall seconds of each time, in this process, after one that does not count."""
    work = row.make(folder, source)
    work()
    found = []
    for _ in range(times):
        cpu, wall = time.process_time(), time.perf_counter()
        work()
        found.append((time.process_time() - cpu, time.perf_counter() - wall))
    return found


def child(tree: Path, task: str, number: int, folder: Path, source: str, times: int) -> list[list[float]]:
    """The same in a process of its own, with the code of ``tree``."""
    told = ["--child", task, str(number), str(folder), source, str(times)]
    paths = os.pathsep.join([str(tree), str(tree / "client")])
    done = subprocess.run(
        [sys.executable, "-c", START, str(Path(__file__).resolve()), *told],
        cwd=tree,
        env=os.environ | {"PYTHONPATH": paths},
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"{TASKS[task][number].name} on {source} failed:\n{done.stderr[-2_000:]}")
    return json.loads(done.stdout.splitlines()[-1])


def lines(task: str, trees: dict[str, Path]) -> Iterator[tuple[str, int, Path]]:
    """Title, number and code of each row that can be measured here; the others are told."""
    here = next(iter(trees.values()))
    for number, row in enumerate(TASKS[task]):
        if row.needs and importlib.util.find_spec(row.needs) is None:
            print(f"skipped: {row.name} ({row.needs} is not installed)", file=sys.stderr)
        elif row.ours:
            yield from ((f"{row.name}{title}", number, tree) for title, tree in trees.items())
        else:
            yield row.name, number, here


def table(task: str, source: str, trees: dict[str, Path], folder: Path, asked: argparse.Namespace) -> None:
    """Measure the rows by turns, and print them."""
    rows = list(lines(task, trees))
    found: dict[str, list[list[float]]] = defaultdict(list)
    for _ in range(asked.rounds):
        for title, number, tree in rows:
            found[title] += child(tree, task, number, folder, source, asked.times)
    print(f"\n{task}, {Path(source).name}: {asked.rounds} rounds of {asked.times}\n")
    print("| | CPU s | least to most | wall s | times the floor |\n|---|---:|---:|---:|---:|")
    least = median(cpu for cpu, _ in found[rows[0][0]])
    for title, _, _ in rows:
        cpu, wall = zip(*found[title], strict=True)
        print(
            f"| {title} | {median(cpu):.2f} | {min(cpu):.2f} to {max(cpu):.2f} | {median(wall):.2f} "
            f"| {median(cpu) / least:.1f} |",
            flush=True,
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--tasks", nargs="+", choices=list(TASKS), default=list(TASKS))
    parser.add_argument("--edges", type=Path, nargs="*", default=[], help="files of edges to release")
    parser.add_argument("--before", type=Path, help="another checkout, measured beside this one")
    parser.add_argument("--only", nargs="+", metavar="SOURCE", help="csv, parquet, collaboration, large")
    parser.add_argument("--large", action="store_true", help="release 2M edges too")
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--times", type=int, default=TIMES, help="runs in each round")
    parser.add_argument("--child", nargs=5, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.child:
        task, number, folder, source, times = asked.child
        with contextlib.redirect_stdout(sys.stderr):
            seconds = measured(TASKS[task][int(number)], Path(folder), source, int(times))
        print(json.dumps(seconds))
        return
    trees = {"": Path(__file__).resolve().parent.parent}
    if asked.before:
        trees = {", before": asked.before.resolve(), ", after": trees[""]}
    released = [*(str(each.resolve()) for each in asked.edges), "collaboration", *["large"][: asked.large]]
    with tempfile.TemporaryDirectory() as folder:
        if "ingest" in asked.tasks:
            upload(Path(folder))
        for task in asked.tasks:
            for source in released if task == "release" else ("csv", "parquet"):
                if not asked.only or source in asked.only:
                    table(task, source, trees, Path(folder), asked)


if __name__ == "__main__":
    main()
