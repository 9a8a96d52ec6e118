"""Typed graphs of odd shapes are learned and released, by models that can be kept."""

import numpy as np
import pytest

from core.methods.base import PublicFacts
from core.privacy.mechanisms import gradients
from core.privacy.units import Unit
from papers.thepuff import GENERATOR, embedding, state
from papers.thepuff import perturb as thepuff_perturb
from tests.support.odd_shapes import SHAPES, graph_of, kept_release, require_facts

NANO, DELTA = 10**9, 10**13
SHORT = {"epochs": 1, "most_batches": 1, "utility": True, "utility_steps": 1}
METHODS = [
    pytest.param(GENERATOR, SHORT, id="all"),
    pytest.param(
        GENERATOR,
        {"epochs": 1, "most_batches": 1, "bias": "hat", "keep_degrees": False},
        id="hat",
    ),
    pytest.param(thepuff_perturb.GENERATOR, {}, id="perturbation"),
]


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Small graphs need few walks; batches are padded to whole chunks."""
    monkeypatch.setattr(embedding, "FEWEST_WALKS", 20)
    monkeypatch.setattr(state, "PATTERNS", 50)
    monkeypatch.setattr(gradients, "MAX_CHUNK", 32)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("unit", [Unit.EVENT, Unit.EDGE])
@pytest.mark.parametrize(("generator", "options"), METHODS)
def test_every_relation_is_released_whatever_its_shape(generator, options, unit, shape, tmp_path):
    graph = graph_of(*SHAPES[shape], unit.temporal)
    params = generator.Params(**options)
    names = tuple(each.name for each in graph.schema.edge_types)
    delta = DELTA if getattr(params, "utility", False) else 0
    for epsilon in (NANO // 10, 20 * NANO):
        facts = PublicFacts(graph.schema, unit, None, epsilon, delta, names)
        model, released = kept_release(generator, params, facts, graph, tmp_path / str(epsilon))
        if generator is GENERATOR:
            require_facts(released)
            assert all(np.isfinite(values).all() for values in model.training().curves.values())
