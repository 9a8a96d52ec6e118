"""The static recipe: its kernels against every set of columns, its margins, what it keeps of the truth."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import chisquare

from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods._shared.relations import column_sets, static
from core.methods._shared.relations import small as small_cells
from core.methods._shared.relations.budget import STATIC_FUNCTIONAL_SHARE, STATIC_SHARE, static_shares
from core.methods._shared.slots import evidence
from core.methods.anchored import AnchoredParams
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.entropy import public_generator
from core.privacy.mechanisms.randomised_response import Flips
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from core.publishing.settle import settle

FILMS, GENRES = 400, 12
PROPOSALS = 150
MARKED = np.array([[1, 0, 1, 0], [0, 0, 0, 0], [1, 1, 1, 1]], dtype=np.uint8)
OFFSET, RATIO = np.array([-1.0, 0.3, -0.4, -2.0]), 1.5


def by_hand(marked, weights, loop):
    """Every row's probability of every set, from the definition."""
    laws = []
    for row, answers in enumerate(marked):
        law = {}
        for size in range(len(weights)):
            for chosen in itertools.combinations(range(len(OFFSET)), size):
                if not (loop and row in chosen):
                    odds = sum(OFFSET[j] + RATIO * answers[j] for j in chosen)
                    law[chosen] = np.exp(weights[size] + odds)
        total = sum(law.values())
        laws.append({chosen: value / total for chosen, value in law.items()})
    return laws


@pytest.mark.parametrize("loop", [False, True])
@pytest.mark.parametrize("weights", [np.zeros(5), np.array([-9.0, 1.0, 0.5, -1.0])])
def test_expected_columns_and_sizes_are_those_of_every_set(weights, loop):
    laws = by_hand(MARKED, weights, loop)
    held = np.array([[sum(p for s, p in law.items() if j in s) for j in range(4)] for law in laws])
    mean, variance = column_sets.expected(MARKED, OFFSET, RATIO, weights, loop)
    np.testing.assert_allclose(mean, held.sum(axis=0), atol=1e-12)
    np.testing.assert_allclose(variance, (held * (1 - held)).sum(axis=0), atol=1e-12)
    sizes = [[sum(p for s, p in law.items() if len(s) == k) for k in range(len(weights))] for law in laws]
    found = column_sets.size_laws(MARKED, OFFSET, RATIO, weights, loop)
    np.testing.assert_allclose(found, np.array(sizes), atol=1e-12)


def test_sets_are_drawn_by_their_law_given_the_size():
    rounds, size = 4_000, 2
    marked = np.tile(MARKED[0], (rounds, 1))
    drawn = column_sets.drawn(marked, OFFSET, RATIO, np.full(rounds, size), False, np.random.default_rng(0))
    sets = list(itertools.combinations(range(4), size))
    odds = np.exp([sum(OFFSET[j] + RATIO * MARKED[0][j] for j in chosen) for chosen in sets])
    place = {chosen: i for i, chosen in enumerate(sets)}
    seen = np.bincount([place[tuple(np.flatnonzero(row))] for row in drawn], minlength=len(sets))
    assert chisquare(seen, odds / odds.sum() * rounds).pvalue > 1e-4


def shape_of(sources, targets, **facts):
    return Shape(EdgeType(source="a", target="b", directed=True, **facts), sources, targets)


@pytest.mark.parametrize(
    ("shape", "small"),
    [
        (shape_of(1682, 19), True),
        (shape_of(19, 1682), True),
        (shape_of(10**6, 20), False),
        (shape_of(10**6, 16, functional=True), True),
        (shape_of(100_000, 25), True),
        (shape_of(3_000, 3_000), False),
        (shape_of(3_000, 3_000, functional=True), True),
        (Shape(EdgeType(), 30, 30), False),
        (Shape(EdgeType(directed=True), 30, 30), True),
    ],
)
def test_the_recipe_is_for_sided_cells_of_few_slots(shape, small):
    assert small_cells.small(shape) is small


def catalogue(functional, seed=0, turned=False):
    """Films and genres: popular genres first, a few genres a film, or exactly one."""
    rng = np.random.default_rng(seed)
    popularity = 1 / (1 + np.arange(GENRES))
    sizes = np.ones(FILMS, dtype=int) if functional else 1 + rng.binomial(3, 0.3, FILMS)
    sets = [rng.choice(GENRES, k, replace=False, p=popularity / popularity.sum()) for k in sizes]
    ends = np.repeat(np.arange(FILMS), sizes), np.concatenate(sets)
    names, counts = ("film", "genre"), (FILMS, GENRES)
    if turned:
        ends, names, counts = ends[::-1], names[::-1], counts[::-1]
    relation = EdgeType(source=names[0], target=names[1], directed=True, functional=functional)
    kinds = tuple(NodeType(name=name, count=n) for name, n in zip(names, counts, strict=True))
    nodes = {name: NodeTable(n) for name, n in zip(names, counts, strict=True)}
    schema = GraphSchema(node_types=kinds, edge_types=(relation,))
    return Graph.build(schema, nodes, {"edge": EdgeTable(*ends)})


def fitted(graph, nano, **options):
    """By the share that evidence gets where it is worth it, unless ``options`` say otherwise."""
    functional = graph.schema.edge_types[0].functional
    share = STATIC_FUNCTIONAL_SHARE if functional else STATIC_SHARE
    params = AnchoredParams.varied(**{"degree_share": share, **options})
    plan = PrivacyPlan("t", Unit.EDGE, None, 1, (Allotment("edge", None, Pure(nano, "any"), "x"),))
    meter = Meter(plan, MemoryRecorder())
    cell = PrivateGraph(graph, meter).cell("edge", None)
    parts = static_shares(cell.shape, nano, cell.multiplicity, params)
    columns = static.fit(cell, parts, np.random.default_rng(1), deconvolve=params.deconvolve)
    return columns, cell.shape, meter


def degree(shape, keys, side):
    ends = np.divmod(keys, shape.target_count)[side]
    return np.bincount(ends, minlength=(shape.source_count, shape.target_count)[side])


@pytest.mark.parametrize("epsilon", [1, 4])
@pytest.mark.parametrize("turned", [False, True])
def test_column_degrees_are_the_paid_ones(turned, epsilon):
    graph = catalogue(False, turned=turned)
    columns, shape, _ = fitted(graph, epsilon * NANO)
    keys = static.draw(columns, shape, PROPOSALS, np.random.default_rng(2))
    assert (np.diff(keys) > 0).all()
    side = 0 if turned else 1
    assert degree(shape, keys, side).tolist() == columns["column_degree"].tolist()
    cell = graph.cell("edge", None)
    true = np.bincount((cell.source, cell.target)[side], minlength=GENRES)
    assert np.abs(columns["column_degree"] - true).sum() < 6 * GENRES / (0.15 * epsilon)


def test_a_functional_relation_has_one_target_a_source():
    graph = catalogue(True)
    tried = (fitted(graph, 4 * NANO) for _ in range(6))  # one in forty counts some sources without a target
    columns, shape, meter = next(fit for fit in tried if fit[0]["column_degree"].sum() == FILMS)
    keys = static.draw(columns, shape, PROPOSALS, np.random.default_rng(2))
    assert (degree(shape, keys, 0) == 1).all()
    assert degree(shape, keys, 1).tolist() == columns["column_degree"].tolist()
    assert len(meter.transcript) == 2  # no histogram is needed


def test_a_functional_relation_may_leave_sources_without_a_target():
    graph = catalogue(True)
    half = graph.edges["edge"]
    graph = Graph.build(graph.schema, graph.nodes, {"edge": EdgeTable(half.source[::2], half.target[::2])})
    columns, shape, _ = fitted(graph, 8 * NANO)
    keys = static.draw(columns, shape, PROPOSALS, np.random.default_rng(2))
    assert degree(shape, keys, 0).max() == 1
    assert len(keys) == pytest.approx(FILMS / 2, abs=40)


@pytest.mark.parametrize(("epsilon", "least", "most"), [(1, 0.22, 0.6), (4, 0.7, 0.95), (12, 0.975, 1.0)])
def test_the_evidence_finds_true_edges(epsilon, least, most):
    graph = catalogue(False)
    columns, shape, _ = fitted(graph, epsilon * NANO)
    cell = graph.cell("edge", None)
    true = cell.source.astype(np.int64) * GENRES + cell.target
    keys = static.draw(columns, shape, PROPOSALS, np.random.default_rng(2))
    assert least <= np.isin(keys, true).mean() <= most


def test_sizes_follow_the_histogram():
    graph = catalogue(False)
    columns, shape, _ = fitted(graph, 8 * NANO)
    keys = static.draw(columns, shape, PROPOSALS, np.random.default_rng(2))
    cell = graph.cell("edge", None)
    true = np.bincount(np.bincount(cell.source, minlength=FILMS), minlength=6)[:6] / FILMS
    seen = np.bincount(degree(shape, keys, 0), minlength=6)[:6] / FILMS
    assert np.abs(true - seen).sum() / 2 < 0.06


def test_all_of_epsilon_is_spent_and_no_more():
    for functional, parts in ((False, 3), (True, 2)):
        nano = 3 * NANO + 7
        _, _, meter = fitted(catalogue(functional), nano)
        spent = [entry.event.nano_epsilon for entry in meter.transcript]
        assert len(spent) == parts
        assert nano - 2 <= sum(spent) <= nano


def true_share(graph, columns, shape):
    cell = graph.cell("edge", None)
    true = cell.source.astype(np.int64) * shape.target_count + cell.target
    return np.isin(static.draw(columns, shape, PROPOSALS, np.random.default_rng(2)), true).mean()


def test_a_larger_share_of_degrees_copies_fewer_true_edges():
    graph, nano = catalogue(False), 4 * NANO
    found = []
    for share in (0.25, 0.7, 1.0):
        columns, shape, meter = fitted(graph, nano, degree_share=share)
        spent = {entry.purpose: entry.event.nano_epsilon for entry in meter.transcript}
        assert spent.get("evidence", 0) == pytest.approx(nano * (1 - share), abs=3)
        assert sum(spent.values()) == pytest.approx(nano, abs=3)
        found.append(true_share(graph, columns, shape))
    assert found[0] > found[1] + 0.1 > found[2] + 0.2


@pytest.mark.parametrize("functional", [False, True])
def test_where_evidence_could_tell_nothing_degrees_get_its_share(functional):
    graph = catalogue(functional)
    columns, shape, meter = fitted(graph, NANO // 4, degree_share=None)
    spent = {entry.purpose: entry.event.nano_epsilon for entry in meter.transcript}
    assert "evidence" not in spent
    assert spent["degrees of one side"] >= 0.59 * NANO // 4
    assert sum(spent.values()) == NANO // 4
    keys = static.draw(columns, shape, PROPOSALS, np.random.default_rng(2))
    assert degree(shape, keys, 1).tolist() == columns["column_degree"].tolist()


def test_the_chain_is_as_long_as_asked():
    columns, shape, _ = fitted(catalogue(False), 2 * NANO)
    short, long = (static.draw(columns, shape, each, np.random.default_rng(3)) for each in (0.01, 150))
    assert set(short.tolist()) != set(long.tolist())


@pytest.mark.parametrize("deconvolve", [True, False])
def test_without_deconvolution_noisy_sizes_are_only_cut(monkeypatch, deconvolve):
    """Numbers that stand out of the noise keep their proportions; without deconvolution, all above nought."""
    paid, law = [], static._law

    def read(noisy, rows, degrees, scale):
        paid.append((noisy, scale))
        return law(noisy, rows, degrees, scale)

    monkeypatch.setattr(static, "_law", read)
    sizes = fitted(catalogue(False), 2 * NANO, deconvolve=deconvolve)[0]["sizes"]
    [(noisy, scale)] = paid
    assert (scale > 0) is deconvolve
    kept = np.flatnonzero(noisy > scale * np.log(GENRES + 1))
    assert len(kept) > 0
    np.testing.assert_allclose(sizes[kept] / sizes[kept].sum(), noisy[kept] / noisy[kept].sum())


def test_draws_repeat_for_the_same_state_and_differ_for_another():
    columns, shape, _ = fitted(catalogue(False), 2 * NANO)
    one, again, other = (static.draw(columns, shape, PROPOSALS, np.random.default_rng(s)) for s in (3, 3, 4))
    assert (one == again).all()
    assert set(one.tolist()) != set(other.tolist())


def test_a_directed_cell_gets_no_loops():
    relation = EdgeType(directed=True)
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 30, (120, 2))
    schema = GraphSchema(node_types=(NodeType(count=30),), edge_types=(relation,))
    graph = Graph.build(schema, {"node": NodeTable(30)}, {"edge": EdgeTable(pairs[:, 0], pairs[:, 1])})
    columns, shape, _ = fitted(graph, 2 * NANO)
    source, target = np.divmod(static.draw(columns, shape, PROPOSALS, rng), 30)
    assert (source != target).all()
    # Met as far as the rows that the noise left have pairs for them.
    assert (np.bincount(target, minlength=30) <= columns["column_degree"]).all()


def test_an_empty_relation_gives_few_edges():
    graph = catalogue(False)
    nothing = np.empty(0, dtype=np.int64)
    graph = Graph.build(graph.schema, graph.nodes, {"edge": EdgeTable(nothing, nothing)})
    columns, shape, _ = fitted(graph, 4 * NANO)
    assert len(static.draw(columns, shape, PROPOSALS, np.random.default_rng(0))) < 100


def test_offsets_meet_what_is_wanted():
    rng = np.random.default_rng(0)
    marked = (rng.random((300, 6)) < 0.3).astype(np.uint8)
    wanted = np.array([160, 110, 0, 80, 45, 25])
    weights = np.array([-20.0, 0.0, 0.0, -1.0])
    ratio = evidence.log_likelihood_ratio(Flips.symmetric(NANO))
    start = np.array([-2.0] * 2 + [-20.0] + [-2.0] * 3)
    offset = static.fitted_offsets(marked, start, ratio, weights, False, wanted)
    before, _ = column_sets.expected(marked, start, ratio, weights, False)
    mean, _ = column_sets.expected(marked, offset, ratio, weights, False)
    assert np.abs(before - wanted).max() > 20
    np.testing.assert_allclose(mean, wanted, atol=0.01)


def test_the_shape_is_all_that_decides_which_side_rows_are():
    wide = shape_of(5, 50)
    assert small_cells.sides(wide) == (50, 5)
    assert small_cells.sides(replace(wide, edge_type=EdgeType(source="a", target="b", functional=True))) == (
        5,
        50,
    )


@pytest.mark.parametrize("epsilon", [1, 4])
@pytest.mark.parametrize("asked", ["anchored", "auto"])
def test_nodes_of_a_small_directed_relation_keep_their_own_degrees_on_both_sides(asked: str, epsilon: int):
    """By the recipe, which makes rows anonymous, out-degrees of 500 routes between 120 airports were
    correlated by -.1 with their own where bits of pairs could not tell edges, by .7 where they could."""
    nodes, rng = 120, np.random.default_rng(4)
    often = rng.permutation(1 / (1 + np.arange(nodes)))
    ends = np.stack([rng.choice(nodes, 900, p=often / often.sum()), rng.integers(0, nodes, 900)])
    ends = np.unique(ends[:, ends[0] != ends[1]], axis=1)
    kind, relation = NodeType(count=nodes), EdgeType(directed=True)
    graph = Graph.build(
        GraphSchema(node_types=(kind,), edge_types=(relation,)), {}, {"edge": EdgeTable(*ends)}
    )
    facts = PublicFacts(graph.schema, Unit.EDGE, None, epsilon * NANO, 0, ("edge",))
    found = settle(asked, {}, (), facts, {"node": nodes})
    assert found.generator.name == "anchored"
    session = PrivateGraph(graph, Meter(found.plan, MemoryRecorder()))
    model = found.generator.fit(session, found.plan, found.params, no_progress)
    drawn = model.sample(public_generator(1), no_progress).edges["edge"]
    own, out = (np.bincount(each, minlength=nodes) for each in (ends[0], drawn.source))
    assert np.corrcoef(own, out)[0, 1] > 0.9
