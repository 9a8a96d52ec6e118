"""Closing triangles: counts that stay true, clustering met on the way, proposals that grow with edges."""

import networkx as nx
import numpy as np
import pytest

from core.methods._shared.matching.ends import degrees_in
from core.methods._shared.rewiring import triangles
from core.methods._shared.rewiring.balance import _miss, _short
from core.methods._shared.rewiring.clustering import CLOSED, OPENED, ToldClustering
from core.methods._shared.rewiring.exchange import (
    IMPOSSIBLE,
    exchange,
    gained,
    joined,
    lost,
    most_gained,
    places_for,
    worth,
)
from core.methods._shared.rewiring.moves import close_triangles, open_triangles, swapping
from core.methods._shared.rewiring.rows import Rows, mark, marked, marks_for
from core.methods._shared.rewiring.triangles import UNKNOWN, Targets, _gathered, proposals_for, rewired
from core.privacy.accounting.events import NANO
from core.privacy.entropy import public_generator

DAMPING = 8


def rows_of(nodes, edges, groups=2, circles=1):
    """A graph whose largest nodes have some thirty times as many edges as the smallest; counted."""
    rng = np.random.default_rng(7)
    size = (1 - rng.random(nodes)) ** -0.5
    ends = rng.choice(nodes, (2 * edges, 2), p=size / size.sum())
    ends = np.sort(ends[ends[:, 0] != ends[:, 1]], axis=1)
    keys, labels = np.unique(ends[:, 0] * nodes + ends[:, 1])[::2], np.arange(nodes) % groups
    rows = Rows.of(keys, nodes, labels, circles, public_generator(5))
    return rows, rows.count()


def keys_of(nodes, edges):
    """The distinct edges of such a graph, about half of those drawn."""
    source, target = rows_of(nodes, edges, groups=1)[0].edges()
    return np.sort(np.minimum(source, target).astype(np.int64) * nodes + np.maximum(source, target))


def full(rows):
    """The damped sum where all neighbours are linked."""
    degree = np.diff(rows.start)
    return float((weights(rows) * degree * (degree - 1) / 2).sum())


def weights(rows):
    damped = np.maximum(np.diff(rows.start), DAMPING).astype(float)
    return 2 / (damped * (damped - 1))


def summed(rows):
    return float(rows.at_nodes() @ weights(rows))


def close(rows, now, more, wanted=UNKNOWN, proposals=10**7):
    """Triangles, clustering and proposals after ``more`` triangles were asked for."""
    found = close_triangles(
        rows.arrays(),
        weights(rows),
        (now, now + more),
        (summed(rows), wanted),
        (0, 0, 0, False),
        proposals,
        public_generator(3),
    )
    return found[0], found[1], found[3]


def graph_of(rows):
    graph = nx.empty_graph(len(rows.labels))
    graph.add_edges_from(zip(*(part.tolist() for part in rows.edges()), strict=True))
    return graph


@pytest.mark.parametrize("opened", [False, True])
def test_counts_stay_true(opened):
    rows, now = rows_of(300, 1_500)
    now, total, _ = close(rows, now, 1_500, wanted=30.0)
    if opened:
        now, *_ = open_triangles(
            rows.arrays(), weights(rows), (now, now - 600), (0, 0, 0, False), 10**6, public_generator(4)
        )
        total = summed(rows)
    graph = graph_of(rows)
    owner = np.repeat(np.arange(len(rows.labels)), np.diff(rows.start))
    np.testing.assert_array_equal(rows.others[rows.back], owner)
    assert now == sum(nx.triangles(graph).values()) // 3
    assert summed(rows) == pytest.approx(total)
    for entry in range(0, len(rows.others), 37):
        ends = int(owner[entry]), int(rows.others[entry])
        assert (
            rows.closed[entry]
            == rows.closed[rows.back[entry]]
            == len(list(nx.common_neighbors(graph, *ends)))
        )


def test_a_swap_gains_what_it_was_weighed_and_no_more_than_its_bounds():
    """Balance leaves those unweighed whose bounds say that they come no nearer."""
    rows, now = rows_of(200, 1_500)
    places, rng, bounds, weight = places_for(rows.start), public_generator(6), [], weights(rows)
    while len(bounds) < 40:
        move, _ = swapping(rows.arrays(), (0, 0, 0, False), rng)
        if move[4] < 0:
            continue
        mark(rows.start, rows.others, places[0], move[0])
        joins = joined(rows.arrays(), places, move)
        most, more = most_gained(rows.arrays(), move, joins), gained(rows.arrays(), places, move, joins)
        assert more > IMPOSSIBLE
        lost(rows.arrays(), places, move)
        gain, before = worth(rows.arrays(), weight, places, move), summed(rows)
        exchange(rows.arrays(), places, move)
        now += more
        assert now == sum(nx.triangles(graph_of(rows)).values()) // 3 == rows.closed.sum() // 6
        assert summed(rows) - before == pytest.approx(gain)
        for aim in (now - 50, now, now + 50):
            assert (
                _short(now - more + most, aim) <= _short(now, aim) <= _miss(now, aim, before + gain, before)
            )
        bounds.append(most - more)
    assert min(bounds) >= 0


def test_marks_are_of_the_last_node_alone():
    rows, _ = rows_of(60, 200)
    marks = marks_for(rows.start)
    assert not any(marked(marks, v) for v in range(60))
    for node in (3, 17, 3):
        mark(rows.start, rows.others, marks, node)
        own = rows.others[rows.start[node] : rows.start[node + 1]]
        assert sorted(own.tolist()) == [v for v in range(60) if marked(marks, v)]


def test_clustering_is_met_while_triangles_are_closed():
    """Left alone it overshoots by far: nodes of few edges come first, and their triangles weigh the most."""
    rows, now = rows_of(4_000, 24_000)
    begun, more = summed(rows), 12_000
    wanted = begun + 0.004 * more
    closed, total, _ = close(rows, now, more, wanted)
    assert closed >= now + more
    assert total == pytest.approx(wanted, rel=0.05)
    rows, now = rows_of(4_000, 24_000)
    closed, alone, _ = close(rows, now, more)
    assert closed >= now + more
    assert alone - begun > 2 * (wanted - begun)


def test_an_aim_of_clustering_far_too_low_does_not_stop_the_closing():
    rows, now = rows_of(600, 2_400)
    for wanted in (0.0, summed(rows) + 1e-6):
        rows, now = rows_of(600, 2_400)
        assert close(rows, now, 600, wanted)[0] >= now + 600


def test_proposals_grow_with_edges_and_no_faster():
    made = {}
    for edges in (8_000, 64_000):
        rows, now = rows_of(edges // 8, edges)
        begun = summed(rows)
        closed, _, made[edges] = close(rows, now, edges // 2, begun + 0.01 * edges // 2)
        assert closed >= now + edges // 2
    assert made[64_000] < 1.4 * 8 * made[8_000]  # 1.15 to 1.33 by other seeds


def test_as_many_triangles_as_dense_groups_have_are_reached():
    """Near their number most moves are worth it for the triangles that a and b gain alone."""
    nodes, rng = 300, np.random.default_rng(0)
    low, high = np.triu_indices(nodes, 1)
    near = rng.random(len(low)) < np.where(low // 60 == high // 60, 0.7, 0.03)
    keys, alike = low[near] * nodes + high[near], np.zeros(nodes, dtype=np.int64)
    aim = Rows.of(keys, nodes, alike).count()
    proposals = proposals_for(len(keys), 60)
    scattered = rewired(keys, nodes, alike, Targets(0), proposals, public_generator(3))
    assert Rows.of(scattered, nodes, alike).count() < aim / 10
    found = rewired(scattered, nodes, alike, Targets(aim), proposals, public_generator(4))
    assert Rows.of(found, nodes, alike).count() == pytest.approx(aim, rel=0.01)


def test_degree_products_that_make_more_triangles_than_were_told_give_way():
    """Where hubs hold most edges a little noise in degree products asks for many times the triangles."""
    rows, now = rows_of(3_000, 9_000, groups=1)
    source, target = rows.edges()
    keys = np.sort(np.minimum(source, target) * 3_000 + np.maximum(source, target))
    degree = np.diff(rows.start)
    products, alike = int((degree[source] * degree[target]).sum()), np.zeros(3_000, dtype=np.int64)
    raised = 13 * products // 10
    proposals = proposals_for(len(keys), 60)
    alone = rewired(keys, 3_000, alike, Targets(10 * now, raised), 10**6, public_generator(1))
    assert Rows.of(alone, 3_000, alike).count() > 1.5 * now
    found = Rows.of(
        rewired(keys, 3_000, alike, Targets(now // 2, raised), proposals, public_generator(1)), 3_000, alike
    )
    assert found.count() == pytest.approx(now // 2, rel=0.05)


def test_no_noise_asks_for_no_clustering():
    """What was told counts by its noise, and what rewiring gives by how it came to its triangles."""
    rows, _ = rows_of(1_000, 4_000)
    own = 50.0

    def aim(told, spread, nano_epsilon):
        clustering = ToldClustering(told, DAMPING, nano_epsilon)
        return clustering.aim(own, spread, clustering.variance_of(rows), 1_000)

    for told in (-400.0, -40.0, 0.0):
        assert 5 < aim(told, CLOSED, NANO // 10) < own
    assert aim(80.0, CLOSED, 1_000 * NANO) == pytest.approx(80, rel=0.03)
    assert own < aim(200.0, CLOSED, NANO) < aim(200.0, OPENED, NANO) <= 210
    assert aim(10**6, OPENED, NANO) <= 1_000


def test_triangles_are_closed_in_circles():
    """Or among hubs: most edges are inside circles then, where one in eight was."""
    rows, now = rows_of(2_000, 8_000, groups=1, circles=8)
    rows.with_hubs(0.01)
    assert (np.diff(rows.start) >= rows.hub).mean() == pytest.approx(0.01, abs=0.01)

    def inside():
        source, target = rows.edges()
        return (rows.circles[source] == rows.circles[target]).mean()

    assert inside() == pytest.approx(1 / 8, abs=0.03)
    assert close(rows, now, 8_000)[0] >= now + 8_000
    assert inside() > 0.3


@pytest.mark.parametrize(("closed", "least", "most"), [(0.0, 0.0, 0.1), (0.04, 0.2, 0.32), (0.9, 0.4, 0.6)])
def test_edges_are_gathered_into_circles_as_transitivity_says(closed, least, most):
    """No triangle is closed here: what is in one circle beyond chance was gathered."""
    nodes, keys = 4_000, keys_of(4_000, 12_000)
    rows = Rows.of(keys, nodes, np.zeros(nodes, dtype=np.int64), 16, public_generator(9))
    degree = np.diff(rows.start)
    _gathered(rows, round(closed * float((degree * (degree - 1)).sum()) / 6), 0, public_generator(2))
    owner = np.repeat(np.arange(nodes), degree)
    together = float((rows.circles[owner] == rows.circles[rows.others]).mean())
    assert least <= together <= most
    found = rows.keys()
    assert len(np.unique(found)) == len(keys)
    np.testing.assert_array_equal(degrees_in(found, nodes), degrees_in(keys, nodes))


def test_gathered_edges_make_communities(monkeypatch):
    """Of the same triangles and clustering a graph has more of them than by closing triangles alone."""
    nodes, rng = 3_000, np.random.default_rng(6)
    low, high = rng.integers(0, nodes, (2, 18_000))
    ends = np.unique(np.sort(np.stack([low, high], 1)[low != high], axis=1), axis=0)
    keys, alike, parts = ends[:, 0] * nodes + ends[:, 1], np.zeros(nodes, dtype=np.int64), []
    rows = Rows.of(keys, nodes, alike)
    degree = np.diff(rows.start)
    told = ToldClustering(0.2 * full(rows), DAMPING, 10 * NANO)
    targets = Targets(round(0.2 * float((degree * (degree - 1)).sum()) / 6), None, 0.02, told)
    for most in (0.0, triangles.MOST_GATHERED):
        monkeypatch.setattr(triangles, "MOST_GATHERED", most)
        found = rewired(keys, nodes, alike, targets, 60 * len(keys), public_generator(5))
        assert Rows.of(found, nodes, alike).count() == pytest.approx(targets.triangles, rel=0.05)
        graph = nx.Graph(zip(found // nodes, found % nodes, strict=True))
        parts.append(nx.community.modularity(graph, nx.community.louvain_communities(graph, seed=1)))
    assert parts[1] > parts[0] + 0.05
