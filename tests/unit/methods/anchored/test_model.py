"""Whole fits of the method: counts, degrees, declared facts, lazy evidence, storing and drawing again."""

import numpy as np
import pytest

from core import errors
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.anchored import GENERATOR, AnchoredParams
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter, require_metered
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

NANO = 10**9
USERS, MOVIES, GENRES, STEPS = 60, 90, 5, 4
KINDS = (
    NodeType(name="user", count=USERS),
    NodeType(name="movie", count=MOVIES),
    NodeType(name="genre", count=GENRES),
)


def relation(name, source="user", target="movie", **facts):
    return EdgeType(name=name, source=source, target=target, **facts)


def graph_of(*relations, seed=1, share=0.06) -> Graph:
    """Random edges under each relation's declared facts; timed relations over STEPS steps."""
    rng = np.random.default_rng(seed)
    schema = GraphSchema(
        node_types=KINDS,
        edge_types=relations,
        time=TimeGrid(count=STEPS) if any(each.temporal for each in relations) else None,
    )
    counts = {kind.name: kind.count for kind in KINDS}
    tables = {}
    for each in relations:
        sources, targets = counts[each.source], counts[each.target]
        steps = STEPS if each.temporal else 1
        if each.functional:
            own = rng.integers(0, targets, sources)
            source, step = np.nonzero(rng.random((sources, steps)) < 0.4)
            target = own[source]
        else:
            source, target, step = np.nonzero(rng.random((sources, targets, steps)) < share)
        if each.once:
            _, first = np.unique(source * targets + target, return_index=True)
            source, target, step = source[first], target[first], step[first]
        tables[each.name] = EdgeTable(source, target, step if each.temporal else None)
    return Graph.build(schema, {name: NodeTable(count) for name, count in counts.items()}, tables)


def fitted(graph, epsilon, unit=None, window=None, **params):
    unit = unit or (Unit.EVENT if graph.schema.temporal else Unit.EDGE)
    chosen = AnchoredParams.varied(**params)
    names = tuple(each.name for each in graph.schema.edge_types)
    plan = GENERATOR.plan(chosen, PublicFacts(graph.schema, unit, window, int(epsilon * NANO), 0, names))
    meter = Meter(plan, MemoryRecorder())
    model = GENERATOR.fit(PrivateGraph(graph, meter), plan, chosen, no_progress)
    require_metered(meter.transcript)
    assert guarantee_of(plan, meter.transcript, 0).epsilon <= epsilon
    return model, meter


def drawn(model, seed=1) -> Graph:
    return model.sample(public_generator(seed), no_progress)


def keys_of(graph, name):
    kind, table = graph.schema.edge_type(name), graph.edges[name]
    return table.source.astype(np.int64) * graph.nodes[kind.target].count + table.target


RATES = relation("rates", temporal=True)
SHAPES = {
    "bipartite": RATES,
    "once": relation("rates", temporal=True, once=True),
    "directed": relation("rates", target="user", directed=True, temporal=True),
    "undirected": relation("rates", target="user", temporal=True),
    "undirected-once": relation("rates", target="user", temporal=True, once=True),
    "directed-once": relation("rates", target="user", directed=True, temporal=True, once=True),
    "static": relation("rates"),
    "static-undirected": relation("rates", target="user"),
}


@pytest.mark.parametrize("evidence", ["none", "materialised", "lazy"])
@pytest.mark.parametrize("kind", SHAPES)
def test_with_next_to_no_noise_counts_and_degrees_come_back(kind, evidence):
    """With evidence most of the graph comes back too; where its bits weigh so much a chain may get stuck."""
    graph = graph_of(SHAPES[kind])
    share = None if evidence == "none" else 0.85
    model, _ = fitted(graph, 60, evidence=evidence, degree_share=share)
    synthetic = drawn(model)
    for step in graph.schema.steps_of("rates"):
        ours, theirs = (each.cell("rates", step) for each in (graph, synthetic))
        assert ours.count == theirs.count
        for side in ("source", "target"):
            size = getattr(ours, f"{side}_count")
            if not SHAPES[kind].homogeneous or SHAPES[kind].directed:
                degrees = [np.bincount(getattr(cell, side), minlength=size) for cell in (ours, theirs)]
                assert np.abs(degrees[0] - degrees[1]).sum() <= 0.02 * ours.count
    same = np.isin(keys_of(synthetic, "rates"), keys_of(graph, "rates")).mean()
    assert same < 0.6 if evidence == "none" else same > 0.75


@pytest.mark.parametrize("evidence", ["none", "materialised", "lazy"])
@pytest.mark.parametrize("kind", ["once", "directed-once", "undirected-once"])
@pytest.mark.parametrize("epsilon", [0.3, 4])
def test_a_pair_is_drawn_once_over_time(kind, evidence, epsilon):
    share = None if evidence == "none" else 0.5
    model, _ = fitted(graph_of(SHAPES[kind], share=0.3), epsilon, evidence=evidence, degree_share=share)
    keys = keys_of(drawn(model), "rates")
    assert len(keys)
    assert len(np.unique(keys)) == len(keys)


@pytest.mark.parametrize("once", [False, True])
@pytest.mark.parametrize("epsilon", [0.5, 6])
@pytest.mark.parametrize("target", ["movie", "user"])
def test_a_functional_relation_gives_a_source_one_target(once, epsilon, target):
    own = relation(
        "lives", target=target, directed=target == "user", temporal=True, functional=True, once=once
    )
    synthetic = drawn(fitted(graph_of(own), epsilon)[0])
    table = synthetic.edges["lives"]
    assert table.count or epsilon < 1  # noise alone may leave nothing
    pairs = np.unique(keys_of(synthetic, "lives"))
    targets = synthetic.nodes[target].count
    assert len(np.unique(pairs // targets)) == len(pairs)
    if once:
        assert len(np.unique(table.source)) == table.count


def test_a_functional_relation_without_time_keeps_to_one_target_too():
    fixed = relation("is", source="movie", target="genre", functional=True)
    table = drawn(fitted(graph_of(fixed), 2)[0]).edges["is"]
    assert len(np.unique(table.source)) == table.count
    table = drawn(fitted(graph_of(fixed), 2, evidence="none")[0]).edges["is"]
    assert len(np.unique(table.source)) == table.count


def test_the_evidence_brings_true_edges_that_degrees_alone_do_not():
    graph = graph_of(RATES)

    def share_of_true(**params):
        synthetic = drawn(fitted(graph, 6, **params)[0])
        step = synthetic.edges["rates"].step.astype(np.int64)
        ours = keys_of(synthetic, "rates") * STEPS + step
        true = keys_of(graph, "rates") * STEPS + graph.edges["rates"].step
        return np.isin(ours, true).mean()

    assert share_of_true(degree_share=0.4) > share_of_true(evidence="none") + 0.2
    assert share_of_true(degree_share=0.4, evidence="lazy") > share_of_true(evidence="none") + 0.2


def several():
    return graph_of(
        SHAPES["once"],
        relation("knows", target="user", temporal=True),
        relation("is", source="movie", target="genre", functional=True),
    )


@pytest.mark.parametrize("evidence", ["auto", "materialised", "lazy", "none"])
def test_a_stored_model_draws_the_same_graphs(tmp_path, evidence):
    """Relations with columns of their own each: static, evidence, none."""
    share = {} if evidence == "none" else {"degree_share": 0.5}
    model, meter = fitted(several(), 5, evidence=evidence, **share)
    model.save(tmp_path / "model")
    loaded = GENERATOR.load(tmp_path / "model")
    metered = len(meter.transcript)
    assert drawn(model, 4).equals(drawn(loaded, 4))
    assert not drawn(model, 4).equals(drawn(loaded, 5))
    assert len(meter.transcript) == metered
    assert {path.suffix for path in (tmp_path / "model").iterdir()} == {".json", ".parquet"}


def test_only_lazy_evidence_holds_edges():
    graph = several()
    model, _ = fitted(graph, 5, degree_share=0.5)
    for columns in model.cells.values():
        assert not len(columns.get("edge", ()))
    model, _ = fitted(graph, 5, degree_share=0.5, evidence="lazy")
    first = graph.edges["rates"].step == 0
    true = {("rates", 0): keys_of(graph, "rates")[first], ("is", None): keys_of(graph, "is")}
    for cell, keys in true.items():
        held, shape = model.cells[cell]["edge"], model.shape(cell[0])
        np.testing.assert_array_equal(held[: len(keys)], np.sort(keys))
        assert (held[len(keys) :] >= shape.source_count * shape.target_count).all()


def test_digests_of_a_stored_model_tell_nothing_of_its_edges(tmp_path):
    """They stand in the ledger, for auditors and for good: nobody may try out edges against them."""
    model, _ = fitted(several(), 5, degree_share=0.5, evidence="lazy")
    for name in ("first", "second"):
        model.save(tmp_path / name)
    for path in (tmp_path / "first").iterdir():
        assert path.read_bytes() != (tmp_path / "second" / path.name).read_bytes(), path.name


@pytest.mark.parametrize(("unit", "window"), [(Unit.EVENT, None), (Unit.W_EVENT, 2), (Unit.PAIR, None)])
@pytest.mark.parametrize("kind", ["directed", "bipartite", "undirected"])
def test_every_unit_pays_within_its_plan(unit, window, kind):
    _, meter = fitted(graph_of(SHAPES[kind]), 4, unit, window, degree_share=0.5)
    assert not meter.closed


def test_a_universe_from_a_node_list_is_checked_before_anything_is_read():
    graph = graph_of(relation("rates", temporal=True))
    kinds = tuple(kind.model_copy(update={"count": None}) for kind in KINDS)
    schema = graph.schema.model_copy(update={"node_types": kinds})
    nodes = {"user": NodeTable(400_000), "movie": NodeTable(90_000), "genre": NodeTable(GENRES)}
    large = Graph.build(schema, nodes, dict(graph.edges))
    params = AnchoredParams(evidence="materialised", degree_share=0.5)
    plan = GENERATOR.plan(params, PublicFacts(schema, Unit.EVENT, None, 4 * NANO, 0, ("rates",)))
    meter = Meter(plan, MemoryRecorder())
    with pytest.raises(errors.NotAccepted):
        GENERATOR.fit(PrivateGraph(large, meter), plan, params, no_progress)
    assert not meter.transcript


def test_the_count_is_told_by_all_readings_together():
    """Half the variance of the paid count alone, at least, on a small cell."""
    graph = graph_of(relation("rates"))
    true = graph.edges["rates"].count
    counts = [
        fitted(graph, 0.5, evidence="none")[0].cells["rates", None]["count"][0] - true for _ in range(60)
    ]
    alone = 2 * (1 / (0.5 * 0.03)) ** 2
    assert np.mean(np.square(counts, dtype=float)) < 0.5 * alone


def test_without_deconvolution_idle_nodes_become_active():
    graph = graph_of(RATES, share=0.02)

    def idle(**params):
        cells = [fitted(graph, 2, evidence="none", **params)[0].cells.values() for _ in range(16)]
        return np.mean([(each["source_degrees"] == 0).mean() for columns in cells for each in columns])

    true = np.mean(
        [(np.bincount(graph.cell("rates", t).source, minlength=USERS) == 0).mean() for t in range(4)]
    )
    assert abs(idle() - true) < abs(idle(deconvolve=False) - true)
