"""EdgeRand: what it pays, what it keeps, and the sizes that it refuses."""

import numpy as np
import pytest
from pydantic import ValidationError

from core import errors
from core.graphs.graph import Graph, NodeTable
from core.graphs.schema import GraphSchema, NodeType
from core.methods.base import PublicFacts, no_progress
from core.methods.edgerand import GENERATOR, MOST_EDGES, EdgeRandParams
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.generating import NANO, drawn, fit, graph_of, kept_log_ratio, random_pairs, rows_of

FORMS = ("balanced", "symmetric")


def spent(meter) -> list[tuple[str, int]]:
    return [(entry.purpose, entry.event.nano_epsilon) for entry in meter.transcript]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "options",
    [{}, {"steps": 2}, {"directed": True}, {"other": 9}, {"other": 9, "directed": True}],
    ids=["static", "temporal", "directed", "bipartite", "bipartite-directed"],
)
def test_without_noise_the_graph_comes_back(form, options):
    """At epsilon 900 a coin fails with probability 2^-64 at most."""
    pairs = random_pairs(9, 0.3)
    graph = graph_of(pairs, 9, **options)
    np.testing.assert_array_equal(rows_of(drawn(GENERATOR, graph, 900, form=form)), rows_of(graph))


def test_the_count_and_the_flips_sum_to_epsilon():
    _, meter = fit(GENERATOR, graph_of(random_pairs(40, 0.1), 40), 1.0, count_share=0.25)
    (count, paid), (flips, cost) = spent(meter)
    assert (count, flips) == ("edge count", "balanced flips")
    assert paid == NANO // 4
    assert 0.74 * NANO < cost <= 0.75 * NANO


def test_the_symmetric_form_reads_no_count():
    _, meter = fit(GENERATOR, graph_of(random_pairs(40, 0.1), 40), 1.0, form="symmetric")
    ((purpose, cost),) = spent(meter)
    assert purpose == "symmetric flips"
    assert NANO - 2 <= cost <= NANO


@pytest.mark.parametrize(
    ("unit", "window", "parts"), [(Unit.EVENT, None, 1), (Unit.W_EVENT, 2, 2), (Unit.PAIR, None, 4)]
)
def test_a_stream_divides_epsilon_by_its_unit(unit, window, parts):
    graph = graph_of(random_pairs(20, 0.2), 20, steps=4)
    _, meter = fit(GENERATOR, graph, 1.0, unit=unit, window=window)
    for step in range(4):
        total = sum(entry.event.nano_epsilon for entry in meter.transcript if entry.step == step)
        assert 0.99 * NANO // parts <= total <= NANO // parts


def test_a_pair_linked_both_ways_pays_for_both():
    graph = graph_of(random_pairs(20, 0.2), 20, steps=1, directed=True)
    _, meter = fit(GENERATOR, graph, 2.0, unit=Unit.PAIR)
    assert sum(cost for _, cost in spent(meter)) <= 2 * NANO
    _, meter = fit(GENERATOR, graph, 2.0, unit=Unit.PAIR, form="symmetric")
    assert 1.99 * NANO < spent(meter)[0][1] <= 2 * NANO


def test_the_density_is_kept():
    graph = graph_of(random_pairs(400, 0.02), 400)
    counts = [drawn(GENERATOR, graph, 1.0).edges["edge"].count for _ in range(10)]
    # One draw: about sqrt(2 m) and noise of 14; the mean of ten is within 5 of its own deviations.
    assert abs(np.mean(counts) - graph.edges["edge"].count) < 5 * np.sqrt(2 * 1600 + 200) / np.sqrt(10)


@pytest.mark.parametrize(("form", "epsilon"), [("balanced", 1.0), ("symmetric", 1.0), ("balanced", 2.0)])
def test_a_true_edge_is_kept_no_more_often_than_epsilon_allows(form, epsilon):
    graph = graph_of(random_pairs(300, 0.05), 300)
    ratio, error = kept_log_ratio(GENERATOR, graph, epsilon, 10, form=form)
    assert ratio <= epsilon + 6 * error
    assert ratio >= 0.85 * epsilon - 6 * error


@pytest.mark.parametrize("form", FORMS)
def test_one_node_has_no_edge(form):
    assert len(rows_of(drawn(GENERATOR, graph_of([], 1), 1.0, form=form))) == 0


def test_an_empty_graph_stays_nearly_empty():
    """The noisy count of no edges is a handful, and that many appear."""
    counts = [len(rows_of(drawn(GENERATOR, graph_of([], 200), 2.0))) for _ in range(10)]
    assert max(counts) < 300


def test_a_complete_graph_stays_dense():
    """Above half of the pairs the form is symmetric: 1 / (1 + e^1.8) of them vanish."""
    graph = graph_of(random_pairs(100, 1.0), 100)
    share = len(rows_of(drawn(GENERATOR, graph, 2.0))) / 4950
    assert 0.8 < share < 0.92


def test_nodes_without_edges_may_gain_some_and_lose_all():
    graph = graph_of([(0, 1)], 40)
    seen = np.zeros(40, dtype=int)
    for _ in range(60):
        seen[np.unique(rows_of(drawn(GENERATOR, graph, 0.5)))] += 1
    assert (seen > 0).sum() > 30
    assert (seen < 60).all()


def test_the_symmetric_form_is_refused_where_it_would_flood_memory():
    schema = GraphSchema(node_types=(NodeType(count=100_000),))
    facts = PublicFacts(schema, Unit.EDGE, None, NANO, 0, ("edge",))
    assert GENERATOR.plan(EdgeRandParams(), facts).cost().nano_epsilon == NANO
    with pytest.raises(errors.NotAccepted, match="form=balanced") as found:
        GENERATOR.plan(EdgeRandParams(form="symmetric"), facts)
    assert found.value.members["field"] == "form"
    # The limit is on what is expected to appear: at epsilon 6 that is 12 million.
    rich = PublicFacts(schema, Unit.EDGE, None, 6 * NANO, 0, ("edge",))
    assert 100_000 * 99_999 / 2 / (1 + np.exp(6)) < MOST_EDGES
    GENERATOR.plan(EdgeRandParams(form="symmetric"), rich)


def test_a_universe_that_the_schema_leaves_open_is_refused_before_anything_is_read():
    schema = GraphSchema()
    graph = Graph.build(schema, {"node": NodeTable(100_000)}, {})
    params = EdgeRandParams(form="symmetric")
    plan = GENERATOR.plan(params, PublicFacts(schema, Unit.EDGE, None, NANO, 0, ("edge",)))
    meter = Meter(plan, MemoryRecorder())
    with pytest.raises(errors.NotAccepted):
        GENERATOR.fit(PrivateGraph(graph, meter), plan, params, no_progress)
    assert not meter.transcript


@pytest.mark.parametrize("wrong", [{"count_share": 0}, {"count_share": 0.6}, {"form": "other"}])
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        EdgeRandParams(**wrong)
