"""How long the first releases without a service take, imports included, each in a process of its own.

    python -m benchmarks.local_release [--edges Facebook.txt] [--python PYTHON]

The karate club by ``auto``; and, where ``--edges`` names a file of two integers a line, that graph at
epsilon 1 with as many nodes as its largest number asks for. Each three times: with no kernel compiled, with
those that are shipped (`make kernels`), and again. ``--python``: the interpreter of a fresh environment with
the engine. Wall seconds depend on what else runs; processor seconds less.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from llvmlite import binding

HOST = binding.get_host_cpu_name()
KARATE = """
import networkx as nx
import graphveil as gv
release = gv.synthesize(nx.karate_club_graph(), 1, budget=gv.Budget("budget.json", epsilon=4))
"""
EDGES = """
import polars as pl
import graphveil as gv
edges = pl.read_csv({path!r}, separator=" ", has_header=False, new_columns=["source", "target"])
nodes = int(edges.max_horizontal().max()) + 1
release = gv.synthesize(edges, 1, nodes=nodes, budget=gv.Budget.unlimited())
"""
MEASURED = """
import json, resource, sys, time
began = time.perf_counter()
{lines}
used = resource.getrusage(resource.RUSAGE_SELF)
taken = {{"wall": time.perf_counter() - began, "cpu": used.ru_utime + used.ru_stime}}
print(json.dumps(taken | {{"edges": release.report["statistics"]["edge_types"][0]["edges"]}}))
"""


def taken(python: str, lines: str, folder: str, processor: str | None) -> dict[str, float]:
    """Run the lines in a process of their own; nothing is shipped for a ``processor`` that is this one."""
    named = {} if processor is None else {"NUMBA_CPU_NAME": processor}
    environment = {**os.environ, **named, "NUMBA_CACHE_DIR": str(Path(folder) / f"kernels-{processor}")}
    done = subprocess.run(
        [python, "-c", MEASURED.format(lines=lines)],
        env=environment,
        cwd=folder,
        stdout=subprocess.PIPE,
        check=True,
    )
    found: dict[str, float] = json.loads(done.stdout.splitlines()[-1])
    return found


def main() -> None:
    """Prints a row a process."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--edges", type=Path)
    parser.add_argument("--python", default=sys.executable)
    asked = parser.parse_args()
    graphs = {"karate club": KARATE}
    if asked.edges is not None:
        graphs[asked.edges.stem] = EDGES.format(path=str(asked.edges.resolve()))
    print("| release, imports included | wall s | CPU s | edges |")
    print("|---|---:|---:|---:|")
    for name, lines in graphs.items():
        with tempfile.TemporaryDirectory() as folder:
            for which, processor in (("nothing compiled", HOST), ("first", None), ("again", None)):
                found = taken(asked.python, lines, folder, processor)
                row = f"{found['wall']:.1f} | {found['cpu']:.1f} | {found['edges']:,.0f}"
                print(f"| {name}, {which} | {row} |", flush=True)


if __name__ == "__main__":
    main()
