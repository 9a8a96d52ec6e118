"""How PSGraph divides epsilon."""

import pytest
from pydantic import ValidationError

from core import errors
from core.graphs.schema import EdgeType, GraphSchema, TimeGrid
from core.methods._shared.frame.plan import step_nano_epsilon
from core.methods.base import PublicFacts
from core.privacy.units import Unit
from papers.psgraph import GENERATOR
from papers.psgraph.budget import PSGraphParams, divide

NANO = 10**9


def facts(unit, *relations, nano_epsilon=NANO, window=None, steps=10):
    time = TimeGrid(count=steps) if any(relation.temporal for relation in relations) else None
    schema = GraphSchema(edge_types=relations, time=time)
    return PublicFacts(schema, unit, window, nano_epsilon, 0, tuple(r.name for r in relations))


TIMED, UNTIMED = EdgeType(name="timed", temporal=True), EdgeType(name="untimed")


@pytest.mark.parametrize("nano", [1_000, 12_345_677, NANO, 7 * NANO])
@pytest.mark.parametrize(
    "params",
    [
        {},
        {"preset": "paper"},
        {"triangle_share": 0.5},
        {"tail_share": 0},
        {"degrees": "heavy_tailed"},
        {"count_share": 0.5, "count_cap": 9, "between_share": 0.99},
    ],
)
def test_all_branches_of_a_step_stay_within_its_total(nano, params):
    budget = divide(PSGraphParams.varied(**params), nano)
    assert min(budget.count, budget.initialise, budget.adjust, budget.perturb(True, True)) >= 1
    for tails in (True, False):
        first = budget.count + budget.triangles + (budget.tail if tails else 0)
        partition = budget.initialise + budget.adjust
        assert first + partition + budget.perturb(True, tails) == budget.total == nano
        assert first + budget.perturb(False, tails) == nano
    assert (budget.triangles > 0) == (params.get("triangle_share", 0) > 0)
    assert (budget.tail > 0) == (params in ({}, {"triangle_share": 0.5}) or "between_share" in params)


def test_the_count_is_capped():
    params = PSGraphParams(preset="paper")
    assert divide(params, NANO).count == 10_000_000
    assert divide(params, NANO // 100).count == 1_000_000


def test_a_preset_fills_what_is_not_set():
    paper = PSGraphParams(preset="paper", combine=False)
    assert (paper.way.partition, paper.way.degrees, paper.way.totals) == (
        "super_graph",
        "norm_sub",
        "as_published",
    )
    assert (paper.combine, paper.post_process) == (False, True)
    assert (paper.way.super_node_size, PSGraphParams().way.super_node_size) == (20, 15)
    assert PSGraphParams(**paper.model_dump()) == paper
    assert paper.way.partition_shares == (1 / 3, 1 / 3) != PSGraphParams().way.partition_shares


def test_the_papers_thirds():
    budget = divide(PSGraphParams(preset="paper"), NANO)
    assert budget.count == NANO // 100
    thirds = budget.initialise, budget.adjust, budget.perturb(True, False)
    assert max(thirds) - min(thirds) <= 2


def test_cells_of_disjoint_edges_get_all_of_epsilon():
    assert step_nano_epsilon(facts(Unit.EDGE, UNTIMED, EdgeType(name="other"))) == NANO
    assert step_nano_epsilon(facts(Unit.EVENT, TIMED, UNTIMED)) == NANO


@pytest.mark.parametrize(
    ("relations", "window", "parts"),
    [((TIMED,), 5, 5), ((TIMED,), 30, 10), ((TIMED, UNTIMED), 5, 6), ((TIMED,), 1, 1)],
)
def test_a_window_is_shared_equally(relations, window, parts):
    """Relations without time count in every window; a window longer than the stream is the stream."""
    asked = facts(Unit.W_EVENT, *relations, window=window, nano_epsilon=NANO + 1)
    assert step_nano_epsilon(asked) == (NANO + 1) // parts
    cost = GENERATOR.plan(PSGraphParams(), asked).cost()
    assert NANO + 1 - parts < cost.nano_epsilon <= NANO + 1


def test_an_epsilon_too_small_to_divide_is_refused():
    with pytest.raises(errors.NotAccepted, match="too small"):
        GENERATOR.plan(PSGraphParams(), facts(Unit.W_EVENT, TIMED, window=10, nano_epsilon=9_999))


@pytest.mark.parametrize(
    "wrong",
    [
        {"count_share": 0},
        {"count_share": float("nan")},
        {"super_node_size": 0},
        {"totals": "exact"},
        {"preset": "mine"},
        {"preset": ["paper"]},
        {"groups": 0},
        {"preset": "paper", "adjust_share": 0.7},
        {"unknown": 1},
    ],
)
def test_parameters_out_of_bounds_are_refused(wrong):
    with pytest.raises(ValidationError):
        PSGraphParams(**wrong)
