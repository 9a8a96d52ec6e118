"""Shadow releases: made of the release by its own method, without the original and without a budget."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.metric import Suite
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.privacy.units import Unit
from core.publishing.shadows import SHADOWS, shadow_releases
from core.publishing.spec import EvaluationSpec

NODES = 60


def released() -> Graph:
    ends = np.random.default_rng(1).integers(0, NODES, (2, 200))
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(),))
    return Graph.build(schema, {"node": NodeTable(NODES)}, {"edge": EdgeTable(*ends)})


def asked(**changes) -> EvaluationSpec:
    values = {
        "suite": Suite.STANDARD,
        "method": "psgraph",
        "unit": Unit.EDGE,
        "nano_epsilon": 10**9,
        "edge_types": ("edge",),
    }
    return EvaluationSpec.model_validate(values | changes)


@pytest.mark.parametrize("suite", list(Suite))
def test_as_many_as_the_suite_says_each_with_the_release_as_its_original(suite):
    published = released()
    shadows = shadow_releases(published, asked(suite=suite))
    assert len(shadows) == SHADOWS[suite]
    for original, shadow in shadows:
        assert original is published
        assert shadow.nodes["node"].count == NODES
        assert not shadow.equals(published)


@pytest.mark.parametrize(
    "changes",
    [{"method": "forgotten"}, {"params": {"surprise": 1}}, {"unit": Unit.EVENT}, {"edge_types": ("other",)}],
)
def test_a_method_that_does_not_take_the_release_makes_none(changes):
    assert shadow_releases(released(), asked(**changes)) == []
