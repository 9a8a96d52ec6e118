"""What edges of a graph in parts carry: read, charged and fitted as in memory."""

import itertools

import numpy as np
import pyarrow.parquet as pq
import pytest
from scipy import stats

from core.errors import NotAccepted
from core.graphs.columns.canonical import merge_edges
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.stored.parted import write_parted
from core.methods import registry
from core.methods._shared.values import fit as value_fit
from core.methods.base import PublicFacts, no_progress
from core.privacy import entropy
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.counted import PrivateParts
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.unit.privacy.test_counted import COUNTS, NANO
from tests.unit.privacy.test_counted_shapes import valued

STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")
AMOUNT = EdgeAttribute(name="amount", kind="number", bounds=(0, 10), aggregate="sum", clip=True)
SORT = EdgeAttribute(name="sort", kind="category", categories=("a", "b", "c"), aggregate="last")
HOUR = EdgeAttribute(name="hour", kind="time_of_day", from_time=True, aggregate="first")
SORTED = EdgeAttribute(name="sort", kind="category", categories=("a", "b", "c"), aggregate="min")

PERSON, FIRM = NodeType(name="person", count=60), NodeType(name="firm", count=20)
ENDS = {"source": "person", "target": "person"}
STILL = GraphSchema(
    node_types=(PERSON, FIRM),
    edge_types=(
        EdgeType(name="knows", **ENDS, attributes=(STARS, AMOUNT)),
        EdgeType(name="cites", **ENDS, directed=True, attributes=(SORTED,)),
        EdgeType(name="hires", source="firm", target="person", attributes=(AMOUNT, SORTED)),
        EdgeType(name="likes", **ENDS),
    ),
)
TIMED = GraphSchema(
    node_types=(PERSON, FIRM),
    edge_types=(
        EdgeType(name="knows", **ENDS, attributes=(STARS,)),
        EdgeType(name="calls", **ENDS, temporal=True, attributes=(SORT, AMOUNT, HOUR)),
        EdgeType(name="buys", source="person", target="firm", temporal=True, attributes=(STARS,)),
    ),
    time=TimeGrid(start=0, width=100_000, count=3),
)
PAIRED = TIMED.model_copy(
    update={
        "edge_types": (
            EdgeType(name="calls", **ENDS, temporal=True),
            EdgeType(name="knows", **ENDS, attributes=(STARS,)),
            EdgeType(name="cites", **ENDS, directed=True, attributes=(SORTED,)),
        )
    }
)
UNDIRECTED = TIMED.model_copy(update={"node_types": (PERSON,), "edge_types": TIMED.edge_types[:2]})


def both(folder, schema, rows=2400, part_edges=150):
    """Rows with repeats and loops: in memory, and in parts; values follow from the ends, and from chance."""
    rng = np.random.default_rng(4)
    universe = {each.name: NodeTable(each.count) for each in schema.node_types}
    tables, parted, first = {}, [], 0
    for relation in schema.edge_types:
        source, target = (
            rng.integers(0, universe[end].count, rows) for end in (relation.source, relation.target)
        )
        time = rng.integers(0, 300_000, rows) if relation.temporal else np.zeros(rows, dtype=np.int64)
        step = (time // 100_000).astype(np.int32)
        lean = (source + target) % 3
        columns = {
            "stars": np.clip(1 + lean + rng.integers(0, 3, rows), 1, 5),
            "amount": rng.random(rows) * 4 * (1 + lean),
            "sort": np.where(rng.random(rows) < 0.6, lean, rng.integers(0, 3, rows)),
            "hour": time % 86_400,
        }
        own = {each.name: columns[each.name] for each in relation.attributes}
        values = EdgeValues(own) if own else None
        table = EdgeTable(source, target, step if relation.temporal else None, values)
        tables[relation.name] = table, time
        cell = np.full(rows, first) + (step if relation.temporal else 0)
        parted.append((source, target, cell, time, *own.values()) if own else (source, target, cell))
        first += len(schema.steps_of(relation.name))
    merged = {
        name: merge_edges(schema, schema.edge_type(name), universe, table, time).edges
        for name, (table, time) in tables.items()
    }
    whole = Graph.build(schema, universe, merged)
    every = rows * len(schema.edge_types)
    return whole, write_parted(schema, universe, parted, every, folder, part_edges)


CASES = [
    ("anchored", STILL, Unit.EDGE, {"evidence": "none"}),
    ("anchored", PAIRED, Unit.PAIR, {"evidence": "none"}),
    ("anchored", TIMED, Unit.EVENT, {"evidence": "none"}),
    ("anchored", TIMED, Unit.W_EVENT, {"evidence": "none"}),
    ("dcsbm", UNDIRECTED, Unit.EVENT, COUNTS),
    ("dcsbm", UNDIRECTED, Unit.W_EVENT, COUNTS),
]


@pytest.mark.parametrize(("method", "schema", "unit", "counted"), CASES)
def test_values_are_read_charged_and_fitted_as_in_memory(
    tmp_path, monkeypatch, method, schema, unit, counted
):
    """The same noise for both, and for the tables of nodes the same degrees of a synthetic graph, which parts
    have from the model: every count, sensitivity, charge and table is the same."""
    whole, parted = both(tmp_path / "g", schema)
    assert len(parted.parts) > 10
    generator = registry.get(method)
    params = generator.Params(**counted, attribute_share=0.4)
    generator.sharding.require(params)
    names = tuple(each.name for each in schema.edge_types)
    window = 2 if unit is Unit.W_EVENT else None
    plan = generator.plan(params, PublicFacts(schema, unit, window, 8 * NANO, 0, names))
    monkeypatch.setattr(entropy, "noise_generator", lambda: np.random.default_rng(3))
    seen, charged, models, drawn, plain = [], [], [], {}, value_fit._degrees

    def degrees(reads, side, of):
        key, own = (reads.relation.name, side), plain(reads, side, of)
        if isinstance(of, EdgeTable):
            drawn[key] = own
            return own
        off = np.abs(own - drawn[key]).sum() / drawn[key].sum()
        assert off < 0.1, (key, off)  # of the model and of one graph that was sampled from it
        return drawn[key]

    def told(values, sensitivity, nano_epsilon):
        seen[-1].append([*values, sensitivity, nano_epsilon])
        return values + np.random.default_rng(len(seen[-1])).integers(-2, 3, len(values))

    monkeypatch.setattr(value_fit, "_degrees", degrees)
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
    assert seen[0] == seen[1]
    attributes = sum(len(each.attributes) for each in schema.edge_types)
    assert len(models[0].tables.cells) == len(models[1].tables.cells) == attributes
    for key, columns in models[0].tables.cells.items():
        assert columns.keys() == models[1].tables.cells[key].keys()
        for name, column in columns.items():
            assert np.array_equal(column, models[1].tables.cells[key][name]), (key, name)


def test_rows_and_attributes_of_nodes_go_with_values_of_edges(tmp_path):
    """Both stages, each with its share: the plan's digest is that of memory, and both are in the model."""
    rng = np.random.default_rng(8)
    before, _ = valued(tmp_path / "a", rng.integers(0, 5, 90), *rng.integers(0, 20, (2, 90)))
    knows = before.schema.edge_type("knows").model_copy(update={"attributes": (STARS,)})
    schema = before.schema.model_copy(update={"edge_types": (knows,), "time": None})
    ends = rng.integers(0, 60, (2, 600))
    rows = [(*ends, np.zeros(600, int), np.zeros(600, int), rng.integers(1, 6, 600))]
    parted = write_parted(schema, before.nodes, rows, 600, tmp_path / "g", 100)
    generator = registry.get("dcsbm")
    params = generator.Params(**COUNTS, node_attribute_share=0.2, attribute_share=0.3)
    plan = generator.plan(params, PublicFacts(schema, Unit.EDGE, None, 8 * NANO, 0, ("knows",)))
    meter = Meter(plan, MemoryRecorder())
    model = generator.sharding.fit_parts(PrivateParts(parted, meter), plan, params, no_progress)
    orders = {name: rng.permutation(table.count) for name, table in parted.nodes.items()}
    laws = generator.sharding.shards(model, orders, entropy.noise_generator(), 100)
    assert [each.attribute for each in laws.values["knows"]] == [STARS]
    assert len(meter.transcript) > 7


ALONE = GraphSchema(node_types=(NodeType(count=4),), edge_types=(EdgeType(attributes=(SORTED,)),))
SLOTS = [(0, 1), (0, 2), (1, 3), (2, 3)]


def metered(schema, cells=1000, unit=Unit.EDGE):
    granted = Allotment(schema.edge_types[0].name, None, Pure(cells * NANO, "laplace"), "all")
    return Meter(PrivacyPlan("test", unit, None, schema.steps, (granted,)), MemoryRecorder())


def asked(reads):
    """Every read of values, of a relation without time."""
    cost = {"nano_epsilon": NANO, "purpose": "all"}
    labels = np.array([0, 1, 1])
    reads.histogram(**cost)
    reads.by_node(side="both", labels=labels, **cost)
    reads.node_sums(side="both", scores=np.array([-2, 0, 3]), **cost)
    reads.by_classes(sources=np.array([0, 1, 0, 1]), targets=np.array([0, 1, 0, 1]), labels=labels, **cost)
    reads.by_step(periods=np.array([0]), labels=labels, **cost)


def test_no_neighbour_moves_a_read_of_parts_further_than_its_noise_is_for(tmp_path, monkeypatch):
    """Brute force: all graphs of four slots, each absent or of one of three values, and all their neighbours:
    an edge more moves a read by its sensitivity at most, another value of an edge by twice that."""
    told = []
    monkeypatch.setattr(
        mechanisms, "discrete_laplace", lambda values, moved, cost: told.append((values, moved)) or values
    )
    found = {}
    for number, states in enumerate(itertools.product((None, 0, 1, 2), repeat=4)):
        rows = [(*slot, state) for slot, state in zip(SLOTS, states, strict=True) if state is not None]
        source, target, value = np.array(rows, dtype=np.int64).reshape(-1, 3).T
        none, universe = np.zeros(len(value), dtype=np.int64), {"node": NodeTable(4)}
        chunk = (source, target, none, none, value)
        parted = write_parted(ALONE, universe, [chunk], len(value), tmp_path / f"{number}", 2)
        values = EdgeValues({"sort": value.astype(np.int32)})
        whole = Graph.build(ALONE, universe, {"edge": EdgeTable(source, target, None, values)})
        for graph, session in ((whole, PrivateGraph), (parted, PrivateParts)):
            told.clear()
            asked(session(graph, metered(ALONE)).edge_values("edge", "sort"))
            if states in found:
                assert all(np.array_equal(a, b) for (a, _), (b, _) in zip(found[states], told, strict=True))
            found[states] = list(told)
    furthest = np.zeros((5, 2))
    for states, place in itertools.product(found, range(4)):
        for other in (0, 1, 2):
            near = (*states[:place], other, *states[place + 1 :])
            if near == states:
                continue
            changed = states[place] is not None
            for read, ((a, moved), (b, _)) in enumerate(zip(found[states], found[near], strict=True)):
                off = np.abs(a - b).sum()
                assert off <= moved * (2 if changed else 1)
                furthest[read, int(changed)] = max(furthest[read, int(changed)], off / moved)
    assert np.all(furthest[:, 0] == 1)  # and so far an edge does move each


def test_a_row_more_changes_one_edge_of_parts_at_most(tmp_path):
    """With all that edges carry, wherever the row comes."""
    universe = {"person": NodeTable(6)}
    relation = EdgeType(name="knows", **ENDS, attributes=(STARS, AMOUNT))
    schema = GraphSchema(node_types=(NodeType(name="person", count=6),), edge_types=(relation,))
    rng = np.random.default_rng(2)
    rows = [rng.integers(0, 6, 40), rng.integers(0, 6, 40), np.zeros(40, int), np.zeros(40, int)]
    rows += [rng.integers(1, 6, 40), rng.random(40) * 5]

    def edges(folder, count):
        parted = write_parted(schema, universe, [tuple(each[:count] for each in rows)], 40, folder, 8)
        return {
            (int(u), int(v)): (int(stars), float(amount))
            for table in parted.records("knows")
            for u, v, stars, amount in zip(
                table.source, table.target, *table.values.columns.values(), strict=True
            )
        }

    before = edges(tmp_path / "0", 0)
    for count in range(1, 41):
        after = edges(tmp_path / str(count), count)
        changed = [key for key in before.keys() | after.keys() if before.get(key) != after.get(key)]
        assert len(changed) <= 1
        before = after


def test_noise_of_a_read_of_parts_has_the_law_that_is_told(tmp_path):
    """Twice: of the whole law, and that half the noise would be found."""
    none = np.zeros(1, dtype=np.int64)
    rows = [(none, none + 1, none, none, none)]
    parted = write_parted(ALONE, {"node": NodeTable(4)}, rows, 1, tmp_path / "g")
    drawn = []
    for _ in range(4):
        reads = PrivateParts(parted, metered(ALONE)).edge_values("edge", "sort")
        drawn += [reads.histogram(nano_epsilon=NANO, purpose="all") - np.array([1, 0, 0]) for _ in range(900)]
    drawn = np.concatenate(drawn)
    values, ratio = np.arange(-6, 7), np.exp(-1.0)

    def off(scale):
        law = (1 - scale) / (1 + scale) * scale ** np.abs(values)
        counts = np.array([(drawn == value).sum() for value in values] + [(np.abs(drawn) > 6).sum()])
        return stats.chisquare(counts, len(drawn) * np.append(law, 1 - law.sum())).pvalue

    assert off(ratio) > 1e-6
    assert off(ratio**2) < 1e-12


def test_an_altered_value_stops_a_read_before_any_number_comes_out(tmp_path):
    _, parted = both(tmp_path / "g", STILL, 300)
    part = next(each for each in parted.parts if each.rows and each.cell == 0)
    table = pq.read_table(parted.folder / part.name)
    stars = table["stars"].to_numpy().copy()
    stars[0] = 9
    place = table.column_names.index("stars")
    pq.write_table(table.set_column(place, "stars", [stars]), parted.folder / part.name)
    meter = metered(STILL)
    with pytest.raises(ValueError, match="'stars' are not as declared"):
        PrivateParts(parted, meter).edge_values("knows", "stars").histogram(nano_epsilon=1, purpose="all")


def test_pairs_of_relations_with_time_are_refused(tmp_path):
    _, parted = both(tmp_path / "g", UNDIRECTED, 60)
    with pytest.raises(NotAccepted, match="declare no attributes of relations with time"):
        PrivateParts(parted, metered(UNDIRECTED, unit=Unit.PAIR)).edge_values("calls", "sort")
