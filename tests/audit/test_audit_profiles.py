"""``profiles`` on two neighbours: one person's twelve edges, replaced by twelve others.

Audited output: the log ratio of every noisy vector that a fit is told, along the line between both graphs'
true vectors. A model is a function of these, of public facts and of chance, so it can only tell less. Copies
with a quarter of the noise, and with vectors that are not clipped, keep plan and transcript and must be
caught. Half the noise of each read by itself: ``test_every_read``.
"""

import math
from collections.abc import Callable

import numpy as np
import pytest

from core.graphs.graph import Graph
from core.methods.base import PublicFacts, no_progress
from core.methods.profiles import GENERATOR, ProfilesParams, fit
from core.privacy.accounting.events import NANO
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.mechanisms import samplers
from core.privacy.reads import people_things
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import bounding, caught, in_both_forms
from tests.support.replaced_persons import PLAIN, built, schema_of

EPSILON, DELTA_ATTO = 1.0, 10**16
SCHEMA = schema_of(PLAIN, films=24, persons=2)
NOBODY = {"owns": frozenset()}
PAIR = [
    built(SCHEMA, [NOBODY, {"owns": frozenset((film, 0) for film in films)}])
    for films in (range(12), range(12, 24))
]
PARAMS = ProfilesParams.varied(total_share=1.0, degree_share=0.02, clip_quantile=0.01)


def told(graph: Graph, patch: pytest.MonkeyPatch) -> np.ndarray:
    """How far along the line between both graphs' true sums the noisy ones lie, by the noise that was
    paid."""
    ratios: list[float] = []
    true = people_things.PeopleAndThings.thing_totals

    def heard(self, relation, **given):
        found = true(self, relation, **{**given, "bound": 1})
        along = found.values[:12, 0].sum() - found.values[12:, 0].sum()
        ratios.append(float(along) / math.sqrt(24) / found.deviation)
        return found

    patch.setattr(people_things.PeopleAndThings, "thing_totals", heard)
    facts = PublicFacts(SCHEMA, Unit.NODE, None, int(EPSILON * NANO), DELTA_ATTO, ("owns",))
    plan = GENERATOR.plan(PARAMS, facts)
    meter = Meter(plan, MemoryRecorder())
    GENERATOR.fit(PrivateGraph(graph, meter), plan, PARAMS, no_progress)
    assert guarantee_of(plan, meter.transcript, DELTA_ATTO).epsilon <= EPSILON
    return np.array(ratios)


@pytest.fixture
def measured(monkeypatch: pytest.MonkeyPatch) -> Callable[..., float]:
    monkeypatch.setattr(fit, "gaussian_law", lambda noisy, *_: _Flat())  # of what follows from the reads

    def run(graph: Graph) -> np.ndarray:
        with pytest.MonkeyPatch.context() as patch:
            return told(graph, patch)

    return bounding(run, *PAIR, delta=DELTA_ATTO / 1e18)


class _Flat:
    def quantiles(self, nodes: int) -> np.ndarray:
        return np.ones(nodes)


def test_a_fit_holds_its_epsilon(measured):
    assert measured(400) <= EPSILON


@in_both_forms
def test_a_quarter_of_the_noise_is_caught(measured, monkeypatch, part):
    true = samplers.add_discrete_gaussian_wide
    monkeypatch.setattr(
        samplers,
        "add_discrete_gaussian_wide",
        lambda rng, values, scale: true(rng, values, max(1, scale // 4)),
    )
    assert caught(measured, EPSILON, 400, part)


def test_vectors_that_are_not_clipped_are_caught(measured, monkeypatch):
    """Twelve edges count as twelve: the root of 12 times what one person may."""
    monkeypatch.setattr(
        people_things,
        "clipped_weights",
        lambda squared, bound, radius: np.full(len(squared), math.isqrt(radius**2 // bound)),
    )
    assert caught(measured, EPSILON, 400)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_runs(measured):
    assert 0.3 < measured(20_000) <= EPSILON
