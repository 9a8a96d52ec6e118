"""Streams of two relations whose edges carry a value: what the default loses to another method.

    python -m benchmarks.stream_relations RESULTS.jsonl --data FOLDER
    python -m benchmarks.stream_relations RESULTS.jsonl --table

One epsilon buys both relations and, of a quarter of it, what their edges carry. trust: bitcoin-otc by months,
who trusts (1 to 10) and who distrusts (-10 to -1). mails: radoslaw-email by weeks, in the morning and after
noon, with the minute of the day. made: two streams of contacts of the same 240 nodes, with minutes that are
long inside a group. Errors and regret are those of :mod:`benchmarks.stream_regret`, for each relation as if
it were alone; "values": total variation of what edges of all steps carry.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results_file import Line, add, read, runs_or_tables
from benchmarks.stream_data import DAY_SECONDS, figures, figures_over_time, release
from benchmarks.stream_made import MADE, contacts
from benchmarks.stream_regret import errors, regrets
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute

RUNS, VALUE_SHARE = 3, 0.25
METHODS = ("keyframe", "psgraph")
SETTINGS = ((2, 1.0), (5, 0.5), (5, 1.0), (5, 4.0), (10, 1.0))
Rows = dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]
"""By relation: ends int64 (m, 2), steps (m,) and values (m,)."""


def _trust(data: Path) -> tuple[Rows, tuple[int, int]]:
    path = data / "bitcoin-otc" / "soc-sign-bitcoinotc.csv"
    rows = np.loadtxt(path, delimiter=",", skiprows=1).astype(np.int64)
    step = (rows[:, 3] - rows[:, 3].min()) // (30 * DAY_SECONDS)
    likes = rows[:, 2] > 0
    return {
        name: (rows[kept, :2], step[kept], rows[kept, 2])
        for name, kept in (("likes", likes), ("not", ~likes))
    }, (-10, 10)


def _mails(data: Path) -> tuple[Rows, tuple[int, int]]:
    rows = np.loadtxt(data / "radoslaw-email" / "email.tsv", comments="%", usecols=(0, 1, 3)).astype(np.int64)
    week, minute = (rows[:, 2] - rows[:, 2].min()) // (7 * DAY_SECONDS), rows[:, 2] % DAY_SECONDS // 60
    early = minute < 12 * 60
    return {
        name: (rows[kept, :2], week[kept], minute[kept]) for name, kept in (("am", early), ("pm", ~early))
    }, (0, 24 * 60)


def _made(data: Path) -> tuple[Rows, tuple[int, int]]:
    found, school = {}, MADE["made-school"]
    for seed, name in enumerate(("meets", "calls")):
        ends, steps = contacts(school, seed)
        rng = np.random.default_rng(seed)
        group = rng.integers(0, school.groups, school.nodes)
        inside = group[ends[:, 0]] == group[ends[:, 1]]
        found[name] = ends, steps, rng.integers(1, np.where(inside, 60, 20))
    return found, (1, 60)


STREAMS: dict[str, Callable[[Path], tuple[Rows, tuple[int, int]]]] = {
    "trust": _trust,
    "mails": _mails,
    "made": _made,
}


def loaded(name: str, data: Path) -> Graph:
    """The stream; nodes are shuffled, of several rows of an edge in a step the greatest value counts."""
    rows, bounds = STREAMS[name](data)
    ids = np.unique(np.concatenate([ends.ravel() for ends, _, _ in rows.values()]))
    place, steps = np.random.default_rng(0).permutation(len(ids)), 0
    value = EdgeAttribute(name="value", kind="integer", bounds=bounds, aggregate="max")
    tables = {}
    for relation, (ends, step, values) in rows.items():
        held = EdgeValues({"value": values.astype(np.int32)})
        tables[relation] = EdgeTable(*place[np.searchsorted(ids, ends)].T, step.astype(np.int32), held)
        steps = max(steps, 1 + int(step.max()))
    relations = tuple(EdgeType(name=name, temporal=True, attributes=(value,)) for name in rows)
    schema = GraphSchema(
        node_types=(NodeType(count=len(ids)),), edge_types=relations, time=TimeGrid(count=steps)
    )
    return Graph.build(schema, {}, tables)


def alone(graph: Graph, relation: str) -> Graph:
    """One relation of the stream, as the only one and without values."""
    table = graph.edges[relation]
    schema = GraphSchema(
        node_types=graph.schema.node_types, edge_types=(EdgeType(temporal=True),), time=graph.schema.time
    )
    bare = EdgeTable(table.source, table.target, table.step)
    return Graph.build(schema, {"node": NodeTable(graph.nodes["node"].count)}, {"edge": bare})


def values_apart(original: Graph, synthetic: Graph, relation: str) -> float:
    """Total variation of the values of all edges, in sixteen bins between the declared bounds."""
    (bounds,) = (each.attributes[0].bounds for each in original.schema.edge_types if each.name == relation)
    assert bounds is not None
    shares = []
    for graph in (original, synthetic):
        held = graph.edges[relation].values
        assert held is not None
        counted, _ = np.histogram(held.columns["value"], bins=16, range=bounds)
        shares.append(counted / max(counted.sum(), 1))
    return float(np.abs(shares[0] - shares[1]).sum() / 2)


def run_missing(asked: argparse.Namespace) -> None:
    """Every stream, setting and method has its runs."""
    for name in STREAMS:
        graph = loaded(name, asked.data)
        for window, epsilon in SETTINGS:
            for method in METHODS:
                key: dict[str, Any] = {"of": name, "window": window, "epsilon": epsilon, "label": method}
                had = {line["run"] for line in read(asked.results) if key.items() <= line.items()}
                for run in set(range(asked.runs)) - had:
                    synthetic, _ = release(method, graph, window, epsilon, {"attribute_share": VALUE_SHARE})
                    for each in graph.schema.edge_types:
                        ours, theirs = alone(graph, each.name), alone(synthetic, each.name)
                        line = {
                            "stream": f"{name}, {each.name}",
                            "run": run,
                            "values": values_apart(graph, synthetic, each.name),
                            "figures": figures(ours, theirs),
                            "over_time": figures_over_time(ours, theirs),
                        }
                        add(asked.results, {**key, **line})


def tables(lines: list[Line]) -> Iterator[str]:
    """Regret by setting, then what values lose."""
    regret = {setting: regrets(each) for setting, each in errors(lines, list(METHODS)).items()}
    yield f"| w | epsilon | relations | {' | '.join(METHODS)} | leads of the first | values' TV, both |"
    yield "|---" * (5 + len(METHODS)) + "|"
    for window, epsilon in SETTINGS:
        own = [each for setting, each in regret.items() if setting[:2] == (window, epsilon)]
        if not own:
            continue
        here = [line for line in lines if (line["window"], line["epsilon"]) == (window, epsilon)]
        apart = [np.mean([line["values"] for line in here if line["label"] == method]) for method in METHODS]
        shown = " | ".join(f"{mean:.3f}" for mean in np.mean(own, axis=0))
        leads = sum(int(each.argmin() == 0) for each in own)
        told = " / ".join(f"{each:.3f}" for each in apart)
        yield f"| {window} | {epsilon:g} | {len(own)} | {shown} | {leads} | {told} |"


if __name__ == "__main__":
    runs_or_tables(__doc__, RUNS, run_missing, tables)
