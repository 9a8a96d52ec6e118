"""Vectors of nodes in whole releases: the noise that each unit pays for, and the curators' comparison.

    python -m benchmarks.vector_releases [--data FOLDER] [--runs 3] [--epsilon E ...]

The first table: what `auto` plans for 1,000 nodes with one category and one vector beside it: the standard
deviation of noise in each count, at a delta of a millionth (the lesser of Laplace and Gaussian noise) of that
without one (Laplace). Not w-event: its accounts are of pure epsilon, and take no delta. The second, with
``--data``: Cora and Citeseer, papers by class and words (64 at most of a paper are declared), released by
`auto` under unit edge at a delta of a millionth: original against synthetic.
"""

from __future__ import annotations

import argparse
import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from benchmarks.node_vectors import DELTA_ATTO, MOST_WORDS, WORDS, words
from core.evaluation.node_vectors import compare_vectors
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods._shared.node_values.share import PURPOSE, granted_of
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.measurements import deviation
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import ROWS, WHOLE_GRAPH
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.settle import settle

TOPIC = Attribute(name="topic", protection="protected", categories=("a", "b", "c", "d"))
STEPS, NODES = 4, 1_000


def planned(unit: Unit, length: int, epsilon: float, delta_atto: int) -> float:
    """The standard deviation of the noise in a vector's counts."""
    timed, persons = unit is Unit.PAIR, unit is Unit.NODE
    vector = Attribute(name="v", kind="vector", protection="protected", bounds=(-1, 1), length=length)
    kind = NodeType(count=NODES, attributes=(TOPIC, vector), protected=persons)
    schema = GraphSchema(
        node_types=(kind,),
        edge_types=(EdgeType(temporal=timed),),
        time=TimeGrid(start=0, width=1, count=STEPS) if timed else None,
    )
    facts = PublicFacts(schema, unit, None, round(epsilon * NANO), delta_atto, ("edge",))
    plan = settle("auto", {}, (), facts, {"node": NODES}).plan.only(PURPOSE)
    cells = (WHOLE_GRAPH,) if persons else tuple(name for name, _ in plan.cells if name.startswith(ROWS))
    (noise,) = granted_of([each.event for each in plan.allotments if each.edge_type in cells], kind).vectors
    if isinstance(noise, Pure):
        return deviation(Fraction(2 * length * NANO, noise.nano_epsilon))
    return float(noise) * math.sqrt(2 * length)


def papers(folder: Path) -> Graph:
    """Papers with their class and words, and who cites whom."""
    rows, classes = words(folder)
    names = tuple(f"c{k}" for k in range(int(classes.max()) + 1))
    of = Attribute(name="class", protection="protected", categories=names)
    vector = Attribute(
        name="words",
        kind="vector",
        protection="protected",
        bounds=(0, 1),
        cuts=(0.5,),
        length=rows.shape[1],
        nonzero=MOST_WORDS,
    )
    schema = GraphSchema(
        node_types=(NodeType(count=len(rows), attributes=(of, vector)),), edge_types=(EdgeType(),)
    )
    columns: dict[str, Any] = {"class": pa.array([names[k] for k in classes]), "words": rows}
    ends = np.loadtxt(folder / "edges.csv", dtype=np.int64, delimiter=",", skiprows=1, usecols=(0, 1))
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    table = EdgeTable(ends[:, 0], ends[:, 1])
    return Graph.build(schema, {"node": NodeTable(len(rows), None, columns)}, {"edge": table})


def released(graph: Graph, epsilon: float) -> dict[str, Any]:
    """The curators' comparison of one release."""
    counts = {"node": graph.nodes["node"].count}
    facts = PublicFacts(graph.schema, Unit.EDGE, None, round(epsilon * NANO), DELTA_ATTO, ("edge",))
    found = settle("auto", {}, (), facts, counts)
    session = PrivateGraph(graph, Meter(found.plan, MemoryRecorder()))
    model = found.generator.fit(session, found.plan, found.params, no_progress)
    (row,) = compare_vectors(graph, model.sample(noise_generator(), no_progress), graph.schema.edge_types[0])
    return dict(row["row"])


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--epsilon", type=float, action="append")
    asked = parser.parse_args()
    budgets = asked.epsilon or [1.0, 2.0, 4.0]
    heads = " | ".join(f"epsilon {epsilon:g}" for epsilon in budgets)
    rule = "---|" * len(budgets)
    print(f"| unit | numbers | {heads} |\n|---|---|{rule}")
    for unit in (Unit.EDGE, Unit.PAIR, Unit.NODE):
        for length in (4, 16, 64):
            found = []
            for epsilon in budgets:
                both = [planned(unit, length, epsilon, delta) for delta in (DELTA_ATTO, 0)]
                found.append(f"{both[0]:.4g} of {both[1]:.4g}")
            print(f"| {unit} | {length} | {' | '.join(found)} |", flush=True)
    if asked.data is None:
        return
    print(f"\n| graph | figure | original | {heads} |\n|---|---|---|{rule}")
    for name in WORDS:
        graph = papers(asked.data / name)
        runs = [[released(graph, epsilon) for _ in range(asked.runs)] for epsilon in budgets]
        for figure, pair in runs[0][0]["scalars"].items():
            means = [np.mean([each["scalars"][figure]["synthetic"] or 0 for each in own]) for own in runs]
            told = " | ".join(f"{mean:.3f}" for mean in means)
            print(f"| {name} | {figure} | {pair['original']:.3f} | {told} |")
        for figure in runs[0][0]["distances"]:
            means = [np.mean([each["distances"][figure] for each in own]) for own in runs]
            print(f"| {name} | {figure} | | {' | '.join(f'{mean:.3f}' for mean in means)} |", flush=True)


if __name__ == "__main__":
    main()
