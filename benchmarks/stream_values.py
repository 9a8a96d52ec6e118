"""What edges carry in a live stream: how close synthetic values come, and what memory of steps adds.

    python -m benchmarks.stream_values RESULTS.jsonl --data FOLDER
    python -m benchmarks.stream_values RESULTS.jsonl --table

Only runs that RESULTS lacks are made. Epsilon is that of a window of four steps, for values alone, and values
are drawn for the original's own edges of every step, so that nothing else is off. "alone": every step reads
and draws as if it were the first. bitcoin-otc: who trusts whom how much, in 24 steps of like length;
radoslaw-email: hours of a company's mails, the first of a pair and week. Figures: those of
``benchmarks.attribute_tables``, over the edges of all steps together; "by step": ``value_step_distance`` of
docs/metrics.md.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks.attribute_tables import DAY, EDGE, HOUR, MAILS, TRUST, figures, mean_of, of_columns
from benchmarks.results_file import Line, add, read, runs_or_tables
from core.evaluation.values import compare_values
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.schema.snapshots import tick_schema
from core.methods._shared.values.draw import drawn_values
from core.methods._shared.values.fit import paid_step
from core.methods._shared.values.memory import Memory
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

RUNS = 5
WINDOW, STEPS = 4, 24
WEEK = 7 * DAY
TRUSTED = "bitcoin-otc"
GRAPHS = (TRUSTED, MAILS)
EPSILONS = (1, 4)
ROWS = ("alone", "this")


def loaded(name: str, data: Path) -> Graph:
    """Edges by step, each with what it carries."""
    if name == TRUSTED:
        rows = np.loadtxt(data / name / "soc-sign-bitcoinotc.csv", delimiter=",", skiprows=1)
        rows = rows[np.argsort(rows[:, 3], kind="stable")]
        place = (rows[:, 3] - rows[0, 3]) / (rows[-1, 3] - rows[0, 3] + 1)
        ends = rows[:, :2].astype(np.int64)
        return of_columns(ends[:, 0], ends[:, 1], rows[:, 2], TRUST, (place * STEPS).astype(np.int64))
    rows = np.loadtxt(data / MAILS / "email.tsv", comments="%", usecols=(0, 1, 3)).astype(np.int64)
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    week = rows[:, 2] // WEEK
    return of_columns(rows[:, 0], rows[:, 1], rows[:, 2] % DAY, HOUR, week - week.min())


def streamed(graph: Graph, epsilon: float, row: str) -> Graph:
    """The same edges with values that were read step by step."""
    table, nano = graph.edges[EDGE], int(epsilon * NANO) // WINDOW
    attribute = graph.schema.edge_types[0].attributes[0]
    (values,) = table.values.columns.values()
    drawn, before, rng = np.empty_like(values), None, noise_generator()
    for step in range(graph.schema.steps):
        here = np.flatnonzero(table.step == step)
        ends = table.source[here], table.target[here], np.zeros(len(here), np.int32)
        snapshot = EdgeTable(*ends, EdgeValues({attribute.name: values[here]}))
        granted = Allotment(EDGE, 0, Pure(nano, "values"), "values")
        plan = PrivacyPlan("values", Unit.W_EVENT, WINDOW, 1, (granted,), first_step=step)
        of = Graph.build(tick_schema(graph.schema, [EDGE], step), graph.nodes, {EDGE: snapshot})
        reads = PrivateGraph(of, Meter(plan, MemoryRecorder())).edge_values(EDGE, attribute.name)
        kept: Memory
        columns, kept = paid_step(reads, snapshot.bare(), nano, before, step)
        before = kept if row == "this" else None
        drawn[here] = drawn_values(columns, snapshot.bare(), reads.bins, reads.shape.undirected, rng)
    held = EdgeTable(table.source, table.target, table.step, EdgeValues({attribute.name: drawn}))
    return Graph.build(graph.schema, graph.nodes, {EDGE: held})


def measured(name: str, epsilon: float, row: str, data: Path) -> dict[str, float]:
    """The figures of one run."""
    original = loaded(name, data)
    synthetic = streamed(original, epsilon, row)
    compared = compare_values(original, synthetic, original.schema.edge_types[0])[0]["row"]
    by_step = compared["distances"]["value_step_distance"]
    return figures(original, synthetic) | {"by step": round(float(by_step), 5)}


def run_missing(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks."""
    known = {(line["graph"], line["epsilon"], line["row"], line["run"]) for line in read(asked.results)}
    for name in GRAPHS:
        for epsilon in EPSILONS:
            for row in ROWS:
                for run in range(asked.runs):
                    if (name, epsilon, row, run) not in known:
                        found = measured(name, epsilon, row, asked.data)
                        line = {"graph": name, "epsilon": epsilon, "row": row, "run": run}
                        add(asked.results, line | {"figures": found})


def tables(lines: list[Line]) -> Iterator[str]:
    """Every graph's table as Markdown: means over runs."""
    for name in dict.fromkeys(line["graph"] for line in lines):
        own = [line for line in lines if line["graph"] == name]
        columns = list(own[0]["figures"])
        yield f"\n{name}\n\n| epsilon | row | {' | '.join(columns)} | runs |"
        yield "|---" * (len(columns) + 3) + "|"
        for epsilon, row in dict.fromkeys((line["epsilon"], line["row"]) for line in own):
            runs = [each["figures"] for each in own if (each["epsilon"], each["row"]) == (epsilon, row)]
            shown = [mean_of([run[each] for run in runs]) for each in columns]
            yield f"| {epsilon:g} | {row} | {' | '.join(shown)} | {len(runs)} |"


if __name__ == "__main__":
    runs_or_tables(__doc__, RUNS, run_missing, tables)
