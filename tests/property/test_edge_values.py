"""What edges carry: the same for any order of the rows, changed in one edge by one row, kept by formats."""

from __future__ import annotations

import tempfile
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from core.graphs import formats
from core.graphs.columns.canonical import merge_edges
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.ingest.value_proposal import rounded_up
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.stored.whole import read_graph, write_graph
from core.graphs.uploads.files import UploadedFile
from core.graphs.views.pseudonyms import pseudonymise
from tests.support.groups import examples

FEW = settings(max_examples=examples(25), deadline=None, suppress_health_check=[HealthCheck.too_slow])
STEPS, NODES = 3, 5
SIGNS = ("minus", "=1+1", "p,lus", "Ø 'a\"b'", "()")
NUMBERS = st.floats(-10, 10, allow_nan=False, width=32)

amount = EdgeAttribute(name="amount", kind="number", bounds=(-10, 10), clip=True, aggregate="sum")
mean = EdgeAttribute(name="mean", kind="number", bounds=(-10, 10), aggregate="mean")
stars = EdgeAttribute(name="stars", kind="integer", bounds=(0, 5), aggregate="mean")
rows = EdgeAttribute(name="rows", kind="integer", bounds=(1, 99), aggregate="count")
sign = EdgeAttribute(name="sign", kind="category", categories=SIGNS, aggregate="last")
least = EdgeAttribute(name="least", kind="category", categories=SIGNS, aggregate="min")
hour = EdgeAttribute(name="hour", kind="time_of_day", aggregate="first")
MERGED = (amount, mean, stars, rows, sign, least, hour)
EACH = tuple(each.model_copy(update={"aggregate": None}) for each in (mean, sign, hour))
DRAWN = {
    "amount": NUMBERS,
    "mean": NUMBERS,
    "stars": st.integers(0, 5),
    "rows": st.just(1),
    "sign": st.integers(0, len(SIGNS) - 1),
    "least": st.integers(0, len(SIGNS) - 1),
    "hour": st.integers(0, 86399),
}


def declared(edge_type: EdgeType) -> GraphSchema:
    grid = TimeGrid(count=STEPS, width=10) if edge_type.temporal else None
    return GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(edge_type,), time=grid)


def kinds(**fields) -> EdgeType:
    return EdgeType(temporal=True, **fields)


TYPES = (
    kinds(attributes=MERGED),
    kinds(attributes=MERGED, directed=True),
    kinds(attributes=EACH, multiplicity="each", records_per_slot=99),
    kinds(attributes=EACH, multiplicity="each", records_per_slot=2, overflow="first"),
    kinds(attributes=EACH, multiplicity="each", records_per_slot=1, overflow="last", directed=True),
)


@st.composite
def raw_rows(draw: st.DrawFn, edge_type: EdgeType) -> list[tuple]:
    """Rows of source, target, time and values, few ends and times among them, so that many meet."""
    ends = st.integers(0, 2)
    names = [attribute.name for attribute in edge_type.attributes]
    cells = st.tuples(ends, ends, st.integers(0, 10 * STEPS - 1), *(DRAWN[name] for name in names))
    return draw(st.lists(cells, min_size=1, max_size=14))


def made(edge_type: EdgeType, given_rows: list[tuple]) -> EdgeTable:
    """The canonical table of the rows, as an upload of them has."""
    columns = [np.array(column) for column in zip(*given_rows, strict=True)]
    columns = columns or [np.empty(0, np.int64)] * (3 + len(edge_type.attributes))
    time = columns[2]
    values = {
        attribute.name: column.astype(np.float64 if attribute.kind == "number" else np.int32)
        for attribute, column in zip(edge_type.attributes, columns[3:], strict=True)
    }
    table = EdgeTable(columns[0], columns[1], time // 10, EdgeValues(values))
    merged = merge_edges(declared(edge_type), edge_type, {"node": NodeTable(NODES)}, table, time)
    assert not merged.faults
    return merged.edges


def slots(table: EdgeTable) -> dict[tuple, list[tuple]]:
    """The records of each edge."""
    values = table.values
    edge = np.arange(table.count) if values.edge is None else values.edge
    found: dict[tuple, list[tuple]] = {
        slot: []
        for slot in zip(table.source.tolist(), table.target.tolist(), table.step.tolist(), strict=True)
    }
    keys = list(found)
    for record in range(values.count):
        found[keys[edge[record]]].append(tuple(column[record].item() for column in values.columns.values()))
    return found


@pytest.mark.parametrize("edge_type", TYPES, ids=range(len(TYPES)))
@FEW
@given(data=st.data())
def test_the_order_of_rows_changes_nothing(edge_type: EdgeType, data: st.DataObject) -> None:
    some = data.draw(raw_rows(edge_type))
    other = data.draw(st.permutations(some))
    assert slots(made(edge_type, some)) == slots(made(edge_type, other))


@pytest.mark.parametrize("edge_type", TYPES, ids=range(len(TYPES)))
@FEW
@given(data=st.data())
def test_one_row_more_changes_one_edge_at_most(edge_type: EdgeType, data: st.DataObject) -> None:
    some = data.draw(raw_rows(edge_type))
    more, fewer = slots(made(edge_type, some)), slots(made(edge_type, some[1:]))
    changed = {slot for slot in more.keys() | fewer.keys() if more.get(slot) != fewer.get(slot)}
    low, high, step = *sorted(some[0][:2]), some[0][2] // 10
    own = (*some[0][:2], step) if edge_type.directed else (low, high, step)
    assert changed <= {own}
    assert len(more.get(own, [])) <= (edge_type.records_per_slot or 1)


@FEW
@given(some=raw_rows(TYPES[0]))
def test_aggregates_are_what_they_say(some: list[tuple]) -> None:
    for (source, target, step), (record,) in slots(made(TYPES[0], some)).items():
        own = [r for r in some if (min(r[:2]), max(r[:2])) == (source, target) and r[2] // 10 == step]
        total, average, star, count, last, lowest, first = record
        assert total == pytest.approx(max(-10, min(10, sum(r[3] for r in own))), abs=1e-6)
        assert average == pytest.approx(sum(r[4] for r in own) / len(own), abs=1e-6)
        assert abs(star - sum(r[5] for r in own) / len(own)) <= 0.5
        assert (count, lowest) == (len(own), min(r[8] for r in own))
        assert last == max((r[2], r[7]) for r in own)[1]
        assert first == min((r[2], r[9]) for r in own)[1]


@FEW
@given(data=st.data())
def test_records_over_the_cap_are_chosen_by_time(data: st.DataObject) -> None:
    for edge_type in TYPES[3:]:
        some = data.draw(raw_rows(edge_type))
        for (source, target, step), records in slots(made(edge_type, some)).items():
            own = [
                (r[2], *r[3:])
                for r in some
                if r[2] // 10 == step
                and (r[:2] if edge_type.directed else (min(r[:2]), max(r[:2]))) == (source, target)
            ]
            ordered, cap = sorted(own), edge_type.records_per_slot
            kept = ordered[:cap] if edge_type.overflow == "first" else ordered[-cap:]
            assert sorted(records) == sorted(r[1:] for r in kept)


def graph_of(edge_type: EdgeType, some: list[tuple]) -> Graph:
    return Graph.build(declared(edge_type), {}, {"edge": made(edge_type, some)})


@pytest.mark.parametrize("edge_type", TYPES, ids=range(len(TYPES)))
@FEW
@given(data=st.data(), seed=st.integers(0, 2**32 - 1))
def test_a_graph_is_stored_renamed_and_cut_with_its_values(
    edge_type: EdgeType, data: st.DataObject, seed: int
) -> None:
    graph = graph_of(edge_type, data.draw(raw_rows(edge_type)))
    with tempfile.TemporaryDirectory() as folder:
        write_graph(graph, Path(folder))
        assert read_graph(Path(folder)).equals(graph)
        assert read_graph(Path(folder), protected_values=False).edges["edge"].values is None
    renamed, order = pseudonymise(graph, np.random.default_rng(seed))
    back = EdgeTable(
        order["node"][renamed.edges["edge"].source],
        order["node"][renamed.edges["edge"].target],
        renamed.edges["edge"].step,
        renamed.edges["edge"].values,
    )
    assert Graph.build(graph.schema, {}, {"edge": back}).equals(graph)
    kept = np.random.default_rng(seed).random(graph.edges["edge"].count) < 0.5
    expected = [
        records for records, keep in zip(slots(graph.edges["edge"]).values(), kept, strict=True) if keep
    ]
    assert list(slots(graph.only({"edge": kept}).edges["edge"]).values()) == expected


def again(graph: Graph, name: str, folder: Path, **options: str) -> Graph:
    """The graph, written in the format and ingested."""
    formats.get(name).write(graph, folder / "file")
    canonicalise({"edges": UploadedFile(folder / "file", name, options)}, graph.schema, folder / "out")
    return read_graph(folder / "out")


@pytest.mark.parametrize("edge_type", [TYPES[1], TYPES[2]], ids=["merged", "each"])
@pytest.mark.parametrize(
    "name",
    [
        *("csv", "parquet"),
        *(pytest.param(each, marks=pytest.mark.audits) for each in ("gml", "graphml", "node_link", "tsv")),
    ],
)
@FEW
@given(data=st.data())
def test_every_format_gives_values_back(name: str, edge_type: EdgeType, data: st.DataObject) -> None:
    unit = edge_type.model_copy(update={"temporal": True})
    graph = graph_of(unit, data.draw(raw_rows(unit)))
    # A file says steps for times: the schema that reads it again has steps of one unit.
    steps = graph.schema.model_copy(update={"time": TimeGrid(count=STEPS)})
    graph = Graph.build(steps, graph.nodes, graph.edges)
    with tempfile.TemporaryDirectory() as folder:
        assert again(graph, name, Path(folder)).equals(graph)


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize(
    "kind", ["number", *(pytest.param(each, marks=pytest.mark.audits) for each in ("integer", "time_of_day"))]
)
@pytest.mark.parametrize("name", ["npz", "matrix_market"])
@FEW
@given(data=st.data())
def test_a_matrix_gives_its_one_value_back_zero_too(
    name: str, kind: str, directed: bool, data: st.DataObject
) -> None:
    bounds = None if kind == "time_of_day" else (-10, 10)
    attribute = EdgeAttribute(name="amount", kind=kind, bounds=bounds, aggregate="max")
    schema = declared(EdgeType(attributes=(attribute,), directed=directed))
    ends = data.draw(st.lists(st.tuples(*[st.integers(0, NODES - 1)] * 2), max_size=12))
    low = 0 if kind == "time_of_day" else -10
    cells = NUMBERS if kind == "number" else st.integers(low, 10)
    held = np.array(data.draw(st.lists(cells, min_size=len(ends), max_size=len(ends))))
    columns = np.array(ends, dtype=np.int64).reshape(-1, 2)
    values = EdgeValues({"amount": held.astype(np.float64 if kind == "number" else np.int32)})
    graph = Graph.build(schema, {}, {"edge": EdgeTable(columns[:, 0], columns[:, 1], None, values)})
    with tempfile.TemporaryDirectory() as folder:
        assert again(graph, name, Path(folder)).equals(graph)
        assert again(graph, name, Path(folder), value="amount").equals(graph)


@given(st.floats(-1e15, 1e15))
def test_proposed_bounds_hold_what_was_read(value: float) -> None:
    assert rounded_up(value) >= value
    assert rounded_up(value) <= max(10 * value, 0, 1e-12) or value <= 0


def test_proposed_bounds_are_round() -> None:
    assert [rounded_up(value) for value in (-3, 0, 0.3, 1, 1.1, 4, 6, 10, 999)] == [
        *(0, 0, 0.5, 1, 2, 5, 10, 10, 1000)
    ]
    steps = [rounded_up(10.0**power * 1.5) for power in range(-5, 15)]
    assert all(one < other for one, other in pairwise(steps))
