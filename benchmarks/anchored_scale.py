"""CPU seconds of every phase and peak memory of ``anchored``, by size, on generated typed temporal graphs.

    python -m benchmarks.anchored_scale                               both shapes at 1/100, 1/10 and whole
    python -m benchmarks.anchored_scale --shape taobao --share 1 --epsilon 2

Each size has a process of its own; another one generates and stores the graph. CPU time is user and system
time of all threads, after a release of a small graph of the same shape. Peak memory is that of the whole
process with its imports and the graph. ``growth`` is the exponent of CPU seconds in the edges, from one size
to the next. Bars for whole shapes: 600 CPU seconds, 8,000 MB.
"""

from __future__ import annotations

import argparse
import importlib
import json
import math
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

SHARES = (0.01, 0.1, 1.0)
SMALL = 0.002
NANO = 1_000_000_000

# Phase: what is timed as it, as module, then name in it. Time in an inner phase is not the outer one's.
PHASES = {
    "noisy numbers": ("core.privacy.session.private_graph", "PrivateCell.laplace"),
    "evidence": ("core.methods._shared.slots.evidence", "measure"),
    "degrees": ("core.methods._shared.relations.fit", "fitted_sides"),
    "static fit": ("core.methods._shared.relations.static", "fit"),
    "static draw": ("core.methods._shared.relations.static", "draw"),
    "stubs": ("core.methods._shared.relations.draw", "matched"),
    "filling": ("core.methods._shared.relations.draw", "completed"),
    "chain": ("core.methods._shared.slots.markov_chain", "rewired"),
}

Phases = dict[str, tuple[str, str]]


class Clock:
    """CPU seconds by phase; what is spent in no phase is ``rest``."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {"rest": 0.0}
        self._open = ["rest"]
        self._since = time.process_time()

    def _turn(self) -> None:
        now = time.process_time()
        self.seconds[self._open[-1]] = self.seconds.get(self._open[-1], 0.0) + now - self._since
        self._since = now

    def timed(self, phase: str, call: Callable[..., Any]) -> Callable[..., Any]:
        """``call``, whose time counts as ``phase``."""

        def wrapped(*args: Any, **kwargs: Any) -> Any:
            self._turn()
            self._open.append(phase)
            try:
                return call(*args, **kwargs)
            finally:
                self._turn()
                self._open.pop()

        return wrapped

    @contextmanager
    def over(self, phases: Phases) -> Iterator[None]:
        """The phases' functions are timed while the context lasts. A name may lead into a class: ``A.f``."""
        found = []
        for phase, (module, name) in phases.items():
            owner: Any = importlib.import_module(module)
            *classes, last = name.split(".")
            for each in classes:
                owner = getattr(owner, each)
            found.append((owner, last, owner.__dict__[last], self.timed(phase, getattr(owner, last))))
        for owner, last, _, call in found:
            setattr(owner, last, call)
        self._turn()
        self.seconds = {"rest": 0.0}
        try:
            yield
        finally:
            self._turn()
            for owner, last, call, _ in found:
                setattr(owner, last, call)


def write(shape: str, share: float, folder: str) -> None:
    """A generated graph in its stored form."""
    from benchmarks.typed_graphs import SHAPES, shaped
    from core.graphs.stored.whole import write_graph

    write_graph(shaped(SHAPES[shape].scaled(share) if share < 1 else SHAPES[shape]), Path(folder))


def release(
    method: str, parameters: dict[str, Any], epsilon: float, delta_atto: int, folder: str, phases: Phases
) -> dict[str, Any]:
    """One release under unit ``event``: edges in and out, and CPU seconds by phase."""
    from core.graphs.stored.whole import read_graph
    from core.methods.base import PublicFacts, no_progress
    from core.methods.registry import get
    from core.privacy.accounting.meter import MemoryRecorder, Meter
    from core.privacy.entropy import noise_generator
    from core.privacy.session.private_graph import PrivateGraph
    from core.privacy.units import Unit

    graph = read_graph(Path(folder))
    generator, clock = get(method), Clock()
    names = tuple(kind.name for kind in graph.schema.edge_types)
    with clock.over(phases):
        params = generator.Params.model_validate(parameters)
        facts = PublicFacts(graph.schema, Unit.EVENT, None, round(epsilon * NANO), delta_atto, names)
        plan = generator.plan(params, facts)
        model = generator.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)
        drawn = model.sample(noise_generator(), no_progress)
    return {
        "edges": sum(table.count for table in graph.edges.values()),
        "drawn": sum(table.count for table in drawn.edges.values()),
        "seconds": {phase: round(spent, 3) for phase, spent in clock.seconds.items()},
    }


def measured(small: str, folder: str, **asked: Any) -> dict[str, Any]:
    """The release of ``folder``, after one of ``small``, with the largest memory of this process."""
    release(folder=small, **asked)
    idle = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    found = release(folder=folder, **asked)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return found | {"idle_megabytes": round(idle), "peak_megabytes": round(peak)}


def child(module: str, **asked: Any) -> dict[str, Any]:
    """What a fresh process of ``module`` prints as JSON when given ``asked``."""
    command = [sys.executable, "-m", module, "--child", json.dumps(asked)]
    found = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return json.loads(found) if found.strip() else {}


def growth(rows: list[tuple[float, float]]) -> list[float | None]:
    """The exponent of seconds in edges from each (edges, seconds) to the next; None for the first."""
    found: list[float | None] = [None]
    for (m, s), (n, t) in pairwise(rows):
        found.append(math.log(max(t, 1e-9) / max(s, 1e-9)) / math.log(n / m))
    return found


def table(module: str, shapes: list[str], sizes: list[float], asked: dict[str, Any], phases: Phases) -> None:
    """A Markdown table a shape, a line printed as soon as its size is measured."""
    columns = [*phases, "rest"]
    for shape in shapes:
        with tempfile.TemporaryDirectory() as scratch:
            small = str(Path(scratch, "small"))
            child(module, write={"shape": shape, "share": SMALL, "folder": small})
            rows: list[tuple[float, float]] = []
            for share in sorted(sizes):
                stored = str(Path(scratch, str(share)))
                child(module, write={"shape": shape, "share": share, "folder": stored})
                found = child(module, measure=asked | {"small": small, "folder": stored})
                seconds = found["seconds"]
                if not rows:
                    print(f"\n**{shape}**, {json.dumps(asked)}\n")
                    titles = ["edges in", "edges out", "CPU s", "growth", *columns, "MB", "MB before"]
                    print("|", " | ".join(titles), "|")
                    print("|---" * len(titles) + "|")
                rows.append((found["edges"], sum(seconds.values())))
                exponent = growth(rows)[-1]
                texts = [f"{found['edges']:,}", f"{found['drawn']:,}", f"{rows[-1][1]:.1f}"]
                texts.append("" if exponent is None else f"{exponent:.2f}")
                texts += [f"{seconds.get(phase, 0.0):.2f}" for phase in columns]
                texts += [f"{found['peak_megabytes']:,}", f"{found['idle_megabytes']:,}"]
                print("|", " | ".join(texts), "|", flush=True)


def serve(text: str, phases: Phases) -> None:
    """What :func:`child` asked for."""
    match json.loads(text):
        case {"write": asked}:
            write(**asked)
        case {"measure": asked}:
            print(json.dumps(measured(phases=phases, **asked)))


def arguments(description: str) -> argparse.Namespace:
    """The command line that both scale benchmarks share."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--shape", action="append", choices=["taobao", "ml-20m"])
    parser.add_argument("--share", action="append", type=float)
    parser.add_argument("--epsilon", type=float, default=4.0)
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE")
    parser.add_argument("--child", help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> None:
    args = arguments(__doc__.splitlines()[0])
    if args.child:
        serve(args.child, PHASES)
        return
    parameters = dict(pair.split("=", 1) for pair in args.set)
    asked = {"method": "anchored", "parameters": parameters, "epsilon": args.epsilon, "delta_atto": 0}
    shapes, sizes = args.shape or ["taobao", "ml-20m"], args.share or list(SHARES)
    table("benchmarks.anchored_scale", shapes, sizes, asked, PHASES)


if __name__ == "__main__":
    main()
