"""Persons' relations in shards, beside the same models drawn as a whole."""

import numpy as np
import pytest

from core.methods._shared.shards.cells import draw_shard
from core.methods._shared.shards.draw import strips
from core.methods.base import no_progress
from core.methods.projection.shards import laws_of_model
from core.privacy.entropy import public_generator
from tests.unit.methods.test_projection import arcs, fitted, grouped


def drawn(laws, orders):
    """The edges of every cell, both ends as indices of the original."""
    order = orders["node"]
    for law in laws.laws:
        ends = zip(*strips(law, range(law.strips)), strict=True)
        yield tuple(order[np.concatenate(each)] for each in ends)


def test_degrees_groups_and_edges_are_near_those_of_a_whole_draw():
    model, _ = fitted(grouped(), 200.0, triangle_share=0)
    whole = model.sample(public_generator(1), no_progress).edges["edge"]
    rng = np.random.default_rng(2)
    orders, group = {"node": rng.permutation(600)}, np.arange(600) % 3
    edges, inside, spread = [], [], []
    for _ in range(10):
        laws = laws_of_model(model, orders, rng)
        assert laws.cells == (("edge", None),)
        ((source, target),) = drawn(laws, orders)
        edges.append(len(source))
        inside.append((group[source] == group[target]).mean())
        spread.append(np.sort(np.bincount(np.concatenate([source, target]), minlength=600)))
    own = np.sort(np.bincount(np.concatenate([whole.source, whole.target]), minlength=600))
    # A pair that is drawn twice is one edge.
    assert 0.93 < np.mean(edges) / whole.count < 1.01
    assert abs(np.mean(inside) - (group[whole.source] == group[whole.target]).mean()) < 0.03
    assert np.abs(np.mean(spread, axis=0) - own).mean() < 0.25 * own.mean()


def test_steps_have_the_edges_that_were_read():
    graph = arcs(steps=3, directed=False)
    model, _ = fitted(graph, 200.0, triangle_share=0)
    ((_, columns),) = model.cells.items()
    orders, rng = {"node": np.random.default_rng(1).permutation(600)}, np.random.default_rng(2)
    laws = laws_of_model(model, orders, rng)
    assert laws.cells == tuple(("edge", step) for step in range(3))
    found = np.array([len(source) for source, _ in drawn(laws, orders)])
    wanted = columns["total"][0] * columns["steps"]
    assert (np.abs(found - wanted) < 6 * np.sqrt(wanted) + 0.06 * wanted).all()


@pytest.mark.parametrize("nodes", [1, 2, 3, 7])
@pytest.mark.parametrize("steps", [1, 2])
def test_the_smallest_graphs_are_drawn_in_shards(nodes, steps, tmp_path):
    graph = arcs(nodes, steps, directed=False) if steps > 1 else grouped(nodes)
    model, _ = fitted(graph, 0.5, triangle_share=0)
    laws = laws_of_model(model, {"node": np.arange(nodes)}, np.random.default_rng(1), 2)
    laws.save(tmp_path / "law")
    count = max(len(laws.cells), min(sum(each[1] for each in laws.sizes), 3))
    (tmp_path / "out").mkdir()
    for number in range(count):
        part, slots = draw_shard(tmp_path / "law", number, count, tmp_path / "out")
        assert part.rows <= nodes * (nodes - 1) / 2
        assert (slots.sources, slots.mirrored) == (nodes, True)


def test_what_is_drawn_as_a_whole_has_no_shards():
    orders, rng = {"node": np.arange(600)}, np.random.default_rng(1)
    for graph, params in ((arcs(), {}), (grouped(), {"triangle_share": 0.3})):
        model, _ = fitted(graph, 400.0, **params)
        with pytest.raises(ValueError, match="as a whole"):
            laws_of_model(model, orders, rng)
