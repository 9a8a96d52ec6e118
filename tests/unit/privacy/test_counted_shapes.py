"""Shapes of graphs in parts: read, charged and fitted as in memory, or refused."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from core.errors import NotAccepted
from core.graphs.counted.here import InParts
from core.graphs.counted.stored import CountedEdges, CountedGraph, open_parts, write_counts
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.parted import write_parted
from core.graphs.stored.whole import write_universe
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy import entropy
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.queries import Shape, ask
from core.privacy.reads import capped_parts, node_values
from core.privacy.session.counted import PrivateParts
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.unit.privacy.test_counted import COUNTS, NANO, TYPED, graphs, random_pairs


def valued(directory, cell, source, target, part_edges=40):
    """Persons with protected attributes, and relations of them: in memory, and in parts."""
    attributes = (
        Attribute(name="town", protection="protected", categories=("a", "b", "c")),
        Attribute(name="age", kind="number", protection="protected", bounds=(0, 90), cuts=(18, 65)),
        Attribute(
            name="likes", kind="vector", protection="protected", bounds=(0, 4), length=3, nonzero=2, cuts=(2,)
        ),
    )
    person = TYPED.node_type("person").model_copy(update={"attributes": attributes})
    schema = TYPED.model_copy(update={"node_types": (person, TYPED.node_type("firm"))})
    rng = np.random.default_rng(6)
    columns = {
        "town": pa.array(rng.choice(["a", "b", "c", None], 60)),
        "age": rng.integers(0, 91, 60).astype(np.float64),
        "likes": rng.integers(0, 5, (60, 3)).astype(np.float64),
    }
    universe = {"person": NodeTable(60, None, columns), "firm": NodeTable(20)}
    of = {"knows": cell == 0, "calls": (cell > 0) & (cell < 4), "owns": cell == 4}
    tables = {
        name: EdgeTable(source[rows], target[rows], cell[rows] - 1 if name == "calls" else None)
        for name, rows in of.items()
    }
    whole = Graph.build(schema, universe, tables)
    rows = [(source, target, cell)]
    return whole, write_parted(schema, universe, rows, len(cell), directory, part_edges)


@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.PAIR, Unit.W_EVENT])
def test_protected_attributes_of_nodes_are_read_as_in_memory(tmp_path, monkeypatch, unit):
    """The same reads, priorities and noise: the same values of all nodes, groups and edges between them."""
    rng = np.random.default_rng(8)
    cell = rng.integers(0, 5, 1500)
    most = np.where(cell == 4, 20, 60)
    whole, parted = valued(tmp_path / "g", cell, rng.integers(0, most), rng.integers(0, most))
    generator = registry.get("dcsbm")
    params = generator.Params(**COUNTS, node_attribute_share=0.3)
    window = 2 if unit is Unit.W_EVENT else None
    facts = PublicFacts(whole.schema, unit, window, 8 * NANO, 0, ("knows", "calls", "owns"))
    plan = generator.plan(params, facts)
    # Ties are settled by chance in an order that chance decides: of both fits it is the same here.
    monkeypatch.setattr(entropy, "noise_generator", lambda: np.random.default_rng(3))
    monkeypatch.setattr(capped_parts, "FILE_ENDS", 50)
    monkeypatch.setattr("core.methods._shared.node_values.fit.cap_for", lambda *args: 3)
    monkeypatch.setattr(mechanisms, "discrete_laplace", lambda values, sensitivity, epsilon: told(values))
    seen, charged, models = [], [], []

    def told(values):
        seen[-1].append(values.copy())
        return values + np.random.default_rng(len(seen[-1])).integers(-2, 3, len(values))

    for session, fit, graph in (
        (PrivateGraph, generator.fit, whole),
        (PrivateParts, generator.sharding.fit_parts, parted),
    ):
        seen.append([])
        meter = Meter(plan, MemoryRecorder())
        models.append(fit(session(graph, meter), plan, params, no_progress))
        charged.append([(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript])
    assert charged[0] == charged[1]
    assert {name for name, *_ in charged[0]} == {"knows", "calls", "owns", "rows:person"}
    assert len(seen[0]) == len(seen[1]) > 5 * 4 + 3
    assert all(np.array_equal(*each) for each in zip(*seen, strict=True))
    assert models[0].values.cells.keys() == models[1].values.cells.keys()
    for key, columns in models[0].values.cells.items():
        for name, column in columns.items():
            assert np.array_equal(column, models[1].values.cells[key][name]), (key, name)
    for key, columns in models[0].structure.cells.items():
        for name in ("labels", "blocks"):
            assert np.array_equal(columns[name], models[1].structure.cells[key][name]), (key, name)


@pytest.mark.parametrize("cap", [1, 2, 5, 100])
@pytest.mark.parametrize("file_ends", [3, 10**6])
def test_capped_edges_of_parts_are_those_of_memory_at_equal_priorities_too(
    tmp_path, monkeypatch, cap, file_ends
):
    rng = np.random.default_rng(cap)
    cell = rng.integers(0, 4, 900)
    whole, parted = valued(tmp_path / "g", cell, *rng.integers(0, 60, (2, 900)))
    groups = rng.integers(-1, 3, 60)
    monkeypatch.setattr(capped_parts, "FILE_ENDS", file_ends)
    for priorities in (4, 2**63):
        monkeypatch.setattr(capped_parts, "PRIORITIES", priorities)
        for relation in ("knows", "calls"):
            table = whole.edges[relation]
            priority = np.random.default_rng(1).integers(0, priorities, table.count)
            expected = node_values.mixed(table.source, table.target, groups, 3, cap, priority)
            asked = groups, 3, cap, np.random.default_rng(1)
            assert np.array_equal(capped_parts.mixed_in_parts(parted, relation, *asked), expected)
            assert expected.sum() > 0
    assert not [path for path in (tmp_path / "g").iterdir() if path.is_dir()]


def test_neighbours_move_capped_edges_of_parts_by_three_and_rows_by_twice_the_cap(tmp_path, monkeypatch):
    """Brute force over graphs of four nodes, their edges in several parts, under fixed priorities."""
    slots = list(itertools.combinations(range(4), 2))
    priority, labels = np.array([3, 1, 5, 0, 2, 4]), np.array([0, 1, 0, 1])

    class Fixed:
        """Priorities of the edges that are there, in their order."""

        bit_generator = type("", (), {"state": 0})()

        def __init__(self, present):
            self.left = [*priority[present]] * 2

        def integers(self, low, high, count, dtype):
            return np.array([self.left.pop(0) for _ in range(count)], dtype=dtype)

    schema = GraphSchema(node_types=(NodeType(count=4),), edge_types=(EdgeType(),))
    for cap in (1, 2):
        found = {}
        for bits in range(2**6):
            present = [i for i in range(6) if bits >> i & 1]
            ends = np.array([slots[i] for i in present], dtype=np.int64).reshape(-1, 2)
            rows = [(ends[:, 0], ends[:, 1])]
            folder = tmp_path / f"{cap}-{bits}"
            parted = write_parted(schema, {"node": NodeTable(4)}, rows, len(ends), folder, 2)
            for row in (*range(4), None):
                changed = labels.copy()
                if row is not None:
                    changed[row] = 1 - changed[row]
                asked = changed, 2, cap, Fixed(present)
                found[bits, row] = capped_parts.mixed_in_parts(parted, "edge", *asked)
        edge = max(
            np.abs(found[bits, None] - found[bits | 1 << slot, None]).sum()
            for bits in range(2**6)
            for slot in range(6)
        )
        row = max(np.abs(found[b, None] - found[b, r]).sum() for b in range(2**6) for r in range(4))
        assert (edge, row) <= (node_values.EDGE_MOVES, node_values.ROW_MOVES * cap)
        assert edge > 1
        assert row == node_values.ROW_MOVES * cap


def test_edges_that_stay_elsewhere_are_not_mixed_and_nothing_is_charged(tmp_path):
    whole, parted = valued(
        tmp_path / "g", np.zeros(9, int), *np.random.default_rng(1).integers(0, 60, (2, 9))
    )
    counted = CountedGraph(whole.schema, parted.nodes, (CountedEdges(9, tmp_path, {}),))
    generator = registry.get("dcsbm")
    params = generator.Params(**COUNTS, node_attribute_share=0.3)
    plan = generator.plan(params, PublicFacts(whole.schema, Unit.EVENT, None, NANO, 0, ("knows",)))
    meter = Meter(plan, MemoryRecorder())
    reads = PrivateParts(counted, meter).node_values("person")
    budgets = {"edge_nano_epsilon": 1, "row_nano_epsilon": 1, "purpose": "none"}
    with pytest.raises(NotAccepted, match="stay elsewhere; upload them in parts, or leave"):
        reads.mixing("knows", "town", groups=np.arange(3), cap=2, **budgets)
    assert not meter.transcript


SIDED = GraphSchema(
    node_types=(NodeType(name="person", count=60), NodeType(name="firm", count=20)),
    edge_types=(
        EdgeType(name="knows", source="person", target="person"),
        EdgeType(name="writes", source="person", target="person", directed=True, temporal=True),
        EdgeType(name="cites", source="person", target="person", directed=True),
        EdgeType(name="hires", source="firm", target="person"),
        EdgeType(name="buys", source="person", target="firm", temporal=True),
    ),
    time=TimeGrid(start=0, width=1, count=2),
)


@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.PAIR, Unit.W_EVENT])
def test_directed_relations_and_those_between_two_types_are_read_as_in_memory(tmp_path, monkeypatch, unit):
    """The same noise for both: every number of the model is the same, and so is what was charged."""
    rng = np.random.default_rng(9)
    names = ("knows", "writes", "writes", "cites", "hires", "buys", "buys")
    cell = rng.integers(0, len(names), 2500)
    firms = [np.isin(cell, owners) for owners in ((4,), (5, 6))]
    source, target = (rng.integers(0, np.where(firm, 20, 60)) for firm in firms)
    universe = {"person": NodeTable(60), "firm": NodeTable(20)}
    tables = {}
    for name in dict.fromkeys(names):
        rows, first = np.isin(cell, [i for i, each in enumerate(names) if each == name]), names.index(name)
        step = cell[rows] - first if SIDED.edge_type(name).temporal else None
        tables[name] = EdgeTable(source[rows], target[rows], step)
    whole = Graph.build(SIDED, universe, tables)
    parted = write_parted(SIDED, universe, [(source, target, cell)], len(cell), tmp_path / "g", 100)
    write_universe(Graph.build(SIDED, universe, {}), tmp_path / "counted")
    (tmp_path / "counted" / "schema.json").write_text(SIDED.model_dump_json())
    write_counts(InParts(parted), SIDED, universe, {}, tmp_path / "counted")
    generator = registry.get("anchored")
    params = generator.Params(**generator.sharding.counted)
    generator.sharding.require(params)
    window = 2 if unit is Unit.W_EVENT else None
    facts = PublicFacts(SIDED, unit, window, 8 * NANO, 0, tuple(dict.fromkeys(names)))
    plan = generator.plan(params, facts)
    monkeypatch.setattr(entropy, "noise_generator", lambda: np.random.default_rng(3))
    seen, charged, models = [], [], []

    def told(values, sensitivity, nano_epsilon):
        seen[-1].append([*values, sensitivity, nano_epsilon])
        return values + np.random.default_rng(len(seen[-1])).integers(-2, 3, len(values))

    monkeypatch.setattr(mechanisms, "discrete_laplace", told)
    for session, fit, graph in (
        (PrivateGraph, generator.fit, whole),
        (PrivateParts, generator.sharding.fit_parts, parted),
        (PrivateParts, generator.sharding.fit_parts, open_parts(tmp_path / "counted")),
    ):
        seen.append([])
        meter = Meter(plan, MemoryRecorder())
        models.append(fit(session(graph, meter), plan, params, no_progress))
        charged.append([(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript])
    assert charged[0] == charged[1] == charged[2]
    assert len(charged[0]) == len(seen[0]) >= 2 + 6 * 3
    assert seen[0] == seen[1] == seen[2]
    for key, columns in models[0].cells.items():
        for name, column in columns.items():
            assert np.array_equal(column, models[1].cells[key][name]), (key, name)
            assert np.array_equal(column, models[2].cells[key][name]), (key, name)


def test_queries_of_sides_have_the_same_answer_in_parts(tmp_path):
    rng = np.random.default_rng(2)
    relation = EdgeType(name="hires", source="firm", target="person")
    schema = SIDED.model_copy(update={"edge_types": (relation,), "time": None})
    universe = {"person": NodeTable(60), "firm": NodeTable(20)}
    ends = rng.integers(0, 20, 300), rng.integers(0, 60, 300)
    whole = Graph.build(schema, universe, {"hires": EdgeTable(*ends)})
    parted = write_parted(schema, universe, [ends], 300, tmp_path / "g", 40)
    shape, labels = Shape(relation, 20, 60), {"labels": np.arange(20) % 3}
    for name, arguments in (
        ("degrees", {"side": "source"}),
        ("degrees", {"side": "target"}),
        ("sorted_degrees", {"side": "target"}),
        ("degree_histogram", {"side": "source", "most": 9}),
        ("group_matrix", labels | {"target_labels": np.arange(60) % 4}),
        ("group_degrees", labels | {"side": "target"}),
    ):
        question = ask(name, shape, arguments)
        found = question.measure(parted.cell("hires", None))
        assert np.array_equal(found, question.measure(whole.cell("hires", None))), name


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"evidence": "auto"}, "evidence"),
        ({"spectral": True}, "spectral"),
        ({"node_attribute_share": 0.1}, "node_attribute_share"),
    ],
)
def test_what_looks_at_pairs_is_refused_before_anything_is_read(params, field):
    generator = registry.get("anchored")
    with pytest.raises(NotAccepted, match=r"; set ") as refused:
        generator.sharding.require(generator.Params(**{"evidence": "none", **params}))
    assert refused.value.members["field"] == field


def test_priorities_are_the_same_in_both_passes_over_edges():
    """Of the generator of noise itself, wherever it stands: else more edges of a node than the cap count."""
    rng = entropy.noise_generator()
    for drawn in (0, 1, 7, 1000):
        rng.integers(0, 100, drawn, dtype=np.int32)
        state = rng.bit_generator.state
        passes = []
        for _ in range(2):
            rng.bit_generator.state = state
            passes.append([rng.integers(0, 2**63, count, dtype=np.int64) for count in (1, 5, 64, 1001)])
        assert all(np.array_equal(*each) for each in zip(*passes, strict=True))
    assert len(np.unique(np.concatenate(passes[0]))) == 1071


@pytest.mark.parametrize("cap", [1, 4])
def test_no_node_has_more_capped_edges_of_parts_than_the_cap(tmp_path, monkeypatch, cap):
    """Under noise of its own: every node is a group, so that the counts are the edges themselves."""
    monkeypatch.setattr(capped_parts, "FILE_ENDS", 64)
    _, parted = graphs(tmp_path / "g", random_pairs(40, 0.5), 40, 30)
    nodes, seen = np.arange(40), []
    for _ in range(40):
        found = capped_parts.mixed_in_parts(parted, "edge", nodes, 40, cap, entropy.noise_generator())
        whole = found + found.T
        assert whole.sum(axis=1).max() == cap
        seen.append(found.sum())
    # As many on average as of the graph in memory, under priorities of its own.
    source, target = random_pairs(40, 0.5).T
    rng = np.random.default_rng(1)
    other = [
        node_values.mixed(source, target, nodes, 40, cap, rng.integers(0, 2**63, len(source))).sum()
        for _ in range(400)
    ]
    assert abs(np.mean(seen) - np.mean(other)) < 6 * np.std(other) / 40**0.5
