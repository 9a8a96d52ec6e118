"""The unit node: what a release keeps of persons' protected rows, and of what edges carry without a bound.

    python -m benchmarks.person_attributes RESULTS.jsonl --data FOLDER [--runs N] [--only rows]
    python -m benchmarks.person_attributes RESULTS.jsonl --table

``rows``: polblogs, whose party is protected, by ``auto``. Homophily: assortativity by party, of the release
and of the original; mixing TV: half the sum of |share of edge ends between two parties - the original's|;
values TV: the same of persons by party; degree TV as in ``benchmarks.person_tables``. ``values``: bitcoin,
one way, by ``auto``: who trusts whom, and how much (-10 to 10). Values TV: half the sum of |share of edges
with a value - the original's|; out and in TV: of degrees; edges: relative error. "without": nothing is set
aside for rows or values. "group privacy": an edge-level release at epsilon / (2 D), D the power of two above
the largest degree: all D edges of a person replaced are 2 D changes; rows then pay epsilon / (2 D) as well,
where a row alone would be replaced at all of it. CPU seconds are of fit and draw. Only runs that RESULTS
lacks are made.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.load import numbers
from benchmarks.public_groups import assortativity_by_class, mixing
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection
from core.graphs.schema.edge_attributes import Aggregate, EdgeAttribute, EdgeAttributeKind
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.settle import settle

EPSILONS = (1.0, 2.0, 4.0)
RUNS = 3
ROWS = ("node", "node, without", "group privacy")
TABLES = ("rows", "values")
KEYS = ("table", "epsilon", "row", "run")
PARTY = Attribute(name="party", protection=Protection.PROTECTED, categories=("0", "1"))
TRUST = EdgeAttribute(name="trust", kind=EdgeAttributeKind.INTEGER, bounds=(-10, 10), aggregate=Aggregate.MAX)


def loaded(table: str, data: Path, unit: Unit) -> Graph:
    """The graph of a table; its nodes' numbers are shuffled, which a method does not see."""
    return _blogs(data / "polblogs", unit) if table == "rows" else _trust(data / "bitcoin-otc", unit)


def _blogs(folder: Path, unit: Unit) -> Graph:
    labels = numbers(folder / "labels.csv", (0, 1)).astype(np.int64)
    names, order = np.unique(labels[:, 0]), np.argsort(labels[:, 0])
    number = np.random.default_rng(0).permutation(len(names))
    party = np.empty(len(names), dtype=np.int64)
    party[number] = labels[order, 1]
    ends = number[np.searchsorted(names, numbers(folder / "edges.csv", (0, 1)).astype(np.int64))]
    ends = np.unique(np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1), axis=0)
    kind = NodeType(count=len(names), protected=unit is Unit.NODE, attributes=(PARTY,))
    schema = GraphSchema(node_types=(kind,), edge_types=(EdgeType(),))
    nodes = NodeTable(len(names), None, {"party": pa.array([str(each) for each in party])})
    return Graph.build(schema, {"node": nodes}, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})


def _trust(folder: Path, unit: Unit) -> Graph:
    rows = numbers(folder / "soc-sign-bitcoinotc.csv", (0, 1, 2)).astype(np.int64)
    names, place = np.unique(rows[:, :2], return_inverse=True)
    number = np.random.default_rng(0).permutation(len(names))
    ends = number[place.reshape(-1, 2)]
    ends, first = np.unique(ends, axis=0, return_index=True)
    kind = NodeType(count=len(names), protected=unit is Unit.NODE)
    relation = EdgeType(directed=True, attributes=(TRUST,))
    schema = GraphSchema(node_types=(kind,), edge_types=(relation,))
    values = EdgeValues({"trust": rows[first, 2].astype(np.int32)})
    table = EdgeTable(ends[:, 0], ends[:, 1], None, values)
    return Graph.build(schema, {"node": NodeTable(len(names))}, {"edge": table})


def released(graph: Graph, row: str, epsilon: float) -> tuple[Graph, float]:
    """One release, and the CPU seconds of its fit and draw."""
    spent, edges = epsilon, graph.edges["edge"]
    if row == "group privacy":
        ends = np.concatenate([edges.source, edges.target])
        spent /= 2 * 2 ** int(np.ceil(np.log2(np.bincount(ends).max())))
    unit = Unit.EDGE if row == "group privacy" else Unit.NODE
    facts = PublicFacts(graph.schema, unit, None, max(1, int(spent * NANO)), 0, ("edge",))
    counts = {"node": graph.nodes["node"].count}
    found = settle("auto", {"carry": False} if row.endswith("without") else {}, (), facts, counts)
    started = time.process_time()
    session = PrivateGraph(graph, Meter(found.plan, MemoryRecorder()))
    model = found.generator.fit(session, found.plan, found.params, no_progress)
    return model.sample(noise_generator(), no_progress), time.process_time() - started


def measured(table: str, data: Path, row: str, epsilon: float) -> dict[str, float | None]:
    """The figures of one release."""
    original = loaded(table, data, Unit.EDGE if row == "group privacy" else Unit.NODE)
    synthetic, seconds = released(original, row, epsilon)
    figures = _of_rows if table == "rows" else _of_values
    return {**figures(original, synthetic), "CPU seconds": seconds}


def _of_rows(original: Graph, synthetic: Graph) -> dict[str, float | None]:
    views = [UndirectedView.of(graph.cell("edge", None)) for graph in (original, synthetic)]
    found: dict[str, float | None] = {
        "degree TV": _apart([np.bincount(np.concatenate([view.u, view.v])) for view in views], degrees=True),
        "edges": views[1].edge_count / views[0].edge_count - 1,
    }
    if "party" not in synthetic.nodes["node"].attributes:
        return found
    parties = [_party(graph) for graph in (original, synthetic)]
    shares = [mixing(view, own) for view, own in zip(views, parties, strict=True)]
    return found | {
        "homophily": assortativity_by_class(shares[1]),
        "homophily of the original": assortativity_by_class(shares[0]),
        "mixing TV": float(np.abs(shares[0] - shares[1]).sum() / 2),
        "values TV": _apart([np.bincount(own, minlength=2) for own in parties]),
    }


def _party(graph: Graph) -> np.ndarray:
    column = pa.array(graph.nodes["node"].attributes["party"])
    return np.array([int(each) for each in column.to_pylist()])


def _of_values(original: Graph, synthetic: Graph) -> dict[str, float | None]:
    tables = [graph.edges["edge"] for graph in (original, synthetic)]
    nodes = original.nodes["node"].count
    found: dict[str, float | None] = {"edges": tables[1].count / tables[0].count - 1}
    for name, side in (("out TV", "source"), ("in TV", "target")):
        degrees = [np.bincount(getattr(each, side), minlength=nodes) for each in tables]
        found[name] = _apart(degrees, degrees=True)
    if tables[1].values is not None:
        values = [np.asarray(each.values.columns["trust"]) + 10 for each in tables if each.values is not None]
        found["values TV"] = _apart([np.bincount(each, minlength=21) for each in values])
    return found


def _apart(counts: list[np.ndarray], degrees: bool = False) -> float:
    """Total variation of two distributions given as counts; with ``degrees``, of the numbers themselves."""
    one, other = counts
    if degrees:
        most = int(max(one.max(initial=0), other.max(initial=0))) + 1
        nodes = max(len(one), len(other))
        one, other = (
            np.bincount(np.pad(each, (0, nodes - len(each))), minlength=most) for each in (one, other)
        )
    return float(np.abs(one / max(one.sum(), 1) - other / max(other.sum(), 1)).sum() / 2)


def wanted(tables: tuple[str, ...], runs: int) -> Iterator[Line]:
    """Every run of these tables."""
    for table in tables:
        for epsilon in EPSILONS:
            for row in ROWS:
                for number in range(runs):
                    yield {"table": table, "epsilon": epsilon, "row": row, "run": number}


def run_missing(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks."""
    known = {tuple(line[each] for each in KEYS) for line in read(asked.results)}
    for line in wanted((asked.only,) if asked.only else TABLES, asked.runs):
        if tuple(line[each] for each in KEYS) not in known:
            figures = measured(line["table"], asked.data, line["row"], line["epsilon"])
            add(asked.results, line | {"figures": figures})


def tables(lines: list[Line]) -> Iterator[str]:
    """A table of each graph in Markdown: means over runs, and the standard deviation between them."""
    for table in TABLES:
        found: dict[tuple[float, str], list[dict[str, float]]] = defaultdict(list)
        for line in lines:
            if line["table"] == table:
                found[line["epsilon"], line["row"]].append(line["figures"])
        columns = list(dict.fromkeys(name for runs in found.values() for run in runs for name in run))
        yield f"| {table}, epsilon | row | {' | '.join(columns)} | runs |"
        yield "|---" * (len(columns) + 3) + "|"
        for (epsilon, row), runs in sorted(found.items()):
            shown = []
            for name in columns:
                told = [run[name] for run in runs if run.get(name) is not None]
                shown.append(f"{np.mean(told):.3f} ({np.std(told):.3f})" if told else "")
            yield f"| {epsilon:g} | {row} | {' | '.join(shown)} | {len(runs)} |"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--only", choices=TABLES)
    run_or_print(parser, parser.parse_args(), run_missing, tables)


if __name__ == "__main__":
    main()
