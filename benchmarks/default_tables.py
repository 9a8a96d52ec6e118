"""What the default takes and carries, and how near it comes to one method for a whole schema.

    python -m benchmarks.default_tables grid                 shapes of schema: taken, and carried whole
    python -m benchmarks.default_tables acm --data FOLDER    auto beside `anchored` for all relations

ACM: authors who wrote together (undirected), papers they wrote, each with a value (how many wrote it: alone,
a few, many), and authors' field as a protected attribute (the first of their papers' classes). Unit edge.
Errors: of transitivity and modularity (by groups of fields) relative to the original's; total variation of
degrees of co-authorship, of authors and of papers; of the mixing of fields among co-authors; of values.
"""

from __future__ import annotations

import argparse
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from core.errors import NotAccepted
from core.evaluation.utility.degrees import shares, total_variation
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.settle import Settled, settle
from papers.hetesdg.benchmarks.data import load as load_featured
from tests.support.schema_grid import counts_of, shapes

FIELDS = ("a", "b", "c")
TEAMS = ("alone", "few", "many")
METHODS: dict[str, tuple[Any, dict[str, Any]]] = {
    "auto": ("auto", {}),
    "anchored for all": (
        "anchored",
        {"evidence": "none", "attribute_share": 0.25, "node_attribute_share": 0.1},
    ),
}


def grid() -> None:
    """Print how many shapes of schema are planned, and how many carry all that they declare."""
    counted: Counter[tuple[str, str]] = Counter()
    began = time.process_time()
    for shape in shapes():
        facts = shape.facts()
        counted[shape.unit, "shapes"] += 1
        try:
            found = settle("auto", {}, (), facts, counts_of(facts))
        except NotAccepted:
            continue
        counted[shape.unit, "taken"] += 1
        counted[shape.unit, "carried"] += found.generator.synthesised(found.params) == shape.carries_all
    print("| unit | shapes | taken | all that is declared carried |\n|---|---|---|---|")
    for unit in Unit:
        print(f"| {unit} | " + " | ".join(str(counted[unit, each]) for each in COLUMNS) + " |")
    print(f"{time.process_time() - began:.1f} CPU s")


COLUMNS = ("shapes", "taken", "carried")


def acm(data: Path) -> Graph:
    """Authors, whom they wrote with, and what."""
    featured = load_featured("acm", data)
    (name,) = (each.name for each in featured.schema.edge_types if "author" in (each.source, each.target))
    table, classes = featured.edges[name], featured.nodes["paper"].attributes["class"]
    papers, authors = featured.nodes["paper"].count, featured.nodes["author"].count
    wrote = sp.csr_array((np.ones(table.count), (table.target, table.source)), shape=(authors, papers))
    together = sp.triu(wrote @ wrote.T, 1).tocoo()
    author, paper = wrote.nonzero()
    team = np.bincount(paper, minlength=papers)[paper]
    kind = np.where(team == 1, 0, np.where(team <= 3, 1, 2))
    codes = np.unique(np.asarray(classes.to_pylist()).astype(str), return_inverse=True)[1]
    first = np.zeros(authors, dtype=np.int64)
    first[author[::-1]] = codes[paper[::-1]]
    field = pa.array(np.array(FIELDS)[first % len(FIELDS)].tolist())
    schema = GraphSchema(
        node_types=(
            NodeType(
                name="author",
                count=authors,
                attributes=(Attribute(name="field", protection="protected", categories=FIELDS),),
            ),
            NodeType(name="paper", count=papers),
        ),
        edge_types=(
            EdgeType(name="with", source="author", target="author"),
            EdgeType(
                name="wrote",
                source="author",
                target="paper",
                attributes=(EdgeAttribute(name="team", kind="category", categories=TEAMS, aggregate="max"),),
            ),
        ),
    )
    edges = {
        "with": EdgeTable(together.row.astype(np.int64), together.col.astype(np.int64)),
        "wrote": EdgeTable(author.astype(np.int64), paper.astype(np.int64), None, EdgeValues({"team": kind})),
    }
    nodes = {"author": NodeTable(authors, None, {"field": field}), "paper": NodeTable(papers)}
    return Graph.build(schema, nodes, edges)


def settled(graph: Graph, epsilon: float, method: Any, parameters: dict[str, Any]) -> Settled:
    """Settle a request for all relations."""
    names = tuple(each.name for each in graph.schema.edge_types)
    facts = PublicFacts(graph.schema, Unit.EDGE, None, round(epsilon * NANO), 0, names)
    return settle(method, parameters, (), facts, counts_of(facts))


def released(graph: Graph, found: Settled) -> Graph:
    """Draw one synthetic graph."""
    session = PrivateGraph(graph, Meter(found.plan, MemoryRecorder()))
    model = found.generator.fit(session, found.plan, found.params, no_progress)
    return model.sample(noise_generator(), no_progress)


def figures(graph: Graph) -> dict[str, Any]:
    """Compute what the table compares."""
    table, wrote = graph.edges["with"], graph.edges["wrote"]
    count, papers = graph.nodes["author"].count, graph.nodes["paper"].count
    field = np.unique(np.asarray(graph.nodes["author"].attributes["field"].to_pylist()), return_inverse=True)[
        1
    ]
    degrees = np.bincount(np.concatenate([table.source, table.target]), minlength=count)
    adjacency = sp.coo_array(
        (np.ones(table.count), (table.source, table.target)), shape=(count, count)
    ).tocsr()
    adjacency = adjacency + adjacency.T
    closed = float((adjacency @ adjacency).multiply(adjacency).sum())
    wedges = float((degrees * (degrees - 1.0)).sum())
    ends = np.sort(np.stack([field[table.source], field[table.target]]), axis=0)
    mixing = np.bincount(ends[0] * len(FIELDS) + ends[1], minlength=len(FIELDS) ** 2) / max(table.count, 1)
    by_field = np.bincount(field, weights=degrees, minlength=len(FIELDS)) / max(degrees.sum(), 1)
    inside = mixing.reshape(len(FIELDS), -1).trace()
    assert wrote.values is not None
    return {
        "transitivity": closed / max(wedges, 1.0),
        "modularity": inside - float(np.square(by_field).sum()),
        "co": degrees,
        "authors": np.bincount(wrote.source, minlength=count),
        "papers": np.bincount(wrote.target, minlength=papers),
        "mixing": mixing,
        "values": np.bincount(wrote.values.columns["team"], minlength=len(TEAMS)) / max(wrote.count, 1),
    }


def errors(ours: dict[str, Any], theirs: dict[str, Any]) -> dict[str, float]:
    """Compare the figures of an original and of a release."""
    relative: Callable[[str], float] = lambda name: abs(theirs[name] / ours[name] - 1)  # noqa: E731
    found = {name: relative(name) for name in ("transitivity", "modularity")}
    for name in ("co", "authors", "papers"):
        found[f"TV {name}"] = total_variation(*shares(ours[name], theirs[name]))
    for name in ("mixing", "values"):
        found[f"TV {name}"] = float(np.abs(ours[name] - theirs[name]).sum() / 2)
    return found


def table(data: Path, runs: int, epsilons: list[float]) -> None:
    """Print errors of auto and of one method for all relations."""
    original = acm(data)
    ours = figures(original)
    counts = ", ".join(f"{name} {each.count:,}" for name, each in original.edges.items())
    print(f"ACM: {counts}; transitivity {ours['transitivity']:.2f}, modularity {ours['modularity']:.2f}")
    for epsilon in epsilons:
        for name, (method, parameters) in METHODS.items():
            found, began = settled(original, epsilon, method, parameters), time.process_time()
            rows = [errors(ours, figures(released(original, found))) for _ in range(runs)]
            spent = (time.process_time() - began) / runs
            told = ", ".join(
                f"{key} {np.mean([r[key] for r in rows]):.3f} ± {np.std([r[key] for r in rows]):.3f}"
                for key in rows[0]
            )
            print(f"epsilon {epsilon:g}, {name} ({found.generator.name}): {told}; {spent:.1f} CPU s")


def main() -> None:
    """Run one of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("what", choices=("grid", "acm"))
    parser.add_argument("--data", type=Path)
    parser.add_argument("--runs", type=int, default=5)
    parser.add_argument("--epsilon", type=float, action="append")
    asked = parser.parse_args()
    if asked.what == "grid":
        grid()
    elif asked.data is None:
        parser.error("acm needs --data")
    else:
        table(asked.data, asked.runs, asked.epsilon or [0.5, 1.0, 2.0, 4.0])


if __name__ == "__main__":
    main()
