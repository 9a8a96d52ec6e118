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
from tests.support.publishing import evaluation

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
    return evaluation(**(values | changes))


@pytest.mark.parametrize("suite", list(Suite))
def test_as_many_as_the_suite_says_each_with_the_release_as_its_original(suite):
    published = released()
    shadows = shadow_releases(published, asked(suite=suite))
    assert len(shadows) == SHADOWS[suite]
    for shadow in shadows:
        assert shadow.held is published
        assert shadow.released.nodes["node"].count == NODES
        assert not shadow.released.equals(published)
        assert not shadow.hidden.pairs


@pytest.mark.parametrize(
    "changes",
    [{"method": "forgotten"}, {"params": {"surprise": 1}}, {"unit": Unit.EVENT}, {"edge_types": ("other",)}],
)
def test_a_method_that_does_not_take_the_release_makes_none(changes):
    assert shadow_releases(released(), asked(**changes)) == []


def test_a_defence_is_run_once_more_and_says_what_it_hid():
    told: list[tuple[str, int, int]] = []
    published = released()
    spec = asked(suite=Suite.FULL, method="random_rewire")
    (shadow,) = shadow_releases(published, spec, lambda *step: told.append(step))
    hidden = shadow.hidden.of_relation("edge")
    assert len(hidden[0]) == published.edges["edge"].count // 10
    ends = set(zip(hidden[0].tolist(), hidden[1].tolist(), strict=True))
    edges = shadow.released.edges["edge"]
    assert not ends & set(zip(edges.source.tolist(), edges.target.tolist(), strict=True))
    counts = [done for stage, done, total in told if (stage, total) == ("shadow", 100)]
    assert len(counts) == len(told)
    assert counts == sorted(set(counts))
    assert (counts[0], counts[-1]) == (0, 100)


@pytest.mark.parametrize("limits", [{"shadows": 0}, {"shadow_links": 100}])
def test_the_settings_bound_them(limits):
    assert shadow_releases(released(), asked(suite=Suite.FULL, **limits)) == []
    assert len(shadow_releases(released(), asked(suite=Suite.FULL, shadows=2, shadow_links=300))) == 2


def test_of_a_weighted_defence_a_shadow_is_what_its_weights_make():
    params = {"release": "weighted", "steps": 6, "interval": 3, "surrogate_steps": 3, "alpha": 5.0}
    (shadow,) = shadow_releases(released(), asked(method="ppgsl", params=params))
    assert not shadow.released.weights
    assert 0 < shadow.released.edges["edge"].count <= shadow.held.edges["edge"].count
