"""Groups meet in the chain's graphs as was read, also in dense ones, where nodes soon know all of a group."""

from __future__ import annotations

import numpy as np
import pytest

from core.graphs.schema import EdgeType
from core.methods._shared.node_values.ends import Ends
from core.methods._shared.relations.affinity import LARGEST, affinity
from core.methods._shared.relations.draw import Relation
from core.methods._shared.relations.params import AnchoredParams
from core.privacy.entropy import public_generator
from core.privacy.queries import Shape

NODES = 80
GROUPS = np.arange(NODES) % 4 // 3
"""A fourth of the nodes are in the second group."""


def drawn(degrees: np.ndarray, share: np.ndarray, directed: bool, steps: int = 1) -> np.ndarray:
    """The share of edges by group of both ends, of one step that is drawn by the groups' odds."""
    ends = Ends(degrees.astype(float) * steps, degrees.astype(float) * steps if directed else None)
    edges = int(degrees.sum()) if directed else int(degrees.sum()) // 2
    columns = {
        "count": np.array([edges]),
        "source_degrees": degrees,
        "target_degrees": degrees,
        "group": GROUPS.astype(np.int32),
        "affinity": affinity(share, ends, GROUPS, steps),
    }
    shape = Shape(EdgeType(name="knows", directed=directed), NODES, NODES)
    keys = Relation(shape, AnchoredParams(evidence="none")).draw(columns, public_generator(3))
    one, other = GROUPS[keys // NODES], GROUPS[keys % NODES]
    if not directed:
        one, other = np.minimum(one, other), np.maximum(one, other)
    return np.bincount(2 * one + other, minlength=4) / len(keys)


@pytest.mark.parametrize("steps", [1, 3])
@pytest.mark.parametrize("directed", [False, True])
def test_groups_of_a_dense_graph_meet_as_was_read(directed: bool, steps: int):
    degrees = np.full(NODES, 14, dtype=np.int64)
    # Nodes of the second group have 14 edges, 12.6 of them among its 20 nodes.
    share = np.array([0.725, 0.025, 0.025, 0.225]) if directed else np.array([0.725, 0.05, 0.225])
    found = drawn(degrees, share, directed, steps)
    wanted = share if directed else np.array([0.725, 0.05, 0, 0.225])
    assert np.abs(found - wanted).sum() / 2 < 0.02


def test_odds_have_bounds_and_a_group_without_edges_has_some():
    degrees = np.where(GROUPS == 0, 4.0, 0.0)
    odds = affinity(np.array([1.0, 0, 0]), Ends(degrees), GROUPS)
    assert odds.shape == (4,)
    assert (np.abs(odds) <= LARGEST).all()
    assert np.isfinite(affinity(np.array([1.0, 0, 0]), Ends(np.zeros(NODES)), GROUPS)).all()
