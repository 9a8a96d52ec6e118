"""A fitted cell of ``dcsbm`` in shards, beside the same cell drawn as a whole."""

import numpy as np
import pytest

from core.methods import registry
from core.methods._shared.shards.draw import strips
from core.methods.dcsbm.draw import draw
from core.methods.dcsbm.shards import law_of
from tests.support.generating import fit, graph_of, random_pairs

COUNTS = {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "groups": 3}


def fitted(**params):
    graph = graph_of(random_pairs(300, 0.1), 300)
    return fit(registry.get("dcsbm"), graph, 8.0, **params)[0]


def test_degrees_and_edges_are_near_those_of_a_whole_draw():
    model = fitted(**COUNTS)
    columns, rng = model.cells["edge", None], np.random.default_rng(1)
    whole = np.divmod(draw(columns, 300, model.params, rng), 300)
    order = rng.permutation(300)
    edges, degrees = [], np.zeros(300)
    for _ in range(20):
        law = law_of(columns, order, rng)
        source, target = (np.concatenate(ends) for ends in zip(*strips(law, range(law.strips)), strict=True))
        edges.append(len(source))
        degrees += np.bincount(np.concatenate([source, target]), minlength=300) / 20
    own = np.bincount(np.concatenate(whole), minlength=300)[order]
    # A pair that is drawn twice is one edge: a tenth of these pairs are edges, so a twentieth is lost.
    assert 0.92 < np.mean(edges) / len(whole[0]) < 0.98
    assert np.corrcoef(degrees, own)[0, 1] > 0.9
    assert np.abs(degrees / own - degrees.sum() / own.sum()).mean() < 0.1


def test_a_graph_that_is_rewired_has_no_shards():
    model = fitted(groups=1)
    with pytest.raises(ValueError, match="as a whole"):
        law_of(model.cells["edge", None], np.arange(300), np.random.default_rng(1))
