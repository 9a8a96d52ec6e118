"""The ladder and the product sum by themselves, and degree_triangle end to end, on neighbouring graphs."""

from functools import partial

import numpy as np
import pytest

from core.methods._shared.triangles import draw as drawing
from core.methods.degree_triangle import GENERATOR, DegreeTriangleParams
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.accounting.events import NANO
from core.privacy.mechanisms import ladder as ladder_module
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms.ladder import ladder
from core.privacy.mechanisms.product_sum import degree_product_sum
from core.privacy.mechanisms.triangle_kernels import triangles_and_common
from core.privacy.queries import Shape
from tests.support.auditing import SOUND, caught
from tests.support.metered_outputs import fit_static, static_graph

NODES = 5
# A ring, and a chord that closes one triangle: of all graphs of five nodes, where the ladder tells most.
RING, CHORD = [(0, 3), (0, 4), (1, 2), (1, 4), (2, 3)], (0, 1)
WITHOUT, WITH = static_graph(NODES, RING), static_graph(NODES, [CHORD, *RING])


def counted(graph):
    table = graph.edges["edge"]
    at_nodes, most_common = triangles_and_common(table.source, table.target, NODES)
    return int(at_nodes.sum()) // 3, most_common


@pytest.mark.parametrize("factor", [1, 2])
def test_the_ladder(factor):
    """``factor`` 2 asks for half the noise: the broken copy."""
    rng, epsilon = np.random.default_rng(20260101), 2.0

    def run(graph, count):
        told = counted(graph)
        drawn = [ladder(*told, NODES, int(epsilon * NANO) * factor, rng=rng) for _ in range(count)]
        return np.array(drawn)[:, None]

    bound = audit_epsilon(run, WITH, WITHOUT, runs=20_000, confidence=SOUND).lower_bound
    assert 0.5 < bound <= epsilon if factor == 1 else bound > epsilon


def test_a_local_sensitivity_of_linked_pairs_alone_is_caught():
    """Two nodes that share six others, linked or not: unlinked, no linked pair shares a neighbour, and rungs
    too narrow tell that the six triangles are absent."""
    rng, epsilon = np.random.default_rng(20260101), 2.0

    def run(numbers, count):
        drawn = [ladder(*numbers, 8, int(epsilon * NANO), rng=rng) for _ in range(count)]
        return np.array(drawn)[:, None]

    def measured(runs, confidence):
        return audit_epsilon(run, (6, 6), (0, 0), runs=runs, confidence=confidence).lower_bound

    assert caught(measured, epsilon, 5_000)


@pytest.mark.parametrize("factor", [1, 2])
def test_the_product_sum(factor):
    """The edge between the two nodes of largest noisy degree moves the sum by all of its sensitivity."""
    rng, epsilon = np.random.default_rng(20260101), 1.0
    noisy = np.array([9, 7, 2, -3, 1])
    shape = Shape(WITH.schema.edge_type("edge"), NODES, NODES)
    question = degree_product_sum(shape, noisy_degrees=noisy)

    def run(graph, count):
        values = np.repeat(question.measure(graph.cell("edge", None)), count)
        nano = int(epsilon * NANO) * factor
        return mechanisms.discrete_laplace(values, question.l1_sensitivity, nano, rng=rng)[:, None]

    bound = audit_epsilon(run, WITH, WITHOUT, runs=60_000, confidence=SOUND).lower_bound
    assert 0.85 < bound <= epsilon if factor == 1 else bound > epsilon


@pytest.fixture
def told(monkeypatch):
    """A run of the whole generator that gives everything the meter let out."""
    seen: list[np.ndarray] = []
    noise, climb = mechanisms.discrete_laplace, ladder_module.ladder

    def listened(values, l1_sensitivity, nano_epsilon, **options):
        seen.append(noise(values, l1_sensitivity, nano_epsilon, **options))
        return seen[-1]

    def climbed(count, most_common, nodes, nano_epsilon, **options):
        seen.append(np.array([climb(count, most_common, nodes, nano_epsilon, **options)]))
        return int(seen[-1][0])

    monkeypatch.setattr(mechanisms, "discrete_laplace", listened)
    monkeypatch.setattr(ladder_module, "ladder", climbed)
    monkeypatch.setattr(mechanisms, "OPENDP_VALUES", -1)  # the compiled sampler: faster
    # What follows from noisy degrees tells no more than they do.
    monkeypatch.setattr(drawing, "fitted_degrees", lambda noisy, *_, **__: np.maximum(noisy, 0.0))

    def run(graph):
        seen.clear()
        fit_static(GENERATOR, PARAMS, graph, EPSILON)
        edges, degrees, tails, triangles, products = seen
        # Only the two ends of the chord differ, each by one; what lies beyond tells no more about it.
        bits = np.clip(np.concatenate([edges - len(RING), degrees[:2] - 2, triangles]), 0, 1)
        weights = np.array([SHARES[0], SHARES[1] / 2, SHARES[1] / 2, SHARES[2] / 2])
        # Thresholds follow from noisy degrees, and may be one or several: their sum is looked at.
        return np.concatenate([[bits @ weights], bits, [tails.sum()], products])

    return run


# Most goes to the degrees, both of whose entries tell: what few runs can show is one part's epsilon.
EPSILON, SHARES = 2.5, (0.05, 0.83, 0.05)
PARAMS = DegreeTriangleParams(
    count_share=SHARES[0], tail_share=0.02, triangle_share=SHARES[2], product_share=0.05
)


def measured(told, runs: int, confidence: float = SOUND) -> float:
    return audit_epsilon(repeated(told), WITH, WITHOUT, runs=runs, confidence=confidence).lower_bound


def test_the_noise_is_enough(told):
    assert measured(told, 400) <= EPSILON


@pytest.mark.slow
def test_half_the_noise_is_caught(half_noise, told):
    """Its true epsilon is 5."""
    assert caught(partial(measured, told), EPSILON, 500)


@pytest.mark.slow
def test_many_runs(told):
    assert 0.5 < measured(told, 4_000) <= EPSILON
