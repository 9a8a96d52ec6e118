"""Counts over a graph in parts: the answers, sensitivities, charges and noise are those in memory."""

import itertools

import numpy as np
import pyarrow as pa
import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.counted.stored import CountedEdges, CountedGraph
from core.graphs.graph import Cell, EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.parted import write_parted
from core.graphs.stored.parts import write_part
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy import entropy
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.queries import QUERIES, Shape, ask
from core.privacy.reads import node_values
from core.privacy.session.counted import PrivateParts
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NANO = 10**9
COUNTS = {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "groups": 1}
OF_SIDES = ("degree_histogram",)  # asked of directed relations alone


def graphs(folder, pairs, nodes, part_edges=7):
    """One graph in memory and in parts."""
    schema = GraphSchema(node_types=(NodeType(count=nodes),), edge_types=(EdgeType(),))
    ends = np.array(list(pairs), dtype=np.int64).reshape(-1, 2)
    universe = {"node": NodeTable(nodes)}
    whole = Graph.build(schema, universe, {"edge": EdgeTable(ends[:, 0], ends[:, 1])})
    parted = write_parted(schema, universe, [(ends[:, 0], ends[:, 1])], len(ends), folder, part_edges)
    return whole, parted


def questions(nodes):
    """Every named query of an undirected relation, with its arguments."""
    labels = np.arange(nodes) % 3
    return {
        "edge_count": {},
        "degrees": {},
        "sorted_degrees": {},
        "tail_counts": {"thresholds": np.array([1, 2, 4])},
        "group_matrix": {"labels": labels},
        "group_degrees": {"labels": labels},
        "pair_classes": {"labels": labels, "table": np.add.outer(np.arange(3), np.arange(3)) % 2},
    }


def random_pairs(nodes, share, seed=0):
    every = np.array(list(itertools.combinations(range(nodes), 2)))
    return every[np.random.default_rng(seed).random(len(every)) < share]


def plan_of(schema, epsilon=2, **params):
    generator = registry.get("dcsbm")
    chosen = generator.Params(**{**COUNTS, **params})
    facts = PublicFacts(schema, Unit.EDGE, None, epsilon * NANO, 0, ("edge",))
    return generator, chosen, generator.plan(chosen, facts)


@pytest.mark.parametrize("part_edges", [5, 60, 10**6])
def test_every_query_has_the_same_answer(tmp_path, part_edges):
    whole, parted = graphs(tmp_path / "g", random_pairs(60, 0.2), 60, part_edges)
    shape = Shape(EdgeType(), 60, 60)
    asked = questions(60)
    assert set(asked) == set(QUERIES) - set(OF_SIDES)
    for name, arguments in asked.items():
        question = ask(name, shape, arguments)
        found = question.measure(parted.cell("edge", None))
        assert found.dtype == np.int64
        assert np.array_equal(found, question.measure(whole.cell("edge", None))), name


def test_sensitivities_over_all_tiny_neighbours_in_groups():
    """Brute force: every graph of 4 nodes, every edge more, the edges cut into two groups at random."""
    slots = list(itertools.combinations(range(4), 2))
    shape = Shape(EdgeType(), 4, 4)
    asked = [ask(name, shape, arguments) for name, arguments in questions(4).items()]

    class Cut:
        def __init__(self, pairs, mask):
            self.halves = [[p for p, b in zip(pairs, mask, strict=True) if b == side] for side in (0, 1)]

        def groups(self):
            for half in self.halves:
                ends = np.array(half, dtype=np.int64).reshape(-1, 2)
                yield Cell(EdgeType(), None, 4, 4, ends[:, 0], ends[:, 1])

    rng = np.random.default_rng(1)
    for bits, slot in itertools.product(range(2**6), range(6)):
        if bits >> slot & 1:
            continue
        before = [s for i, s in enumerate(slots) if bits >> i & 1]
        after = [*before, slots[slot]]
        cuts = [Cut(pairs, rng.integers(0, 2, len(pairs))) for pairs in (before, after)]
        for question in asked:
            change = np.subtract(*(question.measure(cut) for cut in cuts))
            assert np.abs(change).sum() <= question.l1_sensitivity
            assert (change**2).sum() <= question.l2_squared


def test_a_fit_makes_the_same_reads_at_the_same_cost_and_noise(tmp_path, monkeypatch):
    whole, parted = graphs(tmp_path / "g", random_pairs(60, 0.2), 60)
    generator, params, plan = plan_of(whole.schema)
    drawn = []

    def silent(values, sensitivity, nano_epsilon):
        drawn.append((values.copy(), sensitivity, nano_epsilon))
        return values

    monkeypatch.setattr(mechanisms, "discrete_laplace", silent)
    meters = [Meter(plan, MemoryRecorder()) for _ in range(2)]
    one = generator.fit(PrivateGraph(whole, meters[0]), plan, params, no_progress)
    before, drawn = drawn, []
    other = generator.sharding.fit_parts(PrivateParts(parted, meters[1]), plan, params, no_progress)
    assert len(before) == len(drawn) == 4
    for here, there in zip(before, drawn, strict=True):
        assert np.array_equal(here[0], there[0])
        assert here[1:] == there[1:]
    assert plan.digest() == plan_of(parted.schema)[2].digest()
    assert [(e.event, e.purpose) for e in meters[0].transcript] == [
        (e.event, e.purpose) for e in meters[1].transcript
    ]
    for name, column in one.cells["edge", None].items():
        found = other.cells["edge", None][name]
        if name == "degrees":  # who gets which of the law's degrees is chance where noisy ones tie
            column, found = np.sort(column), np.sort(found)
        assert np.array_equal(column, found), name


TYPED = GraphSchema(
    node_types=(NodeType(name="person", count=60), NodeType(name="firm", count=20)),
    edge_types=(
        EdgeType(name="knows", source="person", target="person"),
        EdgeType(name="calls", source="person", target="person", temporal=True),
        EdgeType(name="owns", source="firm", target="firm"),
    ),
    time=TimeGrid(start=0, width=1, count=3),
)


@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.PAIR, Unit.W_EVENT])
def test_each_relation_and_snapshot_is_read_as_in_memory(tmp_path, monkeypatch, unit):
    """The same noise for both: then every number of the model is the same, and so is what was charged."""
    rng = np.random.default_rng(8)
    cell = rng.integers(0, 5, 900)
    most = np.where(cell == 4, 20, 60)
    source, target = rng.integers(0, most), rng.integers(0, most)
    universe = {"person": NodeTable(60), "firm": NodeTable(20)}
    of = {"knows": cell == 0, "calls": (cell > 0) & (cell < 4), "owns": cell == 4}
    tables = {
        name: EdgeTable(source[rows], target[rows], cell[rows] - 1 if name == "calls" else None)
        for name, rows in of.items()
    }
    whole = Graph.build(TYPED, universe, tables)
    parted = write_parted(TYPED, universe, [(source, target, cell)], 900, tmp_path / "g", 40)
    generator = registry.get("dcsbm")
    params = generator.Params(**COUNTS)
    window = 2 if unit is Unit.W_EVENT else None
    facts = PublicFacts(TYPED, unit, window, 8 * NANO, 0, ("knows", "calls", "owns"))
    plan = generator.plan(params, facts)
    noise = {}

    def drawn(values, sensitivity, nano_epsilon):
        """Noise of the first fit, and the same in the second."""
        key = next(asked)
        noise.setdefault(key, np.random.default_rng(key).integers(-2, 3, len(values)))
        told.append((sensitivity, nano_epsilon))
        return values + noise[key]

    monkeypatch.setattr(mechanisms, "discrete_laplace", drawn)
    fitted, charged, scales = [], [], []
    for session, fit, graph in (
        (PrivateGraph, generator.fit, whole),
        (PrivateParts, generator.sharding.fit_parts, parted),
    ):
        asked, told, meter = itertools.count(), [], Meter(plan, MemoryRecorder())
        fitted.append(fit(session(graph, meter), plan, params, no_progress))
        charged.append([(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript])
        scales.append(told)
    assert charged[0] == charged[1]
    assert len(charged[0]) == 5 * 4
    assert scales[0] == scales[1]
    assert fitted[0].cells.keys() == fitted[1].cells.keys()
    for key, columns in fitted[0].cells.items():
        for name, column in columns.items():
            other = fitted[1].cells[key][name]
            if name == "degrees":
                column, other = np.sort(column), np.sort(other)
            assert np.array_equal(column, other), (key, name)


def test_public_groups_are_labels(tmp_path):
    from core.graphs.schema import Attribute, AttributeKind, Protection

    pairs = random_pairs(60, 0.2)
    kind = Attribute(name="town", kind=AttributeKind.CATEGORY, protection=Protection.PUBLIC)
    schema = GraphSchema(node_types=(NodeType(count=60, attributes=(kind,)),), edge_types=(EdgeType(),))
    universe = {"node": NodeTable(60, None, {"town": np.arange(60) % 3})}
    parted = write_parted(schema, universe, [(pairs[:, 0], pairs[:, 1])], len(pairs), tmp_path / "g", 50)
    generator, params, plan = plan_of(schema, groups="town")
    model = generator.sharding.fit_parts(
        PrivateParts(parted, Meter(plan, MemoryRecorder())), plan, params, no_progress
    )
    labels = model.cells["edge", None]["labels"]
    assert len(np.unique(labels)) == 3
    assert np.array_equal(labels[:3], labels[3:6])


@pytest.mark.parametrize(
    ("params", "field"),
    [
        ({"triangle_share": 0.06}, "triangle_share"),
        ({"groups": None}, "groups"),
        ({"groups": 4}, "groups"),
        ({"count_share": 0}, "count_share"),
        ({"attribute_share": 0.1}, "attribute_share"),
    ],
)
def test_what_needs_edges_together_is_refused_before_anything_is_read(tmp_path, params, field):
    generator = registry.get("dcsbm")
    with pytest.raises(NotAccepted) as refused:
        generator.sharding.require(generator.Params(**{**COUNTS, **params}))
    assert refused.value.members["field"] == field


def test_a_session_over_parts_offers_counts_alone(tmp_path):
    _, parted = graphs(tmp_path / "g", random_pairs(20, 0.2), 20)
    _, _, plan = plan_of(parted.schema)
    meter = Meter(plan, MemoryRecorder())
    cell = PrivateParts(parted, meter).cell("edge", None)
    public = {name for name in dir(cell) if not name.startswith("_")}
    assert public == {"laplace", "gaussian", "multiplicity", "shape", "step"}
    with pytest.raises(InvalidInput, match="unknown query"):
        cell.laplace("triangles", nano_epsilon=1, purpose="none")
    assert not meter.transcript


ALTERED = {
    "twice in a part": [[(0, 1), (0, 1)]],
    "twice, in two parts": [[(4, 5), (9, 12)], [(5, 6), (9, 12)]],
    "a loop": [[(3, 3)]],
    "the larger end first": [[(5, 2)]],
    "no such node": [[(0, 20)]],
    "a row more": [[(0, 1), (0, 2), (4, 5)]],
}


@pytest.mark.parametrize("what", ALTERED)
def test_no_count_comes_out_of_parts_that_would_count_an_edge_otherwise_than_once(tmp_path, what):
    """Files that were altered after their graph was written: the read is paid for, and tells nothing."""
    written = [(0, 1), (4, 5)]
    _, parted = graphs(tmp_path / "g", written, 20, 1 if len(ALTERED[what]) == 2 else 2)
    assert len(parted.parts) == len(ALTERED[what])
    for part, pairs in zip(parted.parts, ALTERED[what], strict=True):
        ends = np.array(pairs)
        write_part([(ends[:, 0], ends[:, 1])], parted.folder / part.name, 20)
    _, _, plan = plan_of(parted.schema)
    meter = Meter(plan, MemoryRecorder())
    with pytest.raises(ValueError, match=r"edges-0000\d-of"):
        PrivateParts(parted, meter).cell("edge", None).laplace("edge_count", nano_epsilon=1, purpose="count")
    assert len(meter.transcript) == 1
    assert not len(meter.measurements)


def valued(directory, cell, source, target, part_edges=40):
    """Persons with protected attributes, and relations of them: in memory, and in parts."""
    from core.graphs.schema import Attribute

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
    monkeypatch.setattr(node_values, "FILE_ENDS", 50)
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
    monkeypatch.setattr(node_values, "FILE_ENDS", file_ends)
    for priorities in (4, 2**63):
        monkeypatch.setattr(node_values, "PRIORITIES", priorities)
        for relation in ("knows", "calls"):
            table = whole.edges[relation]
            priority = np.random.default_rng(1).integers(0, priorities, table.count)
            expected = node_values.mixed(table.source, table.target, groups, 3, cap, priority)
            asked = groups, 3, cap, np.random.default_rng(1)
            assert np.array_equal(node_values.mixed_in_parts(parted, relation, *asked), expected)
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
                found[bits, row] = node_values.mixed_in_parts(parted, "edge", *asked)
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
    counted = CountedGraph(whole.schema, parted.nodes, CountedEdges(9, 60, tmp_path, {}))
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
    ):
        seen.append([])
        meter = Meter(plan, MemoryRecorder())
        models.append(fit(session(graph, meter), plan, params, no_progress))
        charged.append([(e.edge_type, e.step, e.event, e.purpose) for e in meter.transcript])
    assert charged[0] == charged[1]
    assert len(charged[0]) == len(seen[0]) >= 2 + 6 * 3
    assert seen[0] == seen[1]
    for key, columns in models[0].cells.items():
        for name, column in columns.items():
            assert np.array_equal(column, models[1].cells[key][name]), (key, name)


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
        ({"attribute_share": 0.1}, "attribute_share"),
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
    monkeypatch.setattr(node_values, "FILE_ENDS", 64)
    _, parted = graphs(tmp_path / "g", random_pairs(40, 0.5), 40, 30)
    nodes, seen = np.arange(40), []
    for _ in range(40):
        found = node_values.mixed_in_parts(parted, "edge", nodes, 40, cap, entropy.noise_generator())
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
