"""Time and memory of one ingest: writes a random edge list, ingests it, prints seconds and peak memory.

    python -m benchmarks.ingest --edges 20000000 --nodes 1000000 --ids string --folder /var/tmp/bench

The edge list is kept in the folder and used again when it is there. The peak is that of a fresh process that
does nothing but ingest.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import polars as pl

from core.graphs.ingest import IngestLimits, UploadedFile, canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid

STEPS = 52


def names(numbers: np.ndarray, kind: str) -> pl.Series:
    """Ids of the nodes: the numbers, or strings of 12 characters in a scattered order."""
    series = pl.Series(numbers)
    return (
        series
        if kind == "integer"
        else pl.select(pl.format("u{}", (series * 7_368_787) % 10**11)).to_series()
    )


def generate(folder: Path, edges: int, nodes: int, ids: str, temporal: bool) -> None:
    """``edges.csv`` and, for string ids, ``nodes.csv`` lie in the folder."""
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


def ingest(folder: Path, nodes: int, ids: str, temporal: bool) -> dict[str, float | int]:
    """Seconds, peak memory and what was kept."""
    schema = GraphSchema(
        node_types=(NodeType(count=nodes if ids == "integer" else None),),
        edge_types=(EdgeType(temporal=temporal),),
        time=TimeGrid(width=7, count=STEPS) if temporal else None,
    )
    files = {"edges": UploadedFile(folder / "edges.csv", "csv")}
    if ids == "string":
        files["nodes"] = UploadedFile(folder / "nodes.csv", "csv")
    begun = time.perf_counter()
    report = canonicalise(files, schema, folder / "out", IngestLimits(), fingerprint_key=bytes(32))
    seconds = time.perf_counter() - begun
    return {
        "seconds": round(seconds, 2),
        "peak_rss_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        "rows": report.rows_read,
        "edges": sum(counts["edges"] for counts in report.edges.values()),
        "bytes_read": report.bytes_read,
        "bytes_stored": report.bytes_stored,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--edges", type=int, default=20_000_000)
    parser.add_argument("--nodes", type=int, default=1_000_000)
    parser.add_argument("--ids", choices=("integer", "string"), default="integer")
    parser.add_argument("--temporal", action="store_true")
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--measure", action="store_true", help="ingest only, in this process")
    asked = parser.parse_args()
    shape = f"{asked.edges}-{asked.nodes}-{asked.ids}{'-temporal' if asked.temporal else ''}"
    folder = asked.folder / shape
    if asked.measure:
        print(json.dumps(ingest(folder, asked.nodes, asked.ids, asked.temporal)))
        return
    if not (folder / "edges.csv").exists():
        generate(folder, asked.edges, asked.nodes, asked.ids, asked.temporal)
    subprocess.run([sys.executable, "-m", "benchmarks.ingest", *sys.argv[1:], "--measure"], check=True)


if __name__ == "__main__":
    main()
