"""How often the published intervals of paid numbers hold the truth, by method and quantity.

    python -m benchmarks.calibration RESULTS.jsonl --data ../shared/data --runs 200
    python -m benchmarks.calibration RESULTS.jsonl --data ../shared/data --runs 20 --mis-state 2
    python -m benchmarks.calibration RESULTS.jsonl --table

Only runs that RESULTS lacks are made. Each is a whole fit at the method's defaults; what it paid for is
compared with the true answer of the same question (``core.evaluation.paid``). Ten static graphs have no
attributes; "anchored, values" and "keyframe, values" read what edges carry, half of epsilon each; "dcsbm,
node values" reads protected classes of nodes, a tenth of an edge's epsilon. Edges of a mixing matrix count
where they are among the first few of both ends in an order that is drawn: the truth is the count in it.

Held: the share of values whose interval holds the truth, over all values of a fit; means over fits, then over
graphs, and the lowest and highest of any graph. Three answers are derived: "edges, added up" is the sum of a
whole table of counts, with the interval of so many noises (``core.reports.intervals``); "edges, all answers
together" what the report prints of the number of edges (``core.publishing.totals``); "promised beforehand"
is the share of values that are within what a dry run says. ``--mis-state 2`` publishes half of the true noise
scale, to show that this is noticed.
"""

from __future__ import annotations

import argparse
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import cache, partial
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np

from benchmarks import attribute_tables
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.static_graphs import load
from core.evaluation.paid import exact
from core.graphs.graph import Graph
from core.graphs.schema import EdgeType
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO
from core.privacy.accounting.measurements import Measurement
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.reads import node_values
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.totals import totals
from core.reports.intervals import sum_within
from core.reports.precision import CONFIDENCE, QUANTITIES, planned, within

STATIC = (
    "radoslaw", "citeseer", "cora", "email-eu", "as-733", "collegemsg", "bitcoin-alpha", "polblogs",
    "bitcoin-otc", "lastfm",
)  # fmt: skip
METHODS = ("dcsbm", "dgg", "degree_triangle", "psgraph", "anchored")
ADDED_UP, PROMISED = "edges, added up", "promised beforehand"
TOGETHER = "edges, all answers together"
WHOLE = frozenset({"group_matrix", "value_histogram", "values_by_step", "values_by_classes"})
"""Of these tables every edge is in one cell."""
SUMS = "sums of an edge's scores at a node"


@dataclass(frozen=True)
class Case:
    """A method as it is asked, and the graphs that it is fitted to."""

    title: str
    method: str
    graphs: dict[str, Callable[[Path], Graph]]
    asked: dict[str, Any]


def mails(data: Path) -> Graph:
    """Who mailed whom in which week, without direction; the mails' hours."""
    directed = attribute_tables.loaded("radoslaw-email", data)
    table, (relation,) = directed.edges["edge"], directed.schema.edge_types
    week = (table.step // 7).astype(np.int64)
    undirected: EdgeType = relation.model_copy(update={"directed": False})
    time = directed.schema.time.model_copy(update={"count": int(week.max()) + 1})
    schema = directed.schema.model_copy(update={"edge_types": (undirected,), "time": time})
    low, high = np.minimum(table.source, table.target), np.maximum(table.source, table.target)
    slots = week * 10**8 + low * 10**4 + high  # of 167 persons
    first = np.unique(slots, return_index=True)[1]
    column = table.values.columns["hour"][first]
    held = attribute_tables.EdgeValues({"hour": column})
    edges = attribute_tables.EdgeTable(low[first], high[first], week[first], held)
    return Graph.build(schema, {}, {"edge": edges})


CASES = (
    *(Case(name, name, {graph: partial(load, graph) for graph in STATIC}, {}) for name in METHODS),
    Case(
        "anchored, values",
        "anchored",
        {
            name: partial(attribute_tables.loaded, name)
            for name in ("bitcoin-otc", "bitcoin-alpha", "radoslaw-email")
        },
        {"attribute_share": 0.5},
    ),
    Case("keyframe, values", "keyframe", {"radoslaw-email, weeks": mails}, {"attribute_share": 0.5}),
    Case(
        "dcsbm, node values",
        "dcsbm",
        {name: partial(attribute_tables.protected, name) for name in attribute_tables.CLASSED},
        {"node_attribute_share": 0.1},
    ),
)


Paid = list[tuple[Measurement, np.ndarray | None]]


def fitted(
    graph: Graph, method: str, epsilon: float, asked: dict[str, Any]
) -> tuple[Paid, dict[tuple[str, str], int]]:
    """What one fit paid for, each with its true answer; and the dry run's bound of each quantity."""
    generator = registry.get(method)
    names = tuple(relation.name for relation in graph.schema.edge_types)
    unit = Unit.EVENT if graph.schema.temporal else Unit.EDGE
    facts = PublicFacts(graph.schema, unit, None, round(epsilon * NANO), 0, names)
    params = generator.Params(**asked)
    plan = generator.plan(params, facts)
    meter = Meter(plan, MemoryRecorder())
    capped: list[np.ndarray] = []

    def counted(*given: Any) -> np.ndarray:
        square = mixed(*given)
        capped.append(square[np.triu_indices(len(square))])
        return square

    mixed = node_values.mixed
    with mock.patch.object(node_values, "mixed", counted):
        generator.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    found = [
        (each, capped.pop(0) if each.query == "mixing" else exact(graph, each)) for each in meter.measurements
    ]
    sizes = {name: table.count for name, table in graph.nodes.items()}
    reads = generator.planned_reads(params, plan, graph.schema, sizes)
    lines = planned(unit, graph.schema, plan, reads)
    return found, {(line.edge_type, line.query): line.within for line in lines}


def shares(graph: Graph, found: Paid, promised: dict[tuple[str, str], int], wrong: int) -> dict[str, float]:
    """The share of values that an interval holds, by quantity; ``wrong`` divides the scale of the noise."""
    held: dict[str, list[np.ndarray]] = defaultdict(list)
    for each, truth in found:
        if each.values is None or truth is None:
            continue
        scale, off = each.scale / Fraction(wrong), np.abs(each.values - truth)
        title = QUANTITIES[each.query].title if each.query in QUANTITIES else SUMS
        held[title].append(off <= within(scale, CONFIDENCE))
        bound = promised.get((each.edge_type, each.query))
        if bound is not None and not each.parts:
            held[PROMISED].append(off <= bound)
        if each.query in WHOLE and each.size > 1 and not each.parts:
            apart = np.abs(each.values.sum() - truth.sum())
            held[ADDED_UP].append(np.array([apart <= sum_within(scale, each.size, CONFIDENCE)]))
    stated = [replace(each, scale=each.scale / Fraction(wrong)) for each, _ in found]
    for line in totals(graph, stated):
        if line["metric"] == "edges" and line["step"] is None:
            edges = graph.edges[line["edge_type"]].count / len(graph.schema.steps_of(line["edge_type"]))
            held[TOGETHER].append(np.array([line["low"] - 1e-9 <= edges <= line["high"] + 1e-9]))
    return {title: round(float(np.concatenate(each).mean()), 5) for title, each in held.items()}


def run_missing(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks."""
    known = {
        (line["method"], line["graph"], line["epsilon"], line["mis_state"], line["run"])
        for line in read(asked.results)
    }
    for case in CASES:
        if asked.only and case.title not in asked.only:
            continue
        for name, made in case.graphs.items():
            graph = cache(partial(made, asked.data))
            for run in range(asked.runs):
                if (case.title, name, asked.epsilon, asked.mis_state, run) not in known:
                    paid = fitted(graph(), case.method, asked.epsilon, case.asked)
                    line = {"method": case.title, "graph": name, "epsilon": asked.epsilon, "run": run}
                    figures = shares(graph(), *paid, asked.mis_state)
                    add(asked.results, line | {"mis_state": asked.mis_state, "figures": figures})


def tables(lines: list[Line]) -> Iterator[str]:
    """A row for every method and quantity, by what was published."""
    for wrong in sorted({line["mis_state"] for line in lines}):
        held: dict[tuple[str, str], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
        for line in lines:
            if line["mis_state"] == wrong:
                for title, share in line["figures"].items():
                    held[line["method"], title][line["graph"]].append(share)
        yield f"\nscale of the noise divided by {wrong}\n"
        yield "| method | quantity | graphs | fits | held | lowest | highest |\n|---|---|---|---|---|---|---|"
        for (method, title), graphs in held.items():
            means = [float(np.mean(each)) for each in graphs.values()]
            fits = sum(len(each) for each in graphs.values())
            worst = f"{shown(min(means))} | {shown(max(means))}"
            yield f"| {method} | {title} | {len(means)} | {fits} | {shown(np.mean(means))} | {worst} |"


def shown(share: float) -> str:
    """Print a share to three digits."""
    return f"{share:.3f}".removeprefix("0")


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", nargs="+", choices=[case.title for case in CASES])
    parser.add_argument("--epsilon", type=float, default=1.0)
    parser.add_argument("--runs", type=int, default=200)
    parser.add_argument("--mis-state", type=int, default=1, help="divide the published scale by this")
    asked = parser.parse_args()
    run_or_print(parser, asked, run_missing, tables)


if __name__ == "__main__":
    main()
