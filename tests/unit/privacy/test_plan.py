import hashlib
import itertools
import json
import math
import random

import pytest

from core.errors import InvalidInput, NotAccepted
from core.privacy.accounting import plan as plans
from core.privacy.accounting.accountant import ORDERS
from core.privacy.accounting.events import (
    NANO,
    Composed,
    GaussianEvent,
    Parallel,
    PoissonSampled,
    Pure,
    Repeated,
    Unprotected,
)
from core.privacy.accounting.plan import Allotment, GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit

ATTO_DELTA = 10**12


def plan(unit, rows, *, window=None, steps=1, delta_atto=0):
    allotments = tuple(
        Allotment(kind, step, event if not isinstance(event, int) else Pure(event, "laplace"), "test")
        for kind, step, event in rows
    )
    return PrivacyPlan("test", unit, window, steps, allotments, delta_atto)


def differing_sets(unit, cells, window, steps):
    """Every maximal set of cells in which neighbours under the unit may differ, by enumeration."""
    untimed = [c for c in cells if c[1] is None]
    if unit in (Unit.EDGE, Unit.EVENT):
        return [{c} for c in cells]
    if unit in (Unit.PAIR, Unit.NODE):
        return [set(cells)]
    found = []
    for start in range(-window, steps + window):
        per_step = [[c for c in cells if c[1] == t] or [None] for t in range(start, start + window)]
        for choice in itertools.product(untimed or [None], *per_step):
            found.append({c for c in choice if c is not None})
    return found


@pytest.mark.parametrize("unit", list(Unit))
@pytest.mark.parametrize("seed", range(25))
def test_cost_against_enumeration(unit, seed):
    rng = random.Random(seed)
    steps = rng.randint(1, 6) if unit.temporal else 1
    window = rng.randint(1, 8) if unit is Unit.W_EVENT else None
    places = [("*" if unit is Unit.NODE else "a", None), ("rows:b", None)]
    if unit.temporal:
        places += [(kind, t) for kind in ("t", "u") for t in range(steps)]
    rows = [(*rng.choice(places), rng.randint(1, 100)) for _ in range(rng.randint(1, 15))]
    cells = {}
    for kind, step, nano in rows:
        cells[kind, step] = cells.get((kind, step), 0) + nano
    worst = max(sum(cells[c] for c in chosen) for chosen in differing_sets(unit, list(cells), window, steps))
    cost = plan(unit, rows, window=window, steps=steps).cost()
    assert cost.nano_epsilon == worst
    assert (cost.kind, cost.delta_atto) == (GuaranteeKind.PURE, 0)
    spend = plan(unit, rows, window=window, steps=steps).spend("basic", ())
    assert all(type(amount) is int for amount in spend.values())
    if unit is Unit.W_EVENT:
        sliding = [
            sum(spend.get(f"step/{t}", 0) for t in range(s, s + window))
            for s in range(-window, steps + window)
        ]
        assert spend["untimed"] + max(sliding) == worst
        assert [spend[f"step/{t}"] for t in range(steps)] == list(cost.per_step)
    else:
        assert spend == {"epsilon": worst, "delta": 0}


def test_a_window_longer_than_the_grid_takes_everything():
    rows = [("t", 0, 5), ("t", 2, 7), ("a", None, 11)]
    assert plan(Unit.W_EVENT, rows, window=50, steps=3).cost().nano_epsilon == 23


def test_approximate_cost_and_kind():
    sgd = Repeated(PoissonSampled(0.01, GaussianEvent(1.0)), 50)
    without = plan(Unit.EDGE, [("a", None, sgd), ("a", None, NANO // 10)])
    assert without.kind is GuaranteeKind.APPROXIMATE
    assert without.cost().nano_epsilon is None
    with pytest.raises(NotAccepted):
        without.spend("basic", ())
    named = plan(Unit.EDGE, [("a", None, sgd), ("a", None, NANO // 10)], delta_atto=ATTO_DELTA)
    alone = plan(Unit.EDGE, [("a", None, sgd)], delta_atto=ATTO_DELTA)
    assert alone.cost().nano_epsilon < named.cost().nano_epsilon
    assert named.spend("basic", ()) == {"epsilon": named.cost().nano_epsilon, "delta": ATTO_DELTA}


@pytest.mark.parametrize("unit", [Unit.EDGE, Unit.EVENT])
def test_an_edge_of_one_cell_pays_that_cell_alone(unit):
    """A pure cell costs its epsilon, not its curve's; the dearest cell's conversion is the plan's."""
    rows = [("a", None, 4 * NANO), ("b", None, GaussianEvent(2)), ("b", None, NANO // 10), ("c", None, 7)]
    steps = 1
    if unit.temporal:
        rows, steps = [*rows, ("t", 0, GaussianEvent(3)), ("t", 1, GaussianEvent(1))], 2

    def cost(chosen):
        return plan(unit, chosen, steps=steps, delta_atto=ATTO_DELTA).cost().nano_epsilon

    alone = [cost([row for row in rows if row[:2] == cell]) for cell in {row[:2] for row in rows}]
    assert 4 * NANO in alone
    assert cost(rows) == max(alone)
    assert cost([*rows, ("a", None, 90 * NANO)]) == 94 * NANO


def test_units_that_mix_cells_convert_the_sum():
    rows = [("t", 0, GaussianEvent(2)), ("t", 1, GaussianEvent(2))]
    both = plan(Unit.PAIR, rows, steps=2, delta_atto=ATTO_DELTA).cost().nano_epsilon
    twice = plan(Unit.EVENT, [("t", 0, Composed((GaussianEvent(2),) * 2))], steps=2, delta_atto=ATTO_DELTA)
    assert both == twice.cost().nano_epsilon
    assert both > plan(Unit.EVENT, rows, steps=2, delta_atto=ATTO_DELTA).cost().nano_epsilon


def test_gaussian_cost_matches_the_textbook():
    """RDP of sigma = 5 at delta 1e-6: epsilon below the classical conversion and above the exact 0.92."""
    nano = plan(Unit.EDGE, [("a", None, GaussianEvent(5))], delta_atto=ATTO_DELTA).cost().nano_epsilon
    classical = 1 / 50 + 2 * math.sqrt(math.log(1e6) / 50)
    assert 0.85 * NANO < nano <= classical * NANO


def test_parallel_branches_cost_their_maximum():
    event = Parallel((Pure(5, "x"), Composed((Pure(3, "x"), Pure(4, "x")))))
    assert plan(Unit.EDGE, [("a", None, event)]).cost().nano_epsilon == 7


def test_renyi_spend_rounds_up_and_covers_every_split():
    rows = [("a", None, NANO // 10)] * 3
    split = plan(Unit.EDGE, rows).spend("renyi", ORDERS)
    whole = plan(Unit.EDGE, [("a", None, 3 * (NANO // 10))]).spend("renyi", ORDERS)
    assert split == whole
    assert set(split) == {f"rdp/{a}" for a in ORDERS}
    assert whole["rdp/2"] >= 0.09 * NANO
    assert whole["rdp/1024"] >= 0.3 * NANO
    assert whole["rdp/1024"] <= 0.3 * NANO + 2


def test_renyi_follows_the_unit():
    rows = [("t", 0, GaussianEvent(2)), ("t", 1, GaussianEvent(1))]
    event = plan(Unit.EVENT, rows, steps=2).spend("renyi", (2, 4))
    pair = plan(Unit.PAIR, rows, steps=2).spend("renyi", (2, 4))
    assert event["rdp/4"] == pytest.approx(2 * NANO, abs=2)
    assert pair["rdp/4"] == pytest.approx(2.5 * NANO, abs=2)


def test_refusals_of_spend():
    pure = plan(Unit.EDGE, [("a", None, 5)])
    for filter, orders in (("zcdp", ()), ("renyi", ())):
        with pytest.raises(InvalidInput):
            pure.spend(filter, orders)
    window = plan(Unit.W_EVENT, [("t", 0, 5)], window=2, steps=2)
    with pytest.raises(NotAccepted):
        window.spend("renyi", ORDERS)
    raw = plan(Unit.EDGE, [("*", None, Unprotected("paper"))])
    assert raw.cost().kind is GuaranteeKind.NONE
    assert raw.cost().nano_epsilon is None
    with pytest.raises(NotAccepted):
        raw.spend("basic", ())


@pytest.mark.parametrize(
    ("unit", "rows", "options"),
    [
        (Unit.EDGE, [], {}),
        (Unit.EDGE, [("a", 0, 5)], {}),
        (Unit.EVENT, [("a", 3, 5)], {"steps": 3}),
        (Unit.EVENT, [("a", 0, 5)], {"steps": 3, "window": 2}),
        (Unit.W_EVENT, [("a", 0, 5)], {"steps": 3}),
        (Unit.W_EVENT, [("a", 0, 5)], {"steps": 3, "window": 0}),
        (Unit.EDGE, [("a", None, 5)], {"steps": 0}),
        (Unit.EDGE, [("a", None, 5)], {"delta_atto": -1}),
        (Unit.EDGE, [("a", None, 5)], {"delta_atto": math.nan}),
        (Unit.EDGE, [("a", None, 0)], {}),
        (Unit.EDGE, [("a", None, -5)], {}),
        (Unit.EDGE, [("a", True, 5)], {}),
        (Unit.EDGE, [("", None, 5)], {}),
        (Unit.EDGE, [("*", None, 5)], {}),
        (Unit.EDGE, [("a", None, Unprotected("why"))], {}),
        (Unit.EDGE, [("a", None, None)], {}),
    ],
)
def test_bad_plans_are_refused(unit, rows, options):
    with pytest.raises(InvalidInput):
        plan(unit, rows, **options)


def test_json_and_digest():
    rows = [("t", 1, Parallel((Pure(1, "x"), Pure(2, "y")))), ("a", None, GaussianEvent(1.5))]
    first = plan(Unit.PAIR, rows, steps=4, delta_atto=7)
    again = PrivacyPlan.from_json(first.to_json())
    assert again == first
    assert again.digest() == first.digest()
    assert len(first.digest()) == 64
    other = plan(Unit.PAIR, rows, steps=5, delta_atto=7)
    assert other.digest() != first.digest()
    for broken in (None, {}, {**first.to_json(), "unit": "node"}, {**first.to_json(), "extra": 1}):
        with pytest.raises(InvalidInput):
            PrivacyPlan.from_json(broken)


def by_the_book(found):
    """The digest as it is defined: SHA-256 of the whole canonical JSON."""
    text = json.dumps(found.to_json(), sort_keys=True, separators=(",", ":"), ensure_ascii=True)
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize("cells", [1, 2, 4095, 4096, 4097, 9000])
def test_a_digest_that_is_written_in_parts_is_that_of_the_whole(cells):
    mixed = [Pure(7, "laplace"), GaussianEvent(1.5), Pure(7, "laplace")]
    rows = tuple(
        Allotment('"allotments":[]\\ é' if t % 2 else "edge", t or None, mixed[t % 3], f"purpose {t % 5}")
        for t in range(cells)
    )
    found = PrivacyPlan('m "allotments":[]', Unit.EVENT, None, cells, rows, ATTO_DELTA)
    assert found.digest() == by_the_book(found)
    stored = PrivacyPlan.from_json(json.loads(json.dumps(found.to_json())))
    assert (stored, stored.digest()) == (found, found.digest())


def test_a_digest_of_an_earlier_version_stands():
    """Stored plans are verified by it: no version may compute another."""
    rows = tuple(Allotment("edge", step, Pure(10**9, "laplace"), "count") for step in range(3))
    digest = PrivacyPlan("keyframe", Unit.W_EVENT, 2, 3, rows).digest()
    assert digest == "ed31faf9171058a2f4bd341710674cedeccce0af78a3b08f455e1a9c5750752b"


def test_alike_cells_share_their_event_and_are_looked_at_once(monkeypatch):
    rows = tuple(Allotment("edge", step, Pure(10**9, "laplace"), "count") for step in range(500))
    stored = PrivacyPlan.from_json(PrivacyPlan("m", Unit.PAIR, None, 500, rows).to_json())
    assert len({id(each.event) for each in stored.allotments}) == 1
    looks = []
    look = plans.pure_nano_epsilon
    monkeypatch.setattr(plans, "pure_nano_epsilon", lambda event: looks.append(event) or look(event))
    assert stored.cost().nano_epsilon == 500 * 10**9
    assert len(looks) <= 2


def test_a_plan_is_divided_by_what_it_is_granted_for():
    one, other = (Allotment("a", None, Pure(NANO, "laplace"), purpose) for purpose in ("edges", "values"))
    whole = PrivacyPlan("test", Unit.EDGE, None, 1, (one, other))
    assert whole.only("values").allotments == (other,)
    assert whole.only("values", "edges") == whole.without("nothing") == whole
    assert whole.without("values").allotments == (one,)
    assert whole.without("values").cost().nano_epsilon == NANO
    with pytest.raises(InvalidInput):
        whole.only("nothing")
