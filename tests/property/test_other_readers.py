"""Lists at random are read as pandas, Polars, NetworkX and NetworKit read them, who are told the dialect."""

from __future__ import annotations

import io
import random
from collections.abc import Sequence
from pathlib import Path

import networkit as nk
import networkx as nx
import pandas as pd
import polars as pl
import pytest

from core.errors import IngestRejected
from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import UploadedFile, canonicalise
from core.graphs.reading.model import Reading
from core.graphs.stored.whole import read_graph
from tests.support.random_lists import RandomList, random_list

Pair = tuple[str, str]
Rows = list[tuple[str, ...]]


def text_of(made: RandomList) -> str:
    """The text below what stands before the first line."""
    text = made.content.decode(made.kinds["encoding"]).replace("\r\n", "\n").replace("\r", "\n")
    return text.removeprefix(made.kinds["opening"])


def by_pandas(text: str, made: RandomList) -> Rows:
    delimiter = made.kinds["delimiter"]
    frame = pd.read_csv(
        io.StringIO(text),
        sep=r"[ \t]+" if delimiter == " " else delimiter,
        header=0 if made.header else None,
        dtype=str,
        keep_default_na=False,
        engine="python",
    )
    return [tuple(cell.strip() for cell in row) for row in frame.itertuples(index=False, name=None)]


def by_polars(text: str, made: RandomList) -> Rows:
    delimiter = {"::": "\x1f", " ": "\x1f"}.get(made.kinds["delimiter"], made.kinds["delimiter"])
    text = text.replace("::", delimiter) if made.kinds["delimiter"] == "::" else text
    if made.kinds["delimiter"] == " ":
        text = "\n".join(delimiter.join(line.split()) for line in text.split("\n"))
    quote = None if delimiter == "\x1f" else '"'
    frame = pl.read_csv(
        text.encode(), separator=delimiter, has_header=made.header, infer_schema=False, quote_char=quote
    )
    return [tuple((cell or "").strip() for cell in row) for row in frame.rows()]


def by_networkx(text: str, made: RandomList) -> set[Pair] | None:
    """The pairs, where NetworkX reads such a file: ends first, one delimiter, no quotes."""
    if made.roles[:2] != ("source", "target") or '"' in text or "#" in text:
        return None
    lines = [line for line in text.split("\n")[made.header :] if line]
    delimiter = None if made.kinds["delimiter"] == " " else made.kinds["delimiter"]
    lines = [(delimiter or " ").join(line.split(delimiter)[:2]) for line in lines]
    return {(a, b) for a, b in nx.parse_edgelist(lines, delimiter=delimiter, create_using=nx.DiGraph).edges}


def by_networkit(text: str, made: RandomList, folder: Path) -> set[Pair] | None:
    """The pairs, where NetworKit reads such a file: ends alone, one character between them, no quotes."""
    delimiter = made.kinds["delimiter"]
    if made.roles != ("source", "target") or '"' in text or len(delimiter) > 1 or "  " in text:
        return None
    path = folder / "networkit"
    lines = [line for line in text.split("\n")[made.header :] if line]
    if delimiter != " " and any(" " in line for line in lines):
        return None  # it ends a field at a space
    path.write_text("\n".join(lines) + "\n")
    reader = nk.graphio.EdgeListReader(delimiter, 0, "\v", continuous=False, directed=True)
    graph = reader.read(str(path))
    names = {number: name for name, number in reader.getNodeMap().items()}
    return {(names[a], names[b]) for a, b in graph.iterEdges()}


def edges_of(graph: Graph) -> dict[str, set[tuple[str, str, int]]]:
    """Pairs of ids and steps, by relation; -1 for no time."""
    found = {}
    for edge_type in graph.schema.edge_types:
        table = graph.edges[edge_type.name]
        source = graph.nodes[edge_type.source].id_array().take(table.source).to_pylist()
        target = graph.nodes[edge_type.target].id_array().take(table.target).to_pylist()
        steps = [-1] * table.count if table.step is None else table.step.tolist()
        found[edge_type.in_files] = set(zip(source, target, steps, strict=True))
    return found


def expected(
    rows: Rows, made: RandomList, graph: Graph, reading: Reading
) -> dict[str, set[tuple[str, str, int]]]:
    """The same of what another reader saw."""
    places = {role: place for place, role in enumerate(made.roles)}
    grid, order = graph.schema.time, order_of(graph)
    found: dict[str, set[tuple[str, str, int]]] = {}
    for number, row in enumerate(rows):
        one, other = row[places["source"]], row[places["target"]]
        if not reading.bipartite and one == other:
            continue
        relation = row[places["type"]] if "type" in places else "edge"
        step = -1 if grid is None else (made.times[number] - grid.start) // grid.width
        pair = (one, other) if reading.bipartite else _in_order(order, one, other)
        found.setdefault(relation, set()).add((*pair, step))
    return found


def order_of(graph: Graph) -> dict[str, int]:
    """The places of nodes of one sort: the graph holds an undirected edge from the first to the last."""
    nodes = graph.nodes.get("node")
    return {} if nodes is None else {each: place for place, each in enumerate(nodes.id_array().to_pylist())}


def _in_order(order: dict[str, int], one: str, other: str) -> Pair:
    return (one, other) if order[one] < order[other] else (other, one)


def values_of(graph: Graph, reading: Reading) -> dict[Pair, float] | None:
    """The value of each pair, where every edge has one and no time."""
    if len(graph.edges) > 1 or graph.schema.time is not None:
        return None
    (edge_type,), (table,) = graph.schema.edge_types, graph.edges.values()
    column = next((column for column in reading.columns if column.role == "value"), None)
    if table.values is None or column is None or column.called not in table.values.columns:
        return None
    ends = [
        graph.nodes[getattr(edge_type, end)].id_array().take(getattr(table, end)).to_pylist()
        for end in ("source", "target")
    ]
    return dict(zip(zip(*ends, strict=True), table.values.columns[column.called].tolist(), strict=True))


def difference(made: RandomList, folder: Path) -> str | None:
    """Say in what the readers differ though nothing was asked; None where they agree, or it was asked."""
    (folder / "edges").write_bytes(made.content)
    try:
        report = canonicalise({"edges": UploadedFile(folder / "edges", "csv")}, None, folder / "out")
    except IngestRejected as refused:
        return None if str(refused) else "refused without a word"
    reading, graph = report.readings["edges"], read_graph(folder / "out")
    if reading.questions:
        return None
    text = text_of(made)
    ours = edges_of(graph)
    for name, rows in (("pandas", by_pandas(text, made)), ("Polars", by_polars(text, made))):
        if (theirs := expected(rows, made, graph, reading)) != {k: v for k, v in ours.items() if v}:
            return f"{name}: {_sizes(theirs)} for {_sizes(ours)}"
        values = values_of(graph, reading)
        if values is not None and values != _most(rows, made, graph, reading):
            return f"{name}: other values"
    drawn = {tuple(sorted(each[:2])) for relation in ours.values() for each in relation}
    for name, pairs in (
        ("NetworkX", by_networkx(text, made)),
        ("NetworKit", by_networkit(text, made, folder)),
    ):
        if pairs is None or reading.bipartite:
            continue
        if {tuple(sorted((a, b))) for a, b in pairs if a != b} != drawn:
            return f"{name}: other pairs"
    return None


def _most(rows: Rows, made: RandomList, graph: Graph, reading: Reading) -> dict[Pair, float]:
    """The largest value of each pair."""
    places = {role: place for place, role in enumerate(made.roles)}
    found: dict[Pair, float] = {}
    order = order_of(graph)
    for row in rows:
        one, other = row[places["source"]], row[places["target"]]
        if reading.bipartite or one != other:
            pair = (one, other) if reading.bipartite else _in_order(order, one, other)
            value = float(row[places["value"]].replace(",", "."))
            found[pair] = max(found.get(pair, value), value)
    return found


def _sizes(found: dict[str, set[tuple[str, str, int]]]) -> Sequence[tuple[str, int]]:
    return sorted((name, len(edges)) for name, edges in found.items())


def differences(tmp_path: Path, files: int) -> list[str]:
    seed = random.SystemRandom().randrange(10**9)
    found = []
    for number in range(files):
        folder = tmp_path / str(number)
        folder.mkdir()
        made = random_list(random.Random(f"{seed}/{number}"))
        if told := difference(made, folder):
            found.append(f"{seed}/{number}: {told}, {made.kinds}")
    return found


def test_other_readers_agree(tmp_path: Path) -> None:
    found = differences(tmp_path, 100)
    assert len(found) <= 1, found


@pytest.mark.slow
def test_other_readers_agree_on_two_thousand_files(tmp_path: Path) -> None:
    found = differences(tmp_path, 2000)
    assert len(found) <= 2, found
