"""Protected attributes of both ends of a relation between two node types: how close who meets whom comes.

    python -m benchmarks.mixing_between RESULTS.jsonl --data FOLDER
    python -m benchmarks.mixing_between RESULTS.jsonl --table

Only runs that RESULTS lacks are made. Whole releases of ``anchored`` without evidence, a tenth of an edge's
epsilon for mixing; a row costs as much epsilon as an edge. "ml-100k": users of 21 occupations rate films, of
18 first genres. "acm": authors, whose field is that of most of their papers, write papers of three fields
(HeCo's ACM). "acm, papers": only papers have a field. Figures: the ``node_value_*`` metrics of
docs/metrics.md, of sources and of targets; "by chance": the distance of mixing of the original's own ends
joined at random.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa

from benchmarks.attribute_tables import SHARE, mean_of
from benchmarks.results_file import Line, add, read, runs_or_tables
from benchmarks.typed_graphs import load_dataset
from core.evaluation.node_values import compare_node_values
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.events import NANO
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

RUNS = 5
GRAPHS = ("ml-100k", "acm", "acm, papers")
EPSILONS = (0.5, 1, 2)
LINKED = "linked"


def of_ends(
    source: np.ndarray, target: np.ndarray, values: tuple[np.ndarray | None, np.ndarray | None]
) -> Graph:
    """One relation between two types whose nodes carry ``values``, -1 for none, where they are given."""
    kinds, tables, sizes = [], {}, (int(source.max()) + 1, int(target.max()) + 1)
    for name, size, own in zip(("source", "target"), sizes, values, strict=True):
        size = size if own is None else max(size, len(own))
        columns, declared = {}, ()
        if own is not None:
            names = tuple(f"{name} {each}" for each in range(int(own.max()) + 1))
            declared = (Attribute(name="group", protection=Protection.PROTECTED, categories=names),)
            columns = {"group": pa.array([names[each] if each >= 0 else None for each in own])}
        kinds.append(NodeType(name=name, count=size, attributes=declared))
        tables[name] = NodeTable(size, None, columns)
    relation = EdgeType(name=LINKED, source="source", target="target")
    schema = GraphSchema(node_types=tuple(kinds), edge_types=(relation,))
    return Graph.build(schema, tables, {LINKED: EdgeTable(source, target)})


def loaded(name: str, data: Path) -> Graph:
    """One of ``GRAPHS``."""
    if name == "ml-100k":
        graph = load_dataset(name, data)
        users, films = graph.nodes["u"].count, graph.nodes["m"].count
        rated = graph.edges["u-m-timed"]
        pairs = np.unique(rated.source.astype(np.int64) * films + rated.target)
        firsts = first_of(graph.edges["u-o-static"], users), first_of(graph.edges["m-g-static"], films)
        return of_ends(pairs // films, pairs % films, firsts)
    folder = data / "acm_heco"
    paper, author = np.loadtxt(folder / "pa.txt", dtype=np.int64, ndmin=2).T
    fields = np.load(folder / "labels.npy", allow_pickle=False).astype(np.int64)
    counts = np.zeros((int(author.max()) + 1, int(fields.max()) + 1), dtype=np.int64)
    np.add.at(counts, (author, fields[paper]), 1)
    return of_ends(author, paper, (counts.argmax(axis=1) if name == "acm" else None, fields))


def first_of(table: EdgeTable, count: int) -> np.ndarray:
    """The first target of every source, -1 for none."""
    found = np.full(count, -1, dtype=np.int64)
    found[table.source[::-1]] = table.target[::-1]
    return found


def measured(original: Graph, epsilon: float) -> dict[str, float]:
    """The figures of one release."""
    method, begun = get("anchored"), time.process_time()
    params = method.Params(node_attribute_share=SHARE, evidence="none")
    plan = method.plan(
        params, PublicFacts(original.schema, Unit.EDGE, None, int(epsilon * NANO), 0, (LINKED,))
    )
    model = method.fit(PrivateGraph(original, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    synthetic = model.sample(noise_generator(), no_progress)
    shown: dict[str, float | None] = {"CPU s": time.process_time() - begun}
    for each in compare_node_values(original, synthetic, original.schema.edge_types[0]):
        side, row = each["name"].split()[-1], each["row"]
        shown[f"values, {side}"] = row["distances"]["node_value_distance"]
        shown[f"by degree, {side}"] = row["distances"]["node_value_degree_distance"]
        shown["mixing"] = row["distances"]["node_value_mixing_distance"]
        for both in row["scalars"].values():
            shown["association"], shown["of the original"] = both["synthetic"], both["original"]
    return {name: round(value, 5) for name, value in shown.items() if value is not None}


def by_chance(original: Graph) -> dict[str, float]:
    """The distance of mixing of the original's ends, joined at random."""
    table, rng = original.edges[LINKED], np.random.default_rng(1)
    mixed = of_groups(original, table.source, rng.permutation(table.target))
    away = np.abs(mixed - of_groups(original, table.source, table.target)).sum() / 2
    return {"mixing": round(float(away), 5)}


def of_groups(graph: Graph, source: np.ndarray, target: np.ndarray) -> np.ndarray:
    """The shares of pairs by the groups of both ends; those without one are a group."""
    sides = []
    for name, nodes in (("source", source), ("target", target)):
        column = graph.nodes[name].attributes.get("group")
        texts = ["" for _ in range(graph.nodes[name].count)] if column is None else column.to_pylist()
        codes = np.unique([each or "" for each in texts], return_inverse=True)[1]
        sides.append(codes[nodes])
    size = int(sides[1].max()) + 1
    pairs = sides[0] * size + sides[1]
    counts = np.bincount(pairs, minlength=(int(sides[0].max()) + 1) * size)
    return np.asarray(counts / len(pairs))


def run_missing(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks."""
    known = {(line["graph"], line["epsilon"], line["run"]) for line in read(asked.results)}
    for name in GRAPHS:
        original = loaded(name, asked.data)
        if (name, 0, 0) not in known:
            add(asked.results, {"graph": name, "epsilon": 0, "run": 0, "figures": by_chance(original)})
        for epsilon in EPSILONS:
            for run in range(asked.runs):
                if (name, epsilon, run) not in known:
                    line = {"graph": name, "epsilon": epsilon, "run": run}
                    add(asked.results, line | {"figures": measured(original, epsilon)})


def tables(lines: list[Line]) -> Iterator[str]:
    """One table as Markdown: means over runs. Epsilon 0: by chance."""
    columns = list(dict.fromkeys(name for line in lines for name in line["figures"]))
    yield f"| graph | epsilon | {' | '.join(columns)} | runs |"
    yield "|---" * (len(columns) + 3) + "|"
    for name, epsilon in dict.fromkeys((line["graph"], line["epsilon"]) for line in lines):
        runs = [line["figures"] for line in lines if (line["graph"], line["epsilon"]) == (name, epsilon)]
        shown = [mean_of([run[each] for run in runs if each in run]) for each in columns]
        yield f"| {name} | {epsilon or 'by chance'} | {' | '.join(shown)} | {len(runs)} |"


if __name__ == "__main__":
    runs_or_tables(__doc__, RUNS, run_missing, tables)
