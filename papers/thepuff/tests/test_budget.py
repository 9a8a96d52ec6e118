"""How a cell of THEPUFF divides its epsilon."""

from fractions import Fraction

import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters

from core import errors
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods.base import PublicFacts
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.units import Unit
from papers.thepuff import budget
from papers.thepuff.budget import DEGREES, FLIPS, STATIC, UTILITY, granted, make_plan, rate
from papers.thepuff.params import ThepuffParams

NANO, DELTA = 10**9, 10**12
SCHEMA = GraphSchema(
    node_types=(NodeType(name="user", count=900), NodeType(name="film", count=1600)),
    edge_types=(
        EdgeType(name="sees", source="user", target="film", directed=True, temporal=True),
        EdgeType(name="knows", source="user", target="user"),
    ),
    time=TimeGrid(count=3),
)


def planned(epsilon: float, delta: int = DELTA, names=("sees", "knows"), **params):
    facts = PublicFacts(SCHEMA, Unit.EVENT, None, int(epsilon * NANO), delta, names)
    return make_plan("thepuff", ThepuffParams(**{"utility": True} | params), facts)


@pytest.mark.parametrize("bias", ["paid", "hat"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_another_accountant_finds_no_more(epsilon, bias):
    """Privacy loss distributions of a cell's own events: closer than Renyi orders, and never above them."""
    found = granted(planned(epsilon, bias=bias, names=("sees",)))
    assert found.training is not None
    grid = {"value_discretization_interval": 1e-3}
    loss = pld.from_gaussian_mechanism(
        float(found.training.noise_multiplier), sampling_prob=float(found.training.rate), **grid
    ).self_compose(found.training.steps)
    for nano in (found.flips["sees", 0], found.degrees["sees", 0]):
        loss = loss.compose(
            pld.from_privacy_parameters(DifferentialPrivacyParameters(nano / NANO, 0.0), **grid)
        )
    assert 0.5 * epsilon < loss.get_epsilon_for_delta(DELTA / 1e18) <= epsilon


@pytest.mark.parametrize("bias", ["paid", "hat"])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.0, 4.0, 8.0])
def test_the_plan_costs_what_was_asked_and_no_more(epsilon, bias):
    cost = planned(epsilon, bias=bias).cost()
    assert cost.kind is GuaranteeKind.APPROXIMATE
    assert cost.delta_atto == DELTA
    assert cost.nano_epsilon == int(epsilon * NANO)  # that of the cells without a training
    learned = planned(epsilon, bias=bias, names=("sees",)).cost()
    assert 0.99 * epsilon * NANO < learned.nano_epsilon <= epsilon * NANO


@pytest.mark.parametrize("bias", ["paid", "hat"])
def test_without_a_utility_discriminator_epsilon_is_pure_and_all_spent(bias):
    plan = planned(2.0, delta=0, utility=False, bias=bias)
    cost = plan.cost()
    assert (cost.kind, cost.nano_epsilon) == (GuaranteeKind.PURE, 2 * NANO)
    found = granted(plan)
    assert found.training is None
    assert set(found.static.values()) == {2 * NANO}


def test_delta_is_not_spent_without_a_utility_discriminator():
    assert planned(2.0, utility=False).delta_atto == 0


def test_learned_cells_share_one_training_and_pay_each():
    plan = planned(2.0)
    found = granted(plan)
    assert set(found.flips) == set(found.degrees) == {("sees", step) for step in range(3)}
    assert set(found.static) == {("knows", None)}
    events = {allotment.event for allotment in plan.allotments if allotment.purpose == UTILITY}
    assert len(events) == 1
    assert found.training is not None
    assert events == {found.training.event}
    purposes = [allotment.purpose for allotment in plan.allotments if allotment.edge_type == "sees"]
    assert purposes == [FLIPS, DEGREES, UTILITY] * 3
    assert [a.purpose for a in plan.allotments if a.edge_type == "knows"] == [STATIC]


def test_shares_are_those_of_the_table():
    found, hat = granted(planned(2.0)), granted(planned(2.0, bias="hat"))
    assert found.flips["sees", 0] == int(0.3 * 2 * NANO)
    assert found.degrees["sees", 0] == int(0.54 * 2 * NANO)
    assert hat.flips["sees", 0] == int(0.6 * 2 * NANO)
    assert hat.degrees["sees", 0] == int(0.04 * 2 * NANO)
    assert hat.training.noise_multiplier < found.training.noise_multiplier
    large = granted(planned(8.0))
    assert large.flips["sees", 0] == int(0.6 * 8 * NANO)
    assert large.degrees["sees", 0] == int(0.24 * 8 * NANO)
    assert granted(planned(8.0, bias="hat")).flips["sees", 0] == int(0.6 * 8 * NANO)
    for shares in (*budget.SHARES.values(), *budget.AT_LARGE_EPSILON.values()):
        assert shares.flips + shares.count + shares.degrees <= 1


def test_relations_without_time_alone_are_learned():
    found = granted(planned(2.0, names=("knows",)))
    assert set(found.flips) == {("knows", None)}
    assert not found.static


def test_the_rate_follows_from_public_sizes():
    assert rate(SCHEMA) == Fraction(1, 201)
    assert rate(GraphSchema(node_types=(NodeType(),))) == budget.UNKNOWN_RATE
    assert rate(GraphSchema(node_types=(NodeType(count=1),))) == Fraction(1, 5)


@pytest.mark.parametrize(
    ("asked", "field"),
    [({"epsilon": 2.0, "delta": 0}, "delta"), ({"epsilon": 1e-6}, "epsilon"), ({"epsilon": 1e-4}, "epsilon")],
)
def test_too_little_is_refused_with_the_field_to_mend(asked, field):
    with pytest.raises(errors.NotAccepted) as found:
        planned(**asked)
    assert found.value.members["field"] == field


def test_by_default_the_sound_form_pays_for_no_utility_discriminator():
    assert granted(planned(2.0, delta=0, utility=None)).training is None
    assert granted(planned(2.0, utility=None, privacy=False)).training is not None
    assert ThepuffParams(variant="paper").trains_utility


def test_a_generator_needs_a_discriminator():
    with pytest.raises(ValueError, match="discriminator"):
        ThepuffParams(utility=False, privacy=False)
