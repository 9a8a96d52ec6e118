"""Declared facts of what is drawn: what stays, and by which choice. Every method: tests/contract."""

import numpy as np
import pytest
from scipy import stats

from core import errors
from core.graphs.graph import EdgeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods._shared.frame.declared import drawn_graph
from core.methods.base import PublicFacts
from core.privacy.entropy import noise_generator, public_generator
from core.privacy.units import Unit

NODES, STEPS = 12, 4


def drawn(rows, rng=None, **facts):
    """The edges (source, target, step) that stay of ``rows``, as rows."""
    relation = EdgeType(directed=True, temporal=True, **facts)
    grid = TimeGrid(count=STEPS)
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(relation,), time=grid)
    edges = {"edge": EdgeTable(*np.array(rows).T)}
    table = drawn_graph(schema, {"node": NODES}, edges, rng or noise_generator()).edges["edge"]
    return np.stack([table.source, table.target, table.step], axis=1).tolist()


ROWS = [[0, 1, 0], [0, 1, 2], [0, 2, 1], [3, 4, 0], [3, 4, 1], [5, 6, 0]]


def test_without_declared_facts_nothing_is_left_out_and_nothing_drawn():
    rng = public_generator(3)
    assert sorted(drawn(ROWS, rng)) == ROWS
    assert rng.random() == public_generator(3).random()


def test_a_source_keeps_one_target_in_all_its_steps():
    seen = {tuple(map(tuple, drawn(ROWS, functional=True))) for _ in range(200)}
    whole = {(3, 4, 0), (3, 4, 1), (5, 6, 0)}
    assert {frozenset(each) - whole for each in seen} == {
        frozenset({(0, 1, 0), (0, 1, 2)}),
        frozenset({(0, 2, 1)}),
    }
    assert all(whole <= set(each) for each in seen)


def test_a_pair_keeps_one_step():
    kept = drawn(ROWS, once=True)
    assert sorted({(s, t) for s, t, _ in kept}) == [(0, 1), (0, 2), (3, 4), (5, 6)]
    assert len(kept) == 4
    assert all(row in ROWS for row in kept)


def test_every_step_keeps_its_bound_and_smaller_steps_all_they_have():
    kept = drawn(ROWS, edge_bound=2)
    assert np.bincount([t for _, _, t in kept], minlength=STEPS).tolist() == [2, 2, 1, 0]


def test_what_stays_is_drawn_uniformly():
    """A p-value below one in a thousand, three times in a row, is one in a thousand million."""
    rows = [[0, target, 0] for target in range(1, 7)]

    def p_value(**facts):
        found = [row[1] for _ in range(1_200) for row in drawn(rows, **facts)]
        return stats.chisquare(np.bincount(found, minlength=7)[1:]).pvalue

    for facts in ({"functional": True}, {"edge_bound": 1}):
        assert any(p_value(**facts) > 1e-3 for _ in range(3))


@pytest.mark.parametrize("facts", [{"functional": True}, {"edge_bound": 10}])
def test_pairs_with_weights_are_refused_where_facts_are_declared(facts):
    ppgsl = registry.get("ppgsl")
    relation = EdgeType(directed=True, **facts)
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(relation,))
    public = PublicFacts(schema, Unit.EDGE, None, 10**9, 0, ("edge",))
    ppgsl.plan(ppgsl.Params(release="graph"), public)
    with pytest.raises(errors.NotAccepted, match="release=graph can") as found:
        ppgsl.plan(ppgsl.Params(release="weighted"), public)
    assert found.value.members["field"] == "params.release"
