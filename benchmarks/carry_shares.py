"""Shares of epsilon for what edges carry and for nodes' protected attributes, chosen on the other graphs.

    python -m benchmarks.carry_shares RESULTS.jsonl --data FOLDER                    what RESULTS lacks
    python -m benchmarks.carry_shares RESULTS.jsonl --data FOLDER --only rows --runs 3
    python -m benchmarks.carry_shares RESULTS.jsonl --table

Unit edge, by `auto` with that share. The loss of a release is the error of its structure, as in
``benchmarks.default_regret``, plus that of what is carried, the mean of errors from 0 to 1. Values: the
distances of values, over all edges and by node, and the error of a target's correlation. Rows: the distances
of values over nodes, by degree and between an edge's ends, and between attributes where there are several;
and the error of assortativity. Regret of a share: by how much its loss exceeds the least share's, relative to
that, as the losses of graphs differ.

Ratings: "raters", bitcoin-otc as raters and rated; no public copy of films' ratings at hand has the stars, so
"films" carry the month of a rating. "authorships" of ACM carry how many wrote the paper, "flights" their
delay. "two": beside their class, papers have a protected word, which about a third of them hold.
For each graph the share is chosen whose mean regret over the *other* graphs is least.
"""

from __future__ import annotations

import argparse
import gzip
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa

from benchmarks import attribute_tables
from benchmarks.default_regret import error_of
from benchmarks.default_tables import acm, released
from benchmarks.relation_choice import EXAMPLES, numbered
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.typed_choice import Original
from benchmarks.typed_graphs import load_dataset
from core.evaluation.node_values import compare_node_values
from core.evaluation.values import compare_values
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods.base import PublicFacts
from core.methods.choice import ROWS, VALUES
from core.privacy.accounting.events import NANO
from core.privacy.units import Unit
from core.publishing.settle import settle

EPSILONS = (0.5, 1.0, 2.0)
RUNS = 2
SHARES = {"values": (0.05, 0.1, 0.15, 0.25, 0.35), "rows": (0.03, 0.1, 0.2, 0.35)}
SET = {"values": "attribute_share", "rows": "node_attribute_share"}
NOW = {"values": VALUES, "rows": ROWS}
GRAPHS = {
    "values": ("bitcoin-otc", "bitcoin-alpha", "radoslaw-email", "raters", "films", "authorships", "flights"),
    "rows": ("polblogs", "cora", "citeseer", "acm, few papers", "lastfm", "cora, two", "citeseer, two"),
}
DELAY = EdgeAttribute(
    name="delay",
    kind="integer",
    bounds=(-60, 240),
    cuts=(-30, -15, 0, 15, 30, 60, 120),
    clip=True,
    aggregate="mean",
)
MONTH = EdgeAttribute(name="month", kind="integer", bounds=(1, 7), aggregate="max")
HELD = 1 / 3
"""About so many papers hold the word that is a second attribute."""


def load(name: str, data: Path) -> Graph:
    """One of ``GRAPHS``, without time."""
    if name in ("bitcoin-otc", "bitcoin-alpha"):
        return attribute_tables.loaded(name, data)
    if name == "radoslaw-email":
        return untimed(attribute_tables.loaded(name, data))
    if name == "raters":
        return between(attribute_tables.loaded("bitcoin-otc", data))
    if name == "films":
        graph = load_dataset("ml-100k", data)
        table = graph.edges["u-m-timed"]
        assert table.step is not None
        return typed(table.source, table.target, table.step + 1, MONTH)
    if name == "authorships":
        graph = acm(data)
        wrote = graph.edges["wrote"]
        assert wrote.values is not None
        (attribute,) = graph.schema.edge_type("wrote").attributes
        return typed(wrote.source, wrote.target, wrote.values.columns["team"], attribute)
    if name == "flights":
        return flights()
    if name.endswith(", two"):
        return with_a_word(name.removesuffix(", two"), data)
    return attribute_tables.protected(name, data)


def untimed(graph: Graph) -> Graph:
    """The same graph with the first value of a pair, whatever its step."""
    table, (kind,) = graph.edges["edge"], graph.schema.edge_types
    assert table.values is not None
    keys = table.source.astype(np.int64) * graph.nodes["node"].count + table.target
    first = np.unique(keys, return_index=True)[1]
    columns = {name: column[first] for name, column in table.values.columns.items()}
    hour = EdgeAttribute(name=kind.attributes[0].name, kind="time_of_day", aggregate="min")
    bare = EdgeType(name=kind.name, directed=True, attributes=(hour,))
    schema = GraphSchema(node_types=graph.schema.node_types, edge_types=(bare,))
    edges = EdgeTable(table.source[first], table.target[first], None, EdgeValues(columns))
    return Graph.build(schema, graph.nodes, {"edge": edges})


def between(graph: Graph) -> Graph:
    """A directed graph as those on the left and those on the right: whoever is both is two nodes."""
    table, (kind,) = graph.edges["edge"], graph.schema.edge_types
    assert table.values is not None
    (values,) = table.values.columns.values()
    return typed(table.source, table.target, values, kind.attributes[0])


def typed(source: np.ndarray, target: np.ndarray, values: np.ndarray, attribute: EdgeAttribute) -> Graph:
    """One relation between two types, among the nodes that have an edge."""
    sides = [np.unique(each, return_inverse=True)[1] for each in (source, target)]
    kinds = tuple(
        NodeType(name=name, count=int(each.max()) + 1)
        for name, each in zip(("left", "right"), sides, strict=True)
    )
    relation = EdgeType(name="edge", source="left", target="right", attributes=(attribute,))
    nodes = {each.name: NodeTable(each.count or 0) for each in kinds}
    edges = EdgeTable(*sides, None, EdgeValues({attribute.name: values.astype(np.int32)}))
    return Graph.build(GraphSchema(node_types=kinds, edge_types=(relation,)), nodes, {"edge": edges})


def flights() -> Graph:
    """Airports, an arc from each to those that a flight goes to, with the mean delay of its flights."""
    listed = pl.read_csv(EXAMPLES / "us-flights/edges.csv").filter(pl.col("type") == "flight")
    ends = numbered(listed, inside=True)
    keys, place = np.unique(ends[:, 0] * (int(ends.max()) + 1) + ends[:, 1], return_inverse=True)
    late = listed["delay"].cast(pl.Float64).fill_null(0).to_numpy()
    mean = np.bincount(place.ravel(), weights=late) / np.bincount(place.ravel())
    source, target = np.divmod(keys, int(ends.max()) + 1)
    values = np.clip(np.rint(mean), -60, 240).astype(np.int32)
    schema = GraphSchema(
        node_types=(NodeType(count=int(ends.max()) + 1),),
        edge_types=(EdgeType(directed=True, attributes=(DELAY,)),),
    )
    return Graph.build(schema, {}, {"edge": EdgeTable(source, target, None, EdgeValues({"delay": values}))})


def with_a_word(name: str, data: Path) -> Graph:
    """Papers with their class and whether they hold a word, both protected."""
    graph = attribute_tables.protected(name, data)
    names = np.loadtxt(data / name / "labels.csv", delimiter=",", skiprows=1, usecols=0, dtype=np.int64)
    with gzip.open(data / name / "features.csv.gz", "rt") as lines:
        rows = np.loadtxt(lines, delimiter=",", skiprows=1, dtype=np.int64)
    counts = np.bincount(rows[:, 1])
    word = int(np.abs(counts - HELD * len(names)).argmin())
    # Numbers of nodes were shuffled: the classes say nothing of who is who, so the words are dealt by class.
    held = np.isin(names, rows[rows[:, 1] == word, 0])
    labels = np.loadtxt(data / name / "labels.csv", delimiter=",", skiprows=1, usecols=1, dtype=np.int64)
    column = graph.nodes["node"].attributes["group"].to_pylist()
    rng, told = np.random.default_rng(0), np.empty(len(column), dtype=bool)
    for label in np.unique(labels):
        own = np.flatnonzero(np.array([each == f"group {label}" for each in column]))
        told[own] = rng.permutation(held[labels == label])
    both = Attribute(name="word", protection=Protection.PROTECTED, categories=("held", "not held"))
    (kind,) = graph.schema.node_types
    schema = graph.schema.model_copy(
        update={"node_types": (kind.model_copy(update={"attributes": (*kind.attributes, both)}),)}
    )
    words = pa.array(np.where(told, "held", "not held").tolist())
    table = graph.nodes["node"]
    nodes = {"node": NodeTable(table.count, None, {**table.attributes, "word": words})}
    return Graph.build(schema, nodes, graph.edges)


def carried(original: Graph, synthetic: Graph) -> float:
    """The mean error of what edges and nodes carry, from 0 to 1."""
    kind, found = original.schema.edge_types[0], list[float]()
    rows = compare_values(original, synthetic, kind) if kind.attributes else []
    rows = rows or compare_node_values(original, synthetic, kind)
    for each in rows:
        row = each["row"]
        found += [min(value, 1.0) for value in row["distances"].values() if value is not None]
        for scalar in row["scalars"].values():
            if scalar["absolute_error"] is not None:
                found.append(min(scalar["absolute_error"], 1.0))
    return float(np.mean(found))


def made(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks."""
    keys = ("what", "graph", "share", "epsilon", "run")
    done = {tuple(line[key] for key in keys) for line in read(asked.results)}
    for what in asked.only:
        for name in asked.graph or GRAPHS[what]:
            if name not in GRAPHS[what]:
                continue
            graph = load(name, asked.data)
            original, names = Original(graph), tuple(each.name for each in graph.schema.edge_types)
            nodes = {each: table.count for each, table in graph.nodes.items()}
            for epsilon in EPSILONS:
                facts = PublicFacts(graph.schema, Unit.EDGE, None, round(epsilon * NANO), 0, names)
                for share in SHARES[what]:
                    settled = settle("auto", {SET[what]: share}, (), facts, nodes)
                    for run in range(asked.runs):
                        cell = (what, name, share, epsilon, run)
                        if cell in done:
                            continue
                        synthetic = released(graph, settled)
                        line: Line = dict(zip(keys, cell, strict=True))
                        line["method"] = settled.generator.name
                        line["structure"] = error_of(original, synthetic)
                        add(asked.results, line | {"carried": carried(graph, synthetic)})


def regrets(lines: list[Line], what: str) -> dict[str, dict[float, float]]:
    """Return the mean relative regret of every share, by graph."""
    losses: dict[tuple[str, float], dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for line in lines:
        if line["what"] == what:
            losses[line["graph"], line["epsilon"]][line["share"]].append(line["structure"] + line["carried"])
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (name, _), own in losses.items():
        if set(own) != set(SHARES[what]):
            continue
        means = {share: float(np.mean(values)) for share, values in own.items()}
        for share, mean in means.items():
            found[name][share].append(mean / min(means.values()) - 1)
    return {name: {share: float(np.mean(v)) for share, v in own.items()} for name, own in found.items()}


def chosen(found: Mapping[str, Mapping[float, float]], left_out: str) -> float:
    """The share whose mean regret over the other graphs is least."""
    others = [own for name, own in found.items() if name != left_out]
    return min(found[left_out], key=lambda share: float(np.mean([own[share] for own in others])))


def tables(lines: list[Line]) -> Iterator[str]:
    """Markdown: for values and rows the regret of every share on every graph, and what the others choose."""
    for what, shares in SHARES.items():
        found = regrets(lines, what)
        if len(found) < 2:
            continue
        runs = 1 + max(line["run"] for line in lines if line["what"] == what)
        yield f"\n**{what}**: regret relative to the best share, mean over epsilons; at most {runs} runs\n"
        yield f"| graph | {' | '.join(f'{s:g}' for s in shares)} | chosen on the others | its regret | now |"
        yield "|---" * (len(shares) + 4) + "|"
        picked = []
        for name, own in found.items():
            share = chosen(found, name)
            picked.append((own[share], own[NOW[what]]))
            shown = " | ".join(f"{own[each]:.3f}" for each in shares)
            yield f"| {name} | {shown} | {share:g} | {picked[-1][0]:.3f} | {picked[-1][1]:.3f} |"
        for title, of in (("mean", np.mean), ("worst", np.max)):
            shown = " | ".join(f"{of([own[each] for own in found.values()]):.3f}" for each in shares)
            pair = [float(of(each)) for each in zip(*picked, strict=True)]
            yield f"| **{title}** | {shown} | | {pair[0]:.3f} | {pair[1]:.3f} |"


def main() -> None:
    """Make runs, or print tables."""
    parser = parser_of(__doc__)
    parser.add_argument("--only", action="append", choices=list(SHARES))
    parser.add_argument("--graph", action="append")
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    asked.only = asked.only or list(SHARES)
    run_or_print(parser, asked, made, tables)


if __name__ == "__main__":
    main()
