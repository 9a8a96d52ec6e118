"""dcsbm end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

Audited output: every number that a fit is told, the streamed rows of both readings among them. A model and
each graph drawn from it are functions of these, of public facts and of independent randomness, so they can
only tell less. Both nodes lie in the core and there is one label: the case where the edge moves most of the
numbers, in the degrees, in both readings, in the block count and in the product sum. The reads without
labels, the number of edges and the degree tails among them, are heard by themselves. A copy that adds half
the noise, with the same plan and transcript, must be caught, and so must one whose two readings of the core
cost the full price each.
"""

from collections.abc import Callable

import numpy as np
import pytest

from core.methods.dcsbm import GENERATOR, DCSBMParams
from core.methods.dcsbm import fit as reads
from core.privacy.mechanisms import label_stream
from core.privacy.session.private_graph import PrivateCell
from tests.support import metered_outputs
from tests.support.auditing import SOUND, bounding, caught, in_both_forms
from tests.support.metered_outputs import fit_static, static_graph

EPSILON = 2.0
# Two nodes have no triangle and next to nothing to tell in their degree product: little is spent there.
LABELS = DCSBMParams.varied(
    groups=1,
    core=1,
    degree_share=0.05,
    block_share=0.02,
    tail_share=0,
    count_share=0,
    clustering_share=0,
    triangle_share=0.005,
    product_share=0.005,
)
DEGREES = LABELS.model_copy(update={"degree_share": 0.92, "block_share": 0.04})
PAIR = static_graph(2, [(0, 1)]), static_graph(2, [])


@pytest.fixture
def told(monkeypatch):
    """What the reads of one fit put out, in order. What follows from them alone is left out, to save time."""
    outputs = []
    monkeypatch.setattr(reads, "seen_edges", lambda *_: None)
    monkeypatch.setattr(reads, "degree_law", lambda *_: None)
    monkeypatch.setattr(reads, "fitted_degrees", lambda noisy, *_, **__: noisy)
    for name in ("laplace", "triangle_count", "degree_product_sum", "label_stream"):
        monkeypatch.setattr(PrivateCell, name, noted(getattr(PrivateCell, name), outputs))
    return outputs


def noted(read, outputs):
    def run(cell, *arguments, **options):
        found = read(cell, *arguments, **options)
        if isinstance(found, label_stream.LabelStream):
            earlier, later = options["order"]  # noisy too; the other two rows hold noise alone
            outputs.append(np.array([found.forward[later, 0], found.backward[earlier, 0]]))
        else:
            outputs.append(found)
        return found

    return run


def measured(told, params: DCSBMParams) -> Callable[..., float]:
    label = 1 - params.degree_share - params.block_share - params.triangle_share - params.product_share
    first, second = label * params.forward_share, label * (1 - params.forward_share)
    prices = [params.degree_share / 2] * 2 + [first, second] + [params.block_share]

    def run(graph) -> np.ndarray:
        told.clear()
        fit_static(GENERATOR, params, graph, EPSILON)
        degrees, rows, blocks, _, _ = (np.atleast_1d(values) for values in told)
        # An edge moves each number from 0 to 1; what lies beyond tells no more about it.
        bits = np.clip(np.concatenate([degrees, rows, blocks]), 0, 1)
        return np.array([bits @ prices, bits.sum(), *bits])

    return bounding(run, *PAIR)


@pytest.mark.parametrize("params", [LABELS, DEGREES], ids=["labels", "degrees"])
def test_a_fit(told, params):
    assert measured(told, params)(200) <= EPSILON


@in_both_forms
@pytest.mark.parametrize(
    "params", [pytest.param(LABELS, marks=pytest.mark.slow), DEGREES], ids=["labels", "degrees"]
)
def test_a_fit_with_half_the_noise_is_caught(told, half_noise, params, part):
    """Its true epsilon is nearly 4."""
    assert caught(measured(told, params), EPSILON, 900, part)


def test_two_readings_at_the_full_price_each_are_caught(told, monkeypatch):
    """The true epsilon of the labels alone is then nearly twice their share."""
    monkeypatch.setattr(label_stream, "split", lambda nano_epsilon, rule: (nano_epsilon, nano_epsilon))
    assert caught(measured(told, LABELS), EPSILON, 900)


# Without labels: number of edges, degrees, tails, block. The ladders have audits of their own.
UNLABELLED = DCSBMParams(
    groups=1,
    degree_share=0.5,
    tail_share=0.4,
    count_share=0.04,
    block_share=0.02,
    triangle_share=0.005,
    clustering_share=0.005,
    product_share=0.005,
)


@pytest.fixture
def quick(monkeypatch):
    """What follows from noisy values alone is left out, to save time."""
    monkeypatch.setattr(reads, "law_with_tails", lambda *_: None)
    monkeypatch.setattr(reads, "fitted_degrees", lambda noisy, *_, **__: noisy)


def heard(runs: int, confidence: float = SOUND) -> float:
    return metered_outputs.measured(GENERATOR, UNLABELLED, EPSILON, runs, confidence)


def test_a_fit_without_labels(quick):
    assert heard(300) <= EPSILON


@pytest.mark.slow  # half a minute; other mistakes are caught in every run of the suite
def test_a_fit_without_labels_at_half_the_noise_is_caught(quick, half_noise):
    assert caught(heard, EPSILON, 900)


@pytest.mark.slow
@pytest.mark.parametrize("params", [LABELS, DEGREES], ids=["labels", "degrees"])
def test_many_runs(told, params):
    assert 0.5 < measured(told, params)(6_000) <= EPSILON
