"""EdgeRand and TmF end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

Two nodes, with or without their edge; the output says whether the released graph has it. A copy that pays as
stated but flips and counts at twice the epsilon must be caught.
"""

from collections.abc import Callable

import numpy as np
import pytest

from core.methods import edgerand, tmf
from tests.support.auditing import bounding, caught, in_both_forms
from tests.support.generating import drawn, graph_of, rows_of

EPSILON = 1.0
METHODS = {
    "edgerand-symmetric": (edgerand.GENERATOR, {"form": "symmetric"}),
    "edgerand-balanced": (edgerand.GENERATOR, {"form": "balanced"}),
    "tmf": (tmf.GENERATOR, {}),
}


def measured(name: str, nodes: int = 2) -> Callable[..., float]:
    generator, params = METHODS[name]

    def has_edge(graph) -> np.ndarray:
        rows = rows_of(drawn(generator, graph, EPSILON, **params))
        return np.array([float(((rows == [0, 1]).all(axis=1)).any()), float(len(rows))])

    return bounding(has_edge, graph_of([(0, 1)], nodes), graph_of([], nodes))


@pytest.mark.parametrize("name", METHODS)
def test_the_printed_epsilon_holds(name):
    assert measured(name)(250) <= EPSILON


@in_both_forms
@pytest.mark.parametrize("name", METHODS)
def test_a_copy_at_twice_the_epsilon_is_caught(name, double_epsilon, part):
    assert caught(measured(name), EPSILON, 600, part)


@pytest.mark.slow
@pytest.mark.parametrize("name", METHODS)
def test_many_runs_among_more_nodes(name):
    assert 0.3 < measured(name, nodes=6)(6_000) <= EPSILON
