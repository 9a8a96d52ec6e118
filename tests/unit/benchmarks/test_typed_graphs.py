"""Generated typed graphs have the shape that is asked for, and declared facts must hold."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.typed_graphs import SHAPES, Sizes, declared, shaped
from papers.thepuff.benchmarks.tables import thinned, typed_random

SMALL = Sizes(("user", "movie", "genre"), 400, 300, 7, 8_000, 5, once=True)


def keys(graph, relation):
    table = graph.edges[relation]
    return table.source.astype(np.int64) * graph.schema.node_type(relation.split("-")[1]).count + table.target


@pytest.mark.parametrize("once", [True, False])
def test_a_generated_graph_has_its_shape_and_keeps_its_declarations(once):
    sizes = Sizes(("user", "movie", "genre"), 400, 300, 7, 8_000, 5, once)
    graph = shaped(sizes)
    timed = graph.edges["user-movie"]
    assert 0.97 * 8_000 <= timed.count <= 8_000
    assert set(np.unique(timed.step)) == set(range(5))
    pairs = keys(graph, "user-movie")
    assert (len(np.unique(pairs)) == len(pairs)) == once
    assert np.array_equal(graph.edges["movie-genre"].source, np.arange(300))
    assert graph.schema.edge_type("movie-genre").functional
    assert graph.schema.edge_type("user-movie").once == once


def test_the_same_seed_gives_the_same_graph_and_another_another():
    assert shaped(SMALL).equals(shaped(SMALL))
    assert not shaped(SMALL).equals(shaped(SMALL, seed=2))


def test_degrees_are_heavy_tailed_and_sources_live_in_few_steps():
    graph = shaped(SHAPES["taobao"].scaled(0.01))
    timed = graph.edges["user-item"]
    for ends in (timed.source, timed.target):
        degrees = np.bincount(ends)
        assert degrees.max() > 6 * degrees[degrees > 0].mean()
    active = np.unique(timed.source.astype(np.int64) * 10 + timed.step)
    assert len(active) < 4 * len(np.unique(timed.source))


def test_a_scaled_shape_keeps_classes_and_steps_and_does_not_fill_up():
    sizes = SHAPES["ml-20m"].scaled(0.1)
    assert sizes.edges == 2_000_000
    assert sizes.edges / (sizes.sources * sizes.targets) == pytest.approx(0.01, rel=1e-3)
    assert (sizes.classes, sizes.steps, sizes.once) == (20, 21, True)
    sparse = SHAPES["taobao"].scaled(0.1)
    assert (sparse.sources, sparse.targets, sparse.edges) == (31_000, 69_000, 224_000)
    assert SHAPES["ml-20m"].scaled(1.0) == SHAPES["ml-20m"]


def test_facts_that_hold_are_declared_and_others_refused():
    graph = shaped(SMALL)
    bare = declared(graph)
    assert not any(kind.once or kind.functional for kind in bare.schema.edge_types)
    again = declared(bare, once=("user-movie",), functional=("movie-genre",))
    assert again.equals(graph)
    with pytest.raises(ValueError, match="user-movie functional"):
        declared(bare, functional=("user-movie",))
    often = shaped(Sizes(("user", "movie", "genre"), 400, 300, 7, 8_000, 5, once=False))
    with pytest.raises(ValueError, match="user-movie once"):
        declared(often, once=("user-movie",))


def test_the_typed_random_graph_keeps_counts_within_the_noise_and_nothing_else():
    graph = shaped(SMALL)
    drawn = typed_random(graph, 4_000_000_000)
    for relation in ("user-movie", "movie-genre"):
        for step in graph.schema.steps_of(relation):
            # Noise of scale 1/4: 10 away has a chance below 1e-16.
            assert abs(drawn.cell(relation, step).count - graph.cell(relation, step).count) < 10
    degrees = np.bincount(drawn.edges["user-movie"].source, minlength=400)
    assert degrees.var() < 2 * degrees.mean()  # as a binomial's, where the original's is far above
    original = np.bincount(graph.edges["user-movie"].source, minlength=400)
    assert original.var() > 5 * original.mean()


def test_thinning_keeps_the_universe_and_a_share_of_every_relation():
    graph = shaped(SMALL)
    thin = thinned(graph, 0.1)
    assert thin.schema == graph.schema
    assert thin.edges["user-movie"].count == -(-graph.edges["user-movie"].count // 10)
    assert thin.edges["movie-genre"].count == 30
