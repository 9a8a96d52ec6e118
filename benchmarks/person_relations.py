"""Unit node by `auto`: several relations of persons, persons beside things, and persons' protected rows.

    python -m benchmarks.person_relations RESULTS.jsonl --data FOLDER                 every table
    python -m benchmarks.person_relations RESULTS.jsonl --data FOLDER --only rows --runs 3
    python -m benchmarks.person_relations RESULTS.jsonl --table

Only runs that RESULTS lacks are made.

``trust``: bitcoin-otc, who trusts whom and who distrusts whom, two directed relations. Per relation: TV of
out- and in-degrees, edges as a relative error, reciprocity. ``beside``: ACM's authors, whom they wrote with,
and the papers they wrote, things: delta 1e-6. TV and edges of co-authors; TV of papers for each author and L1
of authors for each paper, as in ``benchmarks.person_tables``. Rows "group privacy": `anchored`, `dcsbm`, by
`auto` under unit edge, at epsilon / (2 D), D the power of two above the largest number of edges of an author;
"one edge": by `auto` under unit edge, at epsilon, which hides single edges and no person.
``rows``: persons' class, protected. Homophily is the assortativity by class; mixing and values are total
variations; "without": a release that leaves rows out.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks import person_graphs
from benchmarks.attribute_tables import protected
from benchmarks.default_tables import acm, released
from benchmarks.load import numbers
from benchmarks.person_tables import DELTA_ATTO, mean_of, reciprocity, total_variation
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from core.errors import NotAccepted
from core.evaluation.node_values import compare_node_values
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods.base import PublicFacts
from core.privacy.accounting.events import NANO
from core.privacy.units import Unit
from core.publishing.settle import settle

EPSILONS = (0.5, 1.0, 2.0, 4.0)
RUNS = 5
OTC = "bitcoin-otc/soc-sign-bitcoinotc.csv"
GRAPHS = {"trust": ("otc",), "beside": ("acm",), "rows": ("polblogs", "cora", "lastfm")}
ROW_SHARE = 0.1
"""Of epsilon for rows; `auto` takes three times as much by itself."""
ONE_EDGE, GROUP = "one edge", "group privacy"
ROWS: dict[str, dict[str, dict[str, Any]]] = {
    "trust": {"auto": {}, ONE_EDGE: {}},
    "beside": {"auto": {}, ONE_EDGE: {}, GROUP: {}},
    "rows": {
        "auto": {},
        ONE_EDGE: {},
        f"share {ROW_SHARE:g}": {"node_attribute_share": ROW_SHARE},
        "without": {"carry": False},
    },
}


def load(table: str, name: str, data: Path) -> Graph:
    """The graph of a table, its persons protected."""
    if table == "trust":
        return trust(data)
    if table == "beside":
        return authors(data)
    return person_graphs.person_graph(protected(name, data), None)


def trust(data: Path) -> Graph:
    """Who rates whom above zero, and who whom below."""
    rows = numbers(data / OTC, (0, 1, 2)).astype(np.int64)
    names, place = np.unique(rows[:, :2], return_inverse=True)
    ends = np.random.default_rng(0).permutation(len(names))[place.reshape(-1, 2)]
    kinds = tuple(EdgeType(name=name, directed=True) for name in ("trust", "distrust"))
    schema = GraphSchema(node_types=(NodeType(count=len(names), protected=True),), edge_types=kinds)
    own = {"trust": ends[rows[:, 2] > 0], "distrust": ends[rows[:, 2] < 0]}
    edges = {name: EdgeTable(each[:, 0], each[:, 1]) for name, each in own.items()}
    return Graph.build(schema, {"node": NodeTable(len(names))}, edges)


def authors(data: Path) -> Graph:
    """Authors of ACM, protected, whom they wrote with, and what."""
    graph = acm(data)
    kinds = tuple(
        each.model_copy(update={"attributes": (), "protected": each.name == "author"})
        for each in graph.schema.node_types
    )
    relations = tuple(each.without_attributes() for each in graph.schema.edge_types)
    nodes = {name: NodeTable(each.count) for name, each in graph.nodes.items()}
    edges = {name: EdgeTable(each.source, each.target) for name, each in graph.edges.items()}
    return Graph.build(GraphSchema(node_types=kinds, edge_types=relations), nodes, edges)


def bound_of(graph: Graph) -> int:
    """The power of two above the largest number of edges of a person."""
    person = graph.schema.protected_type
    assert person is not None
    degree = np.zeros(graph.nodes[person.name].count, dtype=np.int64)
    for kind in graph.schema.edge_types:
        table = graph.edges[kind.name]
        for end, of in ((kind.source, table.source), (kind.target, table.target)):
            if end == person.name:
                degree += np.bincount(of, minlength=len(degree))
    return 1 << int(degree.max() - 1).bit_length()


def measured(table: str, row: str, graph: Graph, epsilon: float) -> Line:
    """One release, and what a table says of it."""
    unit, spent = Unit.NODE, epsilon
    if row in (ONE_EDGE, GROUP):
        unit, spent = Unit.EDGE, epsilon / (2 * bound_of(graph) if row == GROUP else 1)
        graph = person_graphs.edge_wise(graph)
    names = tuple(kind.name for kind in graph.schema.edge_types)
    things = any(not kind.homogeneous for kind in graph.schema.edge_types)
    delta = DELTA_ATTO if things and unit is Unit.NODE else 0
    facts = PublicFacts(graph.schema, unit, None, max(1, round(spent * NANO)), delta, names)
    nodes = {name: each.count for name, each in graph.nodes.items()}
    settled, begun = settle("auto", ROWS[table][row], (), facts, nodes), time.process_time()
    synthetic = released(graph, settled)
    seconds = time.process_time() - begun
    looks = {"trust": of_arcs, "beside": of_things, "rows": of_rows}
    return {"figures": {**looks[table](graph, synthetic), "CPU s": seconds}, "method": settled.generator.name}


def of_arcs(original: Graph, synthetic: Graph) -> dict[str, float]:
    """The figures of every directed relation."""
    found = {}
    for kind in original.schema.edge_types:
        tables = [graph.edges[kind.name] for graph in (synthetic, original)]
        nodes = original.nodes[kind.source].count
        for side, name in (("source", "TV out"), ("target", "TV in")):
            degrees = (np.bincount(getattr(each, side), minlength=nodes) for each in tables)
            found[f"{kind.name}: {name}"] = total_variation(*degrees)
        found[f"{kind.name}: edges RE"] = abs(tables[0].count - tables[1].count) / tables[1].count
        for name, each in zip(("reciprocity", "true reciprocity"), tables, strict=True):
            found[f"{kind.name}: {name}"] = reciprocity(each, nodes)
    return found


def of_things(original: Graph, synthetic: Graph) -> dict[str, float]:
    """The figures of authors among themselves, and beside papers."""
    people, papers = (original.nodes[name].count for name in ("author", "paper"))
    pairs = [(graph.edges["with"], graph.edges["wrote"]) for graph in (synthetic, original)]
    co = [np.bincount(np.concatenate([each.source, each.target]), minlength=people) for each, _ in pairs]
    per_author = [np.bincount(each.source, minlength=people) for _, each in pairs]
    per_paper = [np.bincount(each.target, minlength=papers) for _, each in pairs]
    counts = [each.count for each, _ in pairs]
    return {
        "TV co-authors": total_variation(*co),
        "co-author edges RE": abs(counts[0] - counts[1]) / counts[1],
        "TV papers per author": total_variation(*per_author),
        "L1 authors per paper": float(np.abs(per_paper[0] - per_paper[1]).sum() / per_paper[1].sum()),
    }


def of_rows(original: Graph, synthetic: Graph) -> dict[str, float]:
    """The figures of classes, where they are released, and of degrees and edges."""
    tables = [graph.edges["edge"] for graph in (synthetic, original)]
    nodes = original.nodes["node"].count
    degrees = [np.bincount(np.concatenate([t.source, t.target]), minlength=nodes) for t in tables]
    found = {
        "degree TV": total_variation(*degrees),
        "edges RE": abs(tables[0].count - tables[1].count) / tables[1].count,
    }
    for each in compare_node_values(original, synthetic, original.schema.edge_types[0]):
        row = each["row"]
        both = row["scalars"]["node_value_assortativity"]
        if both["synthetic"] is None:
            continue
        found |= {"homophily": both["synthetic"], "true homophily": both["original"]}
        found["mixing TV"] = row["distances"]["node_value_mixing_distance"]
        found["values TV"] = row["distances"]["node_value_distance"]
    return found


def made(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks; what is refused stands in its line with the reason."""
    keys = ("table", "graph", "row", "epsilon", "run")
    done = {tuple(line[key] for key in keys) for line in read(asked.results)}
    for table in asked.only:
        for name in GRAPHS[table]:
            if asked.graph and name not in asked.graph:
                continue
            graph = load(table, name, asked.data)
            for row in ROWS[table]:
                for epsilon in asked.epsilon or EPSILONS:
                    for run in range(asked.runs):
                        cell = (table, name, row, epsilon, run)
                        if cell in done:
                            continue
                        line: Line = dict(zip(keys, cell, strict=True))
                        try:
                            line |= measured(table, row, graph, epsilon)
                        except NotAccepted as refusal:
                            line |= {"figures": {}, "refused": refusal.message}
                        add(asked.results, line)


def tables(lines: list[Line]) -> Iterator[str]:
    """Markdown: a table for each kind."""
    grouped: dict[str, dict[tuple[str, str, float], list[Mapping[str, float]]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for line in lines:
        if "refused" in line:
            yield f"{line['graph']}, {line['row']}, epsilon {line['epsilon']:g}: {line['refused']}"
        else:
            grouped[line["table"]][line["graph"], line["row"], line["epsilon"]].append(line["figures"])
    for table, rows in grouped.items():
        titles = list(dict.fromkeys(title for runs in rows.values() for run in runs for title in run))
        yield f"\n**{table}**\n\n| graph | row | epsilon | {' | '.join(titles)} | runs |"
        yield "|---" * (len(titles) + 4) + "|"
        for (name, row, epsilon), runs in sorted(rows.items()):
            shown = [mean_of([run.get(title) for run in runs]) for title in titles]
            yield f"| {name} | {row} | {epsilon:g} | {' | '.join(shown)} | {len(runs)} |"


def main() -> None:
    """Make runs, or print tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--only", action="append", choices=list(GRAPHS))
    parser.add_argument("--graph", action="append", help="one graph")
    parser.add_argument("--epsilon", action="append", type=float, help="one epsilon")
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    asked.only = asked.only or list(GRAPHS)
    run_or_print(parser, asked, made, tables)


if __name__ == "__main__":
    main()
