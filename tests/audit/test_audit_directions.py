"""``anchored`` with directions on two neighbouring graphs: one event of one film, or none.

Audited output: every noisy number that a fit is told, and of each pass the log ratio of its noisy sums given
the coordinates that it sent out. A score is a function of these, of public facts and of chance, so it can
only tell less. A copy with a hundredth of the passes' noise keeps plan and transcript and must be
caught; the numbers' noise is audited without directions.
"""

from collections.abc import Callable

import numpy as np
import pytest

from core.methods.anchored import GENERATOR, AnchoredParams, spectral
from core.methods.anchored.passes import PASSES
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.guarantee import guarantee_of
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import bounding, caught, in_both_forms
from tests.support.generating import NANO, graph_of

EPSILON, DELTA_ATTO = 1.0, 10**15
PAIR = [graph_of(pairs, 1, steps=1, other=1) for pairs in ([(0, 0)], [])]
PARAMS = AnchoredParams(spectral=True, evidence="none")


def told(graph) -> np.ndarray:
    """The log ratio of all that one fit is told, together, of its numbers and of its passes."""
    numbers: list[float] = []
    passes: list[float] = []
    laplace, aggregate = mechanisms.discrete_laplace, PrivateGraph.aggregate

    def listened(values, l1_sensitivity, nano_epsilon, **options):
        noisy = laplace(values, l1_sensitivity, nano_epsilon, **options)
        numbers.append(float(np.clip(noisy, 0, 1).sum()) * nano_epsilon / l1_sensitivity / NANO)
        return noisy

    def seen(self, features, **options):
        sums = aggregate(self, features, **options)
        along = float(sums[0] @ features[0]) - float(features[0] @ features[0]) / 2
        passes.append(along / float(options["noise_multiplier"]) ** 2)
        return sums

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(mechanisms, "discrete_laplace", listened)
        patch.setattr(PrivateGraph, "aggregate", seen)
        patch.setattr(spectral, "ROUNDS", 1)  # of what follows from the reads
        facts = PublicFacts(graph.schema, Unit.EVENT, None, int(EPSILON * NANO), DELTA_ATTO, ("edge",))
        plan = GENERATOR.plan(PARAMS, facts)
        meter = Meter(plan, MemoryRecorder())
        GENERATOR.fit(PrivateGraph(graph, meter), plan, PARAMS, no_progress)
    assert len(passes) == PASSES
    assert guarantee_of(plan, meter.transcript, DELTA_ATTO).epsilon <= EPSILON
    return np.array([sum(numbers) + sum(passes), sum(numbers), *passes])


@pytest.fixture
def measured() -> Callable[..., float]:
    return bounding(told, *PAIR, delta=DELTA_ATTO / 1e18)


def test_a_fit_holds_its_epsilon(measured):
    assert measured(100) <= EPSILON


@in_both_forms
def test_passes_with_a_hundredth_of_the_noise_are_caught(measured, divide_gaussian_noise, part):
    divide_gaussian_noise(100)
    assert caught(measured, EPSILON, 100, part)


@pytest.mark.slow
@pytest.mark.timeout(1800)
def test_many_runs(measured):
    assert measured(4_000) <= EPSILON
