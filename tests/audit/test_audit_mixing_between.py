"""The counts of a relation between two types by both ends' values, measured on two neighbours.

A user who rates everything is of another country, an item that all rate of another topic, and one edge more
of first priority. A copy that charges for caps and counts every edge must be caught on either side, and so
must one that caps users alone. Half the noise of the read: ``test_every_read``.
"""

from __future__ import annotations

import numpy as np
import pytest

from core.graphs.graph import Graph
from core.privacy.accounting.audit import audit_epsilon, repeated
from core.privacy.accounting.events import Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan, rows_of
from core.privacy.reads import mixing_between
from core.privacy.reads.mixing_between import Side
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from tests.support.auditing import SOUND, caught, in_both_forms
from tests.support.two_types import rated

EPSILON, NANO, MANY = 1.0, 10**9, 10
CELLS = ("rated", rows_of("user"), rows_of("item"))
PLAN = PrivacyPlan(
    "audit", Unit.EDGE, None, 1, tuple(Allotment(each, None, Pure(NANO, "audit"), "audit") for each in CELLS)
)
OUT, IN = [(0, item) for item in range(MANY)], [(user, 0) for user in range(MANY)]
SAME = (0,) * MANY
USERS = rated(OUT, (0,), SAME), rated(OUT, (1,), SAME)
ITEMS = rated(IN, SAME, (0,)), rated(IN, SAME, (1,))
EDGES = rated([(0, 0)], (0,), SAME), rated([], (0,), SAME)


def measured(pair: tuple[Graph, Graph], cap: int):
    def counts(graph: Graph) -> np.ndarray:
        reads = PrivateGraph(graph, Meter(PLAN, MemoryRecorder())).mixing_between("rated")
        sides = (Side(name, np.arange(2), cap, NANO) for name in ("country", "topic"))
        return reads.read(*sides, edge_nano_epsilon=NANO, purpose="audit").ravel()

    def bound(runs: int, confidence: float) -> float:
        return audit_epsilon(repeated(counts), *pair, runs=runs, confidence=confidence).lower_bound

    return bound


LATER = pytest.mark.slow


@pytest.mark.parametrize(
    "pair", [USERS, pytest.param(ITEMS, marks=LATER), EDGES], ids=["user", "item", "edge"]
)
def test_the_charged_epsilon_holds(pair: tuple[Graph, Graph]):
    assert measured(pair, 1)(400, SOUND) <= EPSILON


@in_both_forms
@pytest.mark.parametrize("pair", [pytest.param(USERS, marks=LATER), ITEMS], ids=["user", "item"])
def test_a_side_that_is_not_capped_is_caught(
    pair: tuple[Graph, Graph], monkeypatch: pytest.MonkeyPatch, part: int
):
    monkeypatch.setattr(mixing_between, "among_first", lambda nodes, *_: np.ones(len(nodes), dtype=bool))
    assert caught(measured(pair, 1), EPSILON, 400, part)


@pytest.mark.slow
def test_a_cap_of_users_alone_is_caught(monkeypatch: pytest.MonkeyPatch):
    crossed = mixing_between.crossed

    def by_user(ends, groups, shape, caps, priority):
        return crossed(ends, groups, shape, (caps[0], None), priority)

    monkeypatch.setattr(mixing_between, "crossed", by_user)
    assert caught(measured(ITEMS, 1), EPSILON, 1000)
