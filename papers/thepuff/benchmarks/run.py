"""CPU seconds of every phase and peak memory of one whole run of THEPUFF as published, on a research graph.

    OMP_NUM_THREADS=1 python -m papers.thepuff.benchmarks.run --data FOLDER
    OMP_NUM_THREADS=1 python -m papers.thepuff.benchmarks.run --data FOLDER --graph dblp --set variant=sound

Variant paper at eps_minus 8, unless set otherwise: 10 epochs of the utility discriminator and 5 adversarial
ones in batches of 64, none cut short, then generation and assembly. Measured as in
:mod:`benchmarks.anchored_scale`, after a release of a thinned graph. Bars on ml-100k: 200 CPU seconds in all,
12 an adversarial epoch, 1,000 MB; the reference's program: 1,700, 54 to 71, 3,000.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.anchored_scale import child, serve
from benchmarks.typed_graphs import DATASETS
from papers.thepuff.benchmarks.scale import DELTA_ATTO, PHASES

WHOLE = {"variant": "paper", "most_batches": "1000000", "epochs": "5"}


def stored(name: str, data: Path, folder: Path) -> tuple[str, str]:
    """A thinned graph and the whole one, in their stored form."""
    from benchmarks.typed_graphs import load_dataset
    from core.graphs.stored.whole import write_graph
    from papers.thepuff.benchmarks.tables import thinned

    graph = load_dataset(name, data)
    places = folder / "small", folder / "whole"
    for place, each in zip(places, (thinned(graph), graph), strict=True):
        write_graph(each, place)
    return str(places[0]), str(places[1])


def told(found: dict[str, Any], epochs: int) -> str:
    """Markdown: a line of totals, and a table of the phases."""
    seconds = found["seconds"]
    lines = [
        f"{found['edges']:,} edges in, {found['drawn']:,} out: {sum(seconds.values()):.0f} CPU s, "
        f"{seconds['adversarial'] / epochs:.1f} an adversarial epoch; {found['peak_megabytes']:,} MB, "
        f"{found['idle_megabytes']:,} before\n",
        f"| {' | '.join(seconds)} |",
        "|---" * len(seconds) + "|",
        f"| {' | '.join(f'{each:.1f}' for each in seconds.values())} |",
    ]
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, help="the folder of the graphs' folders")
    parser.add_argument("--graph", choices=list(DATASETS), default="ml-100k")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        serve(args.child, PHASES)
        return
    parameters = WHOLE | dict(pair.split("=", 1) for pair in args.set)
    asked = {"method": "thepuff", "parameters": parameters, "epsilon": 8.0, "delta_atto": DELTA_ATTO}
    with tempfile.TemporaryDirectory() as scratch:
        small, folder = stored(args.graph, args.data, Path(scratch))
        found = child("papers.thepuff.benchmarks.run", measure=asked | {"small": small, "folder": folder})
    print(f"**{args.graph}**, {asked}\n\n{told(found, int(parameters['epochs']))}")


if __name__ == "__main__":
    main()
