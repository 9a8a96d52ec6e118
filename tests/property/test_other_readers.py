"""Lists at random are read as pandas, Polars, NetworkX and NetworKit read them, who are told the dialect.

Each list is uploaded as it is. Where something is asked, it is sent again with the answers of whoever wrote
it; so every list is compared in the end, or refused with what is wrong with it.
"""

from __future__ import annotations

import random
from collections import Counter
from pathlib import Path

import pytest

from core.errors import IngestRejected
from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import UploadedFile, canonicalise
from core.graphs.reading.model import Reading
from core.graphs.stored.whole import read_graph
from core.graphs.uploads.files import IngestReport
from tests.support.other_readers import READERS, Seen, answers, dressed, moment
from tests.support.random_lists import RandomList, random_list

pytestmark = pytest.mark.extras

Slot = tuple[str, str, int]
"""The ends of an edge, and its step; -1 without time."""
MOST_REFUSED = 0.02
"""Of all lists, as many may be refused with their writer's own answers: a title that cuts a quote, say."""


def uploaded(made: RandomList, folder: Path, options: dict[str, str]) -> tuple[IngestReport, Graph]:
    (folder / "edges").write_bytes(made.content)
    report = canonicalise({"edges": UploadedFile(folder / "edges", "csv", options)}, None, folder / "out")
    return report, read_graph(folder / "out")


def misread(made: RandomList, reading: Reading) -> str | None:
    """Say what a reading takes otherwise than it was written.

    That integers at both ends are two sorts of nodes no other reader knows either, where no name says so:
    how often it is asked is measured by ``benchmarks.reading``.
    """
    found = tuple(str(column.role) for column in reading.columns)
    meant = made.roles + ("left alone",) * (made.kinds["dressed"] == "delimiter behind")
    if found != meant:
        return f"the columns are {found} for {meant}"
    if reading.dialect.header is not made.header:
        return f"the header is {reading.dialect.header}"
    if made.bipartite is False and reading.bipartite:
        return "two sorts of nodes for one"
    return None


def edges_of(graph: Graph) -> dict[str, dict[Slot, float | None]]:
    """Every edge with its value, by relation."""
    found = {}
    for edge_type in graph.schema.edge_types:
        table = graph.edges[edge_type.name]
        source = graph.nodes[edge_type.source].id_array().take(table.source).to_pylist()
        target = graph.nodes[edge_type.target].id_array().take(table.target).to_pylist()
        steps = [-1] * table.count if table.step is None else table.step.tolist()
        held = {} if table.values is None else dict(table.values.columns)
        values = [None] * table.count if not held else next(iter(held.values())).tolist()
        found[edge_type.in_files] = dict(zip(zip(source, target, steps, strict=True), values, strict=True))
    return {name: edges for name, edges in found.items() if edges}


def expected(
    seen: Seen, made: RandomList, graph: Graph, *, two: bool, valued: bool
) -> dict[str, dict[Slot, float | None]]:
    """Make the same of what another reader saw: of the rows of an edge the latest value, or the largest."""
    place = {role: number for number, role in enumerate(seen.roles)}
    grid, order = graph.schema.time, order_of(graph)
    best: dict[str, dict[Slot, tuple[int, float]]] = {}
    for row in seen.rows:
        one, other = row[place["source"]], row[place["target"]]
        if not two and one == other:
            continue
        at = moment(made.kinds["times"], row[place["time"]]) if "time" in place else 0
        value = float(row[place["value"]].replace(",", ".")) if "value" in place else 0.0
        pair = (one, other) if two or order[one] < order[other] else (other, one)
        slot = (*pair, -1 if grid is None else (at - grid.start) // grid.width)
        edges = best.setdefault(row[place["type"]] if "type" in place else "edge", {})
        edges[slot] = max(edges.get(slot, (at, value)), (at, value))
    return {
        name: {slot: value if valued else None for slot, (_, value) in edges.items()}
        for name, edges in best.items()
    }


def order_of(graph: Graph) -> dict[str, int]:
    """The places of nodes of one sort: the graph holds an undirected edge from the first to the last."""
    nodes = graph.nodes.get("node")
    return {} if nodes is None else {each: place for place, each in enumerate(nodes.id_array().to_pylist())}


def compared(made: RandomList, report: IngestReport, graph: Graph, seen: Seen) -> str | None:
    """Say in what a graph differs from what another reader saw."""
    reading, ours = report.readings["edges"], edges_of(graph)
    value = next((column for column in reading.columns if column.role == "value"), None)
    left_out = value is not None and value.called in report.columns_ignored
    place = {role: number for number, role in enumerate(seen.roles)}
    ends = [{row[place[end]] for row in seen.rows} for end in ("source", "target")]
    listed = [set(table.id_array().to_pylist()) for table in graph.nodes.values()]
    if sorted(map(sorted, listed)) != sorted(map(sorted, ends if reading.bipartite else [ends[0] | ends[1]])):
        return f"nodes: {[len(each) for each in listed]} for {[len(each) for each in ends]}"
    if "time" in place and graph.schema.time is None:
        return "no times"
    valued = "value" in place and not left_out
    theirs = expected(seen, made, graph, two=reading.bipartite, valued=valued)
    if {name: set(edges) for name, edges in theirs.items()} != {n: set(edges) for n, edges in ours.items()}:
        return f"edges: {_sizes(ours)} for {_sizes(theirs)}"
    return None if ours == theirs else "values"


def _sizes(found: dict[str, dict[Slot, float | None]]) -> list[tuple[str, int]]:
    return sorted((name, len(edges)) for name, edges in found.items())


def difference(made: RandomList, seen: Seen, folder: Path) -> tuple[str, str | None]:
    """Name what became of a list, read unasked, asked or refused; and in what it differs then."""
    outcome, options = "read", dict[str, str]()
    try:
        report, graph = uploaded(made, folder, options)
    except IngestRejected as refused:
        outcome = "asked" if "; send " in str(refused) else "mended"
    if outcome != "read" or report.readings["edges"].questions:
        outcome, options = "asked" if outcome == "read" else outcome, answers(made)
        try:
            report, graph = uploaded(made, folder, options)
        except IngestRejected as refused:
            return "refused", None if str(refused) else "refused without a word"
    told = misread(made, report.readings["edges"])
    return outcome, told or compared(made, report, graph, seen)


def differences(reader: str, tmp_path: Path, files: int) -> list[str]:
    """Read as many lists as that, of those that the reader can read."""
    seed, number, found = random.SystemRandom().randrange(10**9), 0, list[str]()
    outcomes: Counter[str] = Counter()
    while outcomes.total() < files:
        rng = random.Random(f"{seed}/{number}")
        made = dressed(random_list(rng), rng)
        number += 1
        folder = tmp_path / str(number)
        folder.mkdir()
        seen = READERS[reader](made, folder)
        if seen is None:
            continue
        outcome, told = difference(made, seen, folder)
        outcomes[outcome] += 1
        if told:
            found.append(f"{seed}/{number - 1}, {outcome}: {told}, {made.kinds}")
    print(f"{reader}, seed {seed}: {dict(outcomes)}")
    assert outcomes["refused"] <= MOST_REFUSED * files + 1, outcomes
    return found


@pytest.mark.parametrize(
    "reader", [pytest.param(each, marks=() if each == "NetworkX" else pytest.mark.audits) for each in READERS]
)
def test_other_readers_agree(reader: str, tmp_path: Path) -> None:
    assert differences(reader, tmp_path, 40) == []


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("reader", READERS)
def test_other_readers_agree_on_two_thousand_files(reader: str, tmp_path: Path) -> None:
    assert differences(reader, tmp_path, 2000) == []
