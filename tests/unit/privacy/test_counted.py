"""Counts over a graph in parts: the answers, sensitivities, charges and noise are those in memory."""

import itertools

import numpy as np
import pytest

from core.errors import InvalidInput, NotAccepted
from core.graphs.graph import Cell, EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.stored.parted import write_parted
from core.graphs.stored.parts import write_part
from core.methods import registry
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.queries import QUERIES, Shape, ask
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
