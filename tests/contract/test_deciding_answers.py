"""An answer that decides how much noise later ones have says so, or totals would lean to one side."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from core.methods.base import no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import EDGE_WISE
from core.publishing.totals import _times
from tests.contract.test_generators import GENERATORS, NODES, facts, graph_of

FITTED = [
    pytest.param(each, unit, id=f"{each.name}-{unit}", marks=[pytest.mark.slow] if each.name in SLOW else [])
    for SLOW in [{"thepuff"}]
    for each in GENERATORS
    for unit in sorted(each.units & EDGE_WISE)
]


@pytest.mark.parametrize("length", [1, NODES])
@pytest.mark.parametrize(("generator", "unit"), FITTED)
def test_who_decides_later_noise_says_so(
    monkeypatch: pytest.MonkeyPatch, generator: Any, unit: Any, length: int
) -> None:
    """Counts, then degrees, are answered far too low, far too high and as they are."""
    params, graph = generator.Params(), graph_of(unit, "random", generator)
    plan = generator.plan(params, facts(generator, unit))
    true, seen, deciding = mechanisms.discrete_laplace, set(), False
    for shift in (-NODES * NODES, 0, NODES * NODES):

        def shifted(values: np.ndarray, *noise: Any, by: int = shift, **given: Any) -> np.ndarray:
            return true(values, *noise, **given) + (by if len(values) == length else 0)

        monkeypatch.setattr(mechanisms, "discrete_laplace", shifted)
        meter = Meter(plan, MemoryRecorder())
        generator.fit(PrivateGraph(graph, meter), plan, params, no_progress)
        relation = graph.schema.edge_types[0]
        asked = [each for each in meter.measurements if _times(each, relation) is not None]
        seen.add(tuple((each.step, each.query, len(each.parts), each.scale) for each in asked))
        deciding |= any(each.decides is not None for each in asked)
    assert deciding or len(seen) == 1
