"""Lazy randomised response, neighbour sums and the static recipe, on neighbours: measured epsilon under
stated.

A copy with half the noise must be caught by the same audit. Slots (rows) of one large cell are independent,
so one call runs a mechanism on as many copies of a neighbour as there are slots (rows).
"""

from functools import partial

import numpy as np
import pytest

from core.graphs.graph import Cell, EdgeTable, Graph, NodeTable
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods._shared.relations import static
from core.methods._shared.relations.budget import STATIC_SHARE, static_shares
from core.methods.anchored import AnchoredParams
from core.privacy.accounting.accountant import ORDERS, nano_epsilon
from core.privacy.accounting.audit import audit_epsilon
from core.privacy.accounting.divergences import rdp
from core.privacy.accounting.events import NANO, GaussianEvent, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.mechanisms import aggregation
from core.privacy.mechanisms import noise as mechanisms
from core.privacy.mechanisms.lazy_response import bits, respond
from core.privacy.mechanisms.randomised_response import Flips
from core.privacy.queries import Shape
from core.privacy.session.private_graph import PrivateCell, PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import SOUND, bounding, caught, in_both_forms

RELATION = EdgeType(source="row", target="column", directed=True)


def copies(present: int, count: int) -> tuple[Shape, np.ndarray, np.ndarray]:
    """A cell of ``count`` slots, one in each row: all of them edges, or none."""
    rows = np.arange(count if present else 0)
    return Shape(RELATION, count, 1), rows, np.zeros(len(rows), dtype=np.int64)


@pytest.mark.parametrize("factor", [1, 2])
def test_a_lazy_answer(factor):
    def run(present, count):
        shape, source, target = copies(present, count)
        response = respond(source, target, shape, None, Flips.symmetric(factor * NANO), count)
        slots = np.arange(count), np.zeros(count, dtype=np.int64)
        return bits(response.edge, response.prf_key, response.flips, *slots, shape).astype(float)[:, None]

    bound = audit_epsilon(run, 1, 0, runs=200_000, confidence=SOUND).lower_bound
    assert 0.9 < bound <= 1.0 if factor == 1 else bound > 1.0


def neighbour_sum(multiplier, runs, confidence):
    """The measured epsilon of one sum at delta 1e-3."""

    def run(present, count):
        shape, source, target = copies(present, count)
        question = aggregation.question_of(shape, np.ones((1, 1)), "source", multiplier)
        cell = Cell(RELATION, None, count, 1, source, target)
        return aggregation.noisy_sums([cell], question)

    return audit_epsilon(run, 1, 0, runs=runs, confidence=confidence, delta=1e-3).lower_bound


def test_a_neighbour_sum():
    """sigma = 1 claims its own epsilon at delta 1e-3; half the noise breaks that claim."""
    claimed = nano_epsilon(rdp(GaussianEvent(1), ORDERS), 10**15) / NANO
    assert neighbour_sum(1.0, 60_000, SOUND) <= claimed
    assert caught(partial(neighbour_sum, 0.5), claimed, 60_000)


def small_graph(pairs):
    ends = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    kinds = (NodeType(name="row", count=2), NodeType(name="column", count=1))
    schema = GraphSchema(node_types=kinds, edge_types=(RELATION,))
    nodes = {"row": NodeTable(2), "column": NodeTable(1)}
    return Graph.build(schema, nodes, {RELATION.name: EdgeTable(ends[:, 0], ends[:, 1])})


EPSILON = 2.0
PAIR = small_graph([(0, 0)]), small_graph([])


@pytest.fixture
def told(monkeypatch):
    """What the reads of one fit put out, in order. What follows from them alone is left out, to save time."""
    outputs = []
    monkeypatch.setattr(static, "to_total", lambda noisy, *_, **__: np.zeros(len(noisy)))
    monkeypatch.setattr(mechanisms, "OPENDP_VALUES", -1)  # the compiled kernels: faster, audited elsewhere

    def noted(read):
        def run(cell, *arguments, **options):
            found = read(cell, *arguments, **options)
            # Of the slots that came out present, a bit for each row.
            outputs.append(np.isin([0, 1], found[0]) if isinstance(found, tuple) else found)
            return found

        return run

    for name in ("laplace", "randomised_response"):
        monkeypatch.setattr(PrivateCell, name, noted(getattr(PrivateCell, name)))
    return outputs


def measured(told, share=STATIC_SHARE):
    def run(graph):
        told.clear()
        nano = int(EPSILON * NANO)
        plan = PrivacyPlan("t", Unit.EDGE, None, 1, (Allotment("edge", None, Pure(nano, "any"), "x"),))
        cell = PrivateGraph(graph, Meter(plan, MemoryRecorder())).cell("edge", None)
        parts = static_shares(cell.shape, nano, 1, AnchoredParams(degree_share=share))
        static.fit(cell, parts, np.random.default_rng(0))
        degree, histogram, *answers = told
        column, empty = np.clip(degree, 0, 1), np.clip(histogram[:1], 1, 2)
        shown = answers[0][:1] if answers else np.zeros(1)
        # An edge moves each number by one, and weighs what its read has paid for; the histogram's twice.
        best = (parts.evidence * shown + parts.columns * column - parts.sizes / 2 * empty) / nano
        return np.concatenate([best, *answers, column, empty]).astype(float)

    return bounding(run, *PAIR)


def test_the_static_recipe(told):
    assert 0.2 < measured(told)(800) <= EPSILON


def test_the_static_recipe_without_evidence(told):
    assert measured(told, share=1.0)(400) <= EPSILON


@in_both_forms
@pytest.mark.parametrize("share", [STATIC_SHARE, 1.0])
def test_the_static_recipe_with_half_the_noise_is_caught(double_epsilon, told, share, part):
    assert caught(measured(told, share), EPSILON, 400, part)
