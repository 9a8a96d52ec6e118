"""From pairs of walks to cells: what is counted, and which pairs become edges."""

import numpy as np
import pytest

from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.privacy.entropy import public_generator
from papers._shared.walks.layout import Layout
from papers.thepuff import assembler, collapse
from papers.thepuff.assembler import Scores, assembled
from papers.thepuff.pair_odds import degree_logs

KINDS = (NodeType(name="user", count=4), NodeType(name="film", count=5))
SIZES = {"user": 4, "film": 5}


def scores_of(relation: EdgeType, steps: int | None = 2) -> Scores:
    time = None if steps is None else TimeGrid(count=steps)
    schema = GraphSchema(node_types=KINDS, edge_types=(relation,), time=time)
    layout = Layout.of(schema, SIZES, (relation.name,))
    return Scores(layout, layout.relations)


def sees(**more) -> EdgeType:
    return EdgeType(name="sees", source="user", target="film", directed=True, temporal=True, **more)


def wanted(counts, degrees=((2, 2, 2, 2), (2, 2, 2, 2, 2)), name="sees"):
    source, target = (np.array(side, dtype=np.int64) for side in degrees)
    return {
        (name, step): {"count": np.array([count]), "source_degrees": source, "target_degrees": target}
        for step, count in enumerate(counts)
    }


def add(scores: Scores, rows) -> None:
    scores.add(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def drawn(scores: Scores, cells, seed: int = 1):
    return assembled(scores, cells, public_generator(seed))


def test_a_pair_counts_in_either_direction_at_its_step():
    scores = scores_of(sees())
    add(scores, [(0, 1, 4), (0, 4, 1), (1, 1, 4), (0, 3, 8)])
    keys, times = scores.of(("sees", 0))
    assert keys.tolist() == [1 * 5 + 0, 3 * 5 + 4]
    assert times.tolist() == [2, 1]
    assert scores.of(("sees", 1))[0].tolist() == [5]


def test_pairs_that_the_schema_does_not_allow_do_not_count():
    scores = scores_of(sees())
    add(scores, [(0, 1, 2), (0, 4, 5), (0, -1, 4), (0, 4, -1), (0, 1, 1)])
    assert len(scores.of(("sees", 0))[0]) == 0


def test_inside_one_type_loops_do_not_count_and_direction_does():
    undirected = scores_of(EdgeType(name="knows", source="user", target="user", temporal=True))
    directed = scores_of(EdgeType(name="knows", source="user", target="user", temporal=True, directed=True))
    for scores in (undirected, directed):
        add(scores, [(0, 3, 1), (0, 1, 3), (0, 2, 2)])
    assert undirected.of(("knows", 0))[0].tolist() == [1 * 4 + 3]
    assert undirected.of(("knows", 0))[1].tolist() == [2]
    assert directed.of(("knows", 0))[0].tolist() == [1 * 4 + 3, 3 * 4 + 1]


def test_merging_in_between_changes_nothing(monkeypatch):
    rng = np.random.default_rng(1)
    rows = np.stack([rng.integers(0, 2, 900), rng.integers(0, 4, 900), rng.integers(4, 9, 900)], axis=1)
    whole, parts = scores_of(sees()), scores_of(sees())
    add(whole, rows)
    monkeypatch.setattr(assembler, "MERGE_AT", 10)
    for piece in np.array_split(rows, 30):
        add(parts, piece)
    for step in (0, 1):
        for ours, theirs in zip(whole.of(("sees", step)), parts.of(("sees", step)), strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_every_cell_gets_its_count_of_distinct_sorted_keys():
    scores = scores_of(sees())
    rng = np.random.default_rng(2)
    add(scores, np.stack([np.zeros(99), rng.integers(0, 4, 99), rng.integers(4, 9, 99)], axis=1))
    found = drawn(scores, wanted((7, 3)))
    assert [len(found["sees", step]) for step in (0, 1)] == [7, 3]
    for keys in found.values():
        assert (np.diff(keys) > 0).all()
        assert ((keys >= 0) & (keys < 20)).all()


def test_pairs_are_drawn_in_proportion_to_their_counts():
    """One edge to draw: Eq. 16 and 17 make the pair's probability its share of the counts."""
    scores = scores_of(sees(), steps=1)
    add(scores, [(0, 0, 4)] * 3 + [(0, 1, 4)] + [(0, 2, 8)] * 6)
    rng = public_generator(3)
    first = [int(assembled(scores, wanted((1,)), rng)["sees", 0][0]) for _ in range(4000)]
    for key, share in ((0, 0.3), (5, 0.1), (14, 0.6)):
        assert abs(first.count(key) - 4000 * share) < 5 * np.sqrt(4000 * share * (1 - share))


def test_a_short_cell_keeps_its_pairs_and_is_filled_by_degrees():
    scores = scores_of(sees(), steps=1)
    add(scores, [(0, 0, 4), (0, 1, 5)])
    cells = wanted((4,), degrees=((1, 1, 1, 1), (1, 1, 1, 1, 0)))
    keys = drawn(scores, cells)["sees", 0]
    assert {0, 6} <= set(keys.tolist())
    source, target = np.divmod(keys, 5)
    assert np.bincount(source, minlength=4).tolist() == [1, 1, 1, 1]
    assert np.bincount(target, minlength=5).tolist() == [1, 1, 1, 1, 0]


def test_nothing_generated_is_all_filled():
    scores = scores_of(sees())
    found = drawn(scores, wanted((6, 0)))
    assert [len(found["sees", step]) for step in (0, 1)] == [6, 0]


def test_a_pair_occurs_once_over_time_where_that_is_declared():
    scores = scores_of(sees(once=True))
    for step in (0, 1):
        add(scores, [(step, u, f) for u in range(4) for f in range(4, 9)])
    found = drawn(scores, wanted((9, 9)))
    assert [len(found["sees", step]) for step in (0, 1)] == [9, 9]
    assert len(np.unique(np.concatenate(list(found.values())))) == 18


def test_pairs_of_two_steps_go_where_they_were_seen_more():
    scores = scores_of(sees(once=True))
    add(scores, [(0, 0, 4)] * 9 + [(1, 0, 4)])
    rng = public_generator(4)
    first = [0 in assembled(scores, wanted((1, 1)), rng)["sees", 0] for _ in range(400)]
    assert 0.8 < np.mean(first) < 0.97


def test_a_functional_relation_keeps_one_target_a_source():
    scores = scores_of(sees(functional=True))
    for step in (0, 1):
        add(scores, [(step, u, f) for u in range(4) for f in range(4, 9)])
    found = drawn(scores, wanted((4, 4), degrees=((1, 1, 1, 1), (1, 1, 1, 1, 0))))
    pairs = np.unique(np.concatenate(list(found.values())))
    assert len(np.unique(pairs // 5)) == len(pairs)


def test_the_same_state_draws_the_same_graph():
    scores = scores_of(sees())
    add(scores, [(0, u, f) for u in range(4) for f in range(4, 9)])
    one, two = drawn(scores, wanted((5, 5)), 7), drawn(scores, wanted((5, 5)), 7)
    for cell, keys in one.items():
        np.testing.assert_array_equal(keys, two[cell])
    assert any(not np.array_equal(keys, one[c]) for c, keys in drawn(scores, wanted((5, 5)), 8).items())


def uneven(undirected=False):
    """Scores of pairs between 40 users and 60 films (or users), seen unevenly, and degrees of another law."""
    target, size = ("user", 40) if undirected else ("film", 60)
    kinds = NodeType(name="user", count=40), NodeType(name="film", count=60)
    relation = EdgeType(name="sees", source="user", target=target, temporal=True)
    schema = GraphSchema(node_types=kinds, edge_types=(relation,), time=TimeGrid(count=1))
    layout = Layout.of(schema, {"user": 40, "film": 60}, ("sees",))
    scores = Scores(layout, layout.relations)
    rng = np.random.default_rng(5)
    ends = (40 * rng.random(4_000) ** 2).astype(int), (size * rng.random(4_000) ** 2).astype(int)
    scores.add(np.zeros(4_000, dtype=int), ends[0], ends[1] + (0 if undirected else 40))
    own = rng.integers(0, 9, 40)
    own[0] += own.sum() % 2
    other = (
        np.empty(0, dtype=int) if undirected else np.bincount(rng.integers(0, 60, own.sum()), minlength=60)
    )
    count = own.sum() // 2 if undirected else own.sum()
    cells = {("sees", 0): {"count": np.array([count]), "source_degrees": own, "target_degrees": other}}
    return scores, cells, size


@pytest.mark.parametrize("undirected", [False, True])
def test_degrees_are_kept_where_that_is_asked_for(undirected):
    scores, cells, size = uneven(undirected)
    columns = cells["sees", 0]
    wanted = [columns["source_degrees"], columns["target_degrees"]]

    def missed(keep: bool, seed: int) -> int:
        keys = assembled(scores, cells, public_generator(seed), keep_degrees=keep)["sees", 0]
        assert len(keys) == columns["count"][0]
        source, target = np.divmod(keys, size)
        got = [np.bincount(source, minlength=40), np.bincount(target, minlength=size)]
        if undirected:
            return int(np.abs(got[0] + got[1] - wanted[0]).sum())
        return sum(int(np.abs(one - other).sum()) for one, other in zip(got, wanted, strict=True))

    assert [missed(True, seed) for seed in range(5)] == [0] * 5
    assert min(missed(False, seed) for seed in range(5)) > 50


def test_pairs_that_were_seen_often_stay_likelier_among_equal_nodes():
    """Four nodes of degree one each: two of the pairs were seen nine times as often."""
    scores = scores_of(sees(), steps=1)
    for user, film, times in ((0, 4, 9), (1, 5, 9), (0, 5, 1), (1, 4, 1)):
        add(scores, [(0, user, film)] * times)
    cells = wanted((2,), degrees=((1, 1, 0, 0), (1, 1, 0, 0, 0)))
    rng = public_generator(6)
    drawn = [assembled(scores, cells, rng, keep_degrees=True)["sees", 0].tolist() for _ in range(400)]
    assert all(len(keys) == 2 for keys in drawn)
    often = np.mean([0 in keys and 6 in keys for keys in drawn])
    assert often > 0.6


def test_factors_give_the_degrees_that_were_asked_for():
    scores, cells, size = uneven()
    keys, times = scores.of(("sees", 0))
    columns = cells["sees", 0]
    degrees = np.concatenate([columns["source_degrees"], columns["target_degrees"]])
    first, second = np.divmod(keys, size)
    logs = degree_logs(first, second + 40, times, degrees)
    chance = -np.expm1(-times * np.exp(logs))
    source, target = np.divmod(keys, size)
    assert np.abs(np.bincount(source, chance, 40) - columns["source_degrees"]).max() < 0.3
    assert np.abs(np.bincount(target, chance, 60) - columns["target_degrees"]).max() < 0.3


def test_nodes_without_a_degree_get_no_pair_and_others_all_of_too_few():
    keys, times = np.array([0, 61, 62]), np.array([5, 1, 1])
    source, target = np.zeros(40, dtype=int), np.zeros(60, dtype=int)
    source[1], target[1], target[2], target[0] = 9, 1, 1, 4
    first, second = np.divmod(keys, 60)
    logs = degree_logs(first, second + 40, times, np.concatenate([source, target]))
    assert logs[0] == -np.inf
    assert (np.exp(logs[1:]) > 3).all()


@pytest.mark.parametrize(("distinct", "collapsed"), [(20, False), (18, False), (17, True), (0, True)])
def test_a_run_that_is_short_of_pairs_has_collapsed(distinct, collapsed):
    scores = scores_of(sees(), steps=1)
    add(scores, [(0, u, f) for u in range(4) for f in range(4, 9)][:distinct])
    found = collapse.collapse_of(scores, wanted((20,)))
    assert found.collapsed == collapsed
    assert found.missing == ({("sees", 0): 20 - distinct} if distinct < 20 else {})
    assert all(note for note in found.notes())


def test_a_part_of_the_walks_is_compared_with_that_part_of_the_edges():
    scores = scores_of(sees(), steps=1)
    add(scores, [(0, u, f) for u in range(4) for f in range(4, 9)][:9])
    assert collapse.collapse_of(scores, wanted((20,))).collapsed
    assert not collapse.collapse_of(scores, wanted((20,)), 0.5).collapsed


def test_the_share_of_active_nodes_that_were_seen():
    scores = scores_of(sees(), steps=1)
    add(scores, [(0, 0, 4), (0, 1, 4)])
    found = collapse.collapse_of(scores, wanted((2,), degrees=((1, 1, 0, 0), (1, 1, 0, 0, 0))))
    assert found.nodes == 3 / 4
    assert "75.0%" in found.notes()[0]
