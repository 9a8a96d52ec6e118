"""Time and memory of one ingest beside Polars' own reading of the same file, and where the time goes.

    python -m benchmarks.ingest --edges 20000000 --nodes 1000000 --ids string --folder /var/tmp/bench

The edge list is kept in the folder and used again when it is there. Ingest and reading have a process each,
and so a peak of their own. Each is done ``--rounds`` times and the round of the least CPU is told: what else
runs on the machine only adds.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from core.graphs.ingest import assemble, relations, universe
from core.graphs.ingest import uploaded as ingest
from core.graphs.ingest.uploaded import IngestLimits, UploadedFile
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.uploads.batches import RawGraph
from core.storage.folders import pack
from core.storage.sealed import seal, unseal

STEPS = 52
KEY = bytes(32)
READING, CHECKS, SORTING = "reading", "checks", "sorting and merging"
FINGERPRINT, WRITING, SEALING = "fingerprint", "writing", "sealing the graph"
UNSEALING = "unsealing the upload"
STAGES = (UNSEALING, READING, CHECKS, SORTING, FINGERPRINT, WRITING, SEALING)
INGEST = (READING, CHECKS, SORTING, FINGERPRINT, WRITING, "rest")
Seconds = dict[str, tuple[float, float]]  # CPU of all threads, wall


def names(numbers: np.ndarray, kind: str) -> pl.Series:
    """Ids of the nodes: the numbers, or strings of 12 characters in a scattered order."""
    series = pl.Series(numbers)
    return (
        series
        if kind == "integer"
        else pl.select(pl.format("u{}", (series * 7_368_787) % 10**11)).to_series()
    )


def generate(folder: Path, edges: int, nodes: int, ids: str, temporal: bool) -> None:
    """``edges.csv``, ``edges.parquet`` with the same rows and, for string ids, ``nodes.csv`` are made."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    if ids == "string":
        pl.DataFrame({"id": names(np.arange(nodes), ids)}).write_csv(folder / "nodes.csv")
    with (folder / "edges.csv").open("wb") as file:
        for start in range(0, edges, 1_000_000):
            size = min(1_000_000, edges - start)
            columns = {
                "source": names(rng.integers(0, nodes, size), ids),
                "target": names(rng.integers(0, nodes, size), ids),
            }
            if temporal:
                columns["time"] = pl.Series(rng.integers(0, 7 * STEPS, size))
            pl.DataFrame(columns).write_csv(file, include_header=start == 0)
    pl.scan_csv(folder / "edges.csv").sink_parquet(folder / "edges.parquet")


class Clock:
    """CPU and wall seconds by stage."""

    def __init__(self) -> None:
        self.spent: dict[str, list[float]] = defaultdict(lambda: [0.0, 0.0])

    def timed(self, stage: str, work: Callable[..., Any]) -> Callable[..., Any]:
        """Do the work as it is, and count its seconds for the stage."""

        def counted(*given: Any, **named: Any) -> Any:
            cpu, wall = time.process_time(), time.perf_counter()
            try:
                return work(*given, **named)
            finally:
                self.spent[stage][0] += time.process_time() - cpu
                self.spent[stage][1] += time.perf_counter() - wall

        return counted

    def each(self, stage: str, items: Iterator[Any] | None) -> Iterator[Any] | None:
        """The same items; the time that each takes to come counts for the stage."""
        return None if items is None else iter(self.timed(stage, lambda: next(items, None)), None)

    def seconds(self) -> Seconds:
        return {stage: (cpu, wall) for stage, (cpu, wall) in self.spent.items()}


def watched(clock: Clock) -> None:
    """The stages of :func:`core.graphs.ingest.uploaded.canonicalise` count their seconds on the clock."""
    opened = ingest._read

    def read(*given: Any) -> RawGraph:
        raw = opened(*given)
        return RawGraph(clock.each(READING, raw.edges), clock.each(READING, raw.nodes), raw.directed)

    ingest._read = read
    parts = {
        CHECKS: [
            *((relations.EdgeCollector, each) for each in ("resolve", "keep")),
            *((universe.NodeCollector, each) for each in ("resolve", "keep", "duplicates", "tables")),
        ],
        SORTING: [(assemble, "merge_edges"), (relations.EdgeCollector, "columns"), (assemble.Graph, "build")],
        FINGERPRINT: [(ingest, "fingerprint")],
        WRITING: [(ingest, "write_graph")],
    }
    for stage, places in parts.items():
        for owner, name in places:
            setattr(owner, name, clock.timed(stage, getattr(owner, name)))


def ingested(folder: Path, kind: str, nodes: int, ids: str, temporal: bool, clock: Clock) -> dict[str, int]:
    """One ingest from the sealed upload to the sealed graph: what was kept."""
    schema = GraphSchema(
        node_types=(NodeType(count=nodes if ids == "integer" else None),),
        edge_types=(EdgeType(temporal=temporal),),
        time=TimeGrid(width=7, count=STEPS) if temporal else None,
    )
    files = {"edges": UploadedFile(folder / f"edges.{kind}", kind)}
    if ids == "string":
        files["nodes"] = UploadedFile(folder / "nodes.csv", "csv")

    def through(chunks: Iterator[bytes]) -> int:
        return sum(map(len, chunks))

    for file in files.values():
        with file.path.open("rb") as opened:
            sealed = list(seal(iter(lambda: opened.read(1 << 20), b""), KEY, context="upload"))
        clock.timed(UNSEALING, through)(unseal(sealed, KEY, context="upload"))
        del sealed
    report = clock.timed("ingest", ingest.canonicalise)(
        files, schema, folder / "out", IngestLimits(), fingerprint_key=KEY
    )
    clock.timed(SEALING, through)(seal(pack(folder / "out"), KEY, context="graph"))
    return {
        "rows": report.rows_read,
        "edges": sum(counts["edges"] for counts in report.edges.values()),
        "bytes_read": report.bytes_read,
        "bytes_stored": report.bytes_stored,
    }


def measure(asked: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """The best round of what is asked for, in this process."""
    rounds: list[Seconds] = []
    kept: dict[str, int] = {}
    for path in (folder / f"edges.{asked.format}", folder / "nodes.csv"):
        if path.exists():
            path.read_bytes()  # in the cache of files, for both alike
    clock = Clock()
    watched(clock)
    for _ in range(asked.rounds):
        clock.spent.clear()
        if asked.measure == "polars":
            reader = pl.read_csv if asked.format == "csv" else pl.read_parquet
            clock.timed("ingest", reader)(folder / f"edges.{asked.format}")
        else:
            kept = ingested(folder, asked.format, asked.nodes, asked.ids, asked.temporal, clock)
        rounds.append(clock.seconds())
    best = min(rounds, key=lambda seconds: seconds["ingest"][0])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"seconds": best, "peak_rss_bytes": peak, **kept}


def show(asked: argparse.Namespace, own: dict[str, Any], polars: dict[str, Any]) -> None:
    """Print the table of stages, and the ratios."""
    read, spent = polars["seconds"]["ingest"], own["seconds"]
    inside = [spent.get(stage, (0, 0)) for stage in INGEST]
    spent["rest"] = tuple(spent["ingest"][i] - sum(each[i] for each in inside) for i in (0, 1))
    rows = {stage: spent[stage] for stage in (*STAGES, "rest") if stage in spent}
    rows |= {"**ingest**, without (un)sealing": spent["ingest"], "Polars' reading of the edges": read}
    print(f"{own['rows']:,} rows of {asked.ids} ids, {asked.format}, {own['edges']:,} edges kept\n")
    print("| stage | CPU s | wall s | CPU, times Polars' reading |")
    print("|---|---:|---:|---:|")
    for stage, (cpu, wall) in rows.items():
        print(f"| {stage} | {cpu:.2f} | {wall:.2f} | {cpu / read[0]:.1f} |")
    peak, other = (each["peak_rss_bytes"] / 2**30 for each in (own, polars))
    print(
        f"\nwall: {spent['ingest'][1] / read[1]:.1f} times; peak {peak:.2f} GiB, Polars {other:.2f}; ", end=""
    )
    print(f"stored {own['bytes_stored']:,} bytes")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--ids", choices=("integer", "string"), default="integer")
    parser.add_argument("--format", choices=("csv", "parquet"), default="csv")
    parser.add_argument("--temporal", action="store_true")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--measure", choices=("ingest", "polars"), help="only that, in this process")
    asked = parser.parse_args()
    shape = f"{asked.edges}-{asked.nodes}-{asked.ids}{'-temporal' if asked.temporal else ''}"
    folder = asked.folder / shape
    if asked.measure:
        print(json.dumps(measure(asked, folder)))
        return
    if not (folder / "edges.parquet").exists():
        generate(folder, asked.edges, asked.nodes, asked.ids, asked.temporal)
    command = [sys.executable, "-m", "benchmarks.ingest", *sys.argv[1:], "--measure"]
    own, polars = (
        json.loads(subprocess.run([*command, what], check=True, capture_output=True).stdout)
        for what in ("ingest", "polars")
    )
    show(asked, own, polars)


if __name__ == "__main__":
    main()
