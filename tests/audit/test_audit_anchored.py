"""anchored end to end on two neighbouring graphs: the measured epsilon stays under the printed one.

Audited output: every number and every reported pair that a fit is told, in a bipartite cell of one event and
in an undirected one of one edge. A model and each graph drawn from it are functions of these, of public facts
and of independent randomness, so they can only tell less; a drawn graph is audited too. Copies with half the
noise, or with coins of twice the epsilon, keep plan and transcript and must be caught.
"""

from collections.abc import Callable

import numpy as np
import pytest

from core.methods._shared.relations import fit as reads
from core.methods._shared.slots import evidence
from core.methods.anchored import GENERATOR
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.mechanisms import noise as mechanisms
from tests.support.auditing import SOUND, bounding, caught, in_both_forms
from tests.support.generating import drawn, graph_of
from tests.support.generating import fit as fitted

EPSILON = 1.0
CELLS = {
    "event": [graph_of(pairs, 1, steps=1, other=1) for pairs in ([(0, 0)], [])],
    "edge": [graph_of(pairs, 2) for pairs in ([(0, 1)], [])],
}
SHARES = {
    "degrees": {"evidence": "none"},
    "evidence": {"degree_share": 0.02, "evidence": "materialised"},
    "both": {"degree_share": 0.5, "evidence": "materialised"},
    "lazy": {"degree_share": 0.1, "evidence": "lazy"},
}


@pytest.fixture
def told(monkeypatch):
    """(value, its log ratio) of all that one fit puts out. What follows from it is left out, to save time."""
    outputs: list[tuple[np.ndarray, float]] = []
    laplace, measure = mechanisms.discrete_laplace, evidence.measure

    def listened(values, l1_sensitivity, nano_epsilon, **options):
        noisy = laplace(values, l1_sensitivity, nano_epsilon, **options)
        outputs.append((noisy, nano_epsilon / l1_sensitivity))
        return noisy

    def seen(cell, nano_epsilon, **how):
        columns = measure(cell, nano_epsilon, **how)
        outputs.append((np.array([answer(cell, columns)]), nano_epsilon))
        return columns

    monkeypatch.setattr(mechanisms, "discrete_laplace", listened)
    monkeypatch.setattr(evidence, "measure", seen)
    monkeypatch.setattr(reads, "fitted_sides", lambda noisy, *_, **__: noisy)
    return outputs


def answer(cell, columns) -> int:
    """What the evidence says of the only slot."""
    if "prf_key" not in columns:
        return len(columns["y"])
    from core.privacy.mechanisms.lazy_response import bits

    flips = evidence.flips_of(columns)
    ends = np.array([0]), np.array([1 if cell.shape.undirected else 0])
    return int(bits(columns["edge"], columns["prf_key"], flips, *ends, cell.shape)[0])


def measured(told, cell: str, params: dict) -> Callable[..., float]:
    def run(graph) -> np.ndarray:
        told.clear()
        fitted(GENERATOR, graph, EPSILON, **params)
        # An edge moves each number from 0 to 1; what lies beyond tells no more about it.
        values = [np.clip(value, 0, 1) for value, _ in told]
        together = sum(
            float(value.sum()) * weight / 1e9 for value, (_, weight) in zip(values, told, strict=True)
        )
        return np.array([together, *np.concatenate(values)])

    return bounding(run, *CELLS[cell])


@pytest.mark.parametrize("params", SHARES.values(), ids=SHARES.keys())
@pytest.mark.parametrize("cell", CELLS)
def test_a_fit(told, cell, params):
    assert measured(told, cell, params)(120) <= EPSILON


@in_both_forms
@pytest.mark.parametrize(("cell", "name"), [("edge", "degrees"), ("event", "evidence")])
def test_a_fit_with_half_the_noise_is_caught(double_epsilon, told, cell, name, part):
    """Its true epsilon is 2."""
    assert caught(measured(told, cell, SHARES[name]), EPSILON, 600, part)


def test_a_drawn_graph():
    """With or without the only edge that a cell can have."""

    def edges(graph) -> np.ndarray:
        return np.array([float(drawn(GENERATOR, graph, EPSILON, degree_share=0.5).edges["edge"].count)])

    found = audit_epsilon(repeated(edges), *CELLS["event"], runs=100, confidence=SOUND)
    assert found.lower_bound <= EPSILON


# Runs, and what they show of epsilon: where it is spread over several numbers, their rare agreement tells.
MANY = {"degrees": (12_000, 0.3), "evidence": (4_000, 0.4), "both": (20_000, 0.2), "lazy": (6_000, 0.4)}


@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("name", SHARES)
@pytest.mark.parametrize("cell", CELLS)
def test_many_runs(told, cell, name):
    """A sound fit is told apart, as well as so many runs can."""
    runs, least = MANY[name]
    assert least < measured(told, cell, SHARES[name])(runs) <= EPSILON
