"""What a plan costs and what it refuses, before any data."""

import math

import pytest
from pydantic import ValidationError

from core import errors
from core.privacy.accounting.dp_sgd import noise_multiplier
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import GuaranteeKind, rows_of
from papers.hetesdg import GENERATOR
from papers.hetesdg.budget import granted, shares
from papers.hetesdg.params import HeteParams
from papers.hetesdg.sides import Sides, paths_of, returning_side, sides_of
from papers.hetesdg.tests import toys as toys

TWO = Sides("paper", "author", "target", "source")
DELTA = 10**13


def plan(epsilon=1.0, delta_atto=0, names=(), **options):
    return GENERATOR.plan(GENERATOR.Params(**options), toys.facts(toys.typed(), epsilon, delta_atto, names))


def test_integer_noise_is_less_than_half_of_a_gaussian_draw():
    """As the method's page says: discrete Laplace at epsilon 1, against a Gaussian at delta 1e-5."""
    ratio = math.exp(-1)
    deviation = math.sqrt(2 * ratio) / (1 - ratio)
    assert round(deviation, 1) == 1.4
    assert 2 * deviation < float(noise_multiplier(NANO, 10**13, 1, 1))


def test_relations_in_parallel_cost_epsilon_once():
    cost = plan().cost()
    assert (cost.nano_epsilon, cost.kind) == (10**9, GuaranteeKind.PURE)


def test_a_row_and_an_edge_cost_the_dearer_of_both():
    both = plan(delta_atto=DELTA, rows=True)
    assert both.cost().kind is GuaranteeKind.APPROXIMATE
    assert 0.9e9 < both.cost().nano_epsilon <= 10**9
    assert set(granted(both).rows) == {"author"}
    assert [each.edge_type for each in both.allotments if each.edge_type.startswith("rows:")] == [
        rows_of("author")
    ]


FOLLOWED = {"release": ("embedding",), "second_hop": "on"}


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"rows": True}, "delta"),
        ({"rows": True, "release": ("features",), "names": ("about",)}, "release"),
        ({"meta_paths": (("writes", "about"),), **FOLLOWED}, "meta_paths"),
        ({"meta_paths": (("writes", "nothing"),), **FOLLOWED}, "meta_paths"),
        ({"meta_paths": (("writes", "writes"), ("writes", "writes")), **FOLLOWED}, "meta_paths"),
        ({"epsilon": 1e-8}, "epsilon"),
    ],
)
def test_refusals_name_their_field(changes, field):
    with pytest.raises(errors.NotAccepted) as found:
        plan(**changes)
    assert found.value.members["field"] == field


@pytest.mark.parametrize("release", [(), ("graph", "graph"), ("features",), ("pictures",)])
def test_what_is_released_is_known(release):
    with pytest.raises(ValidationError):
        HeteParams(release=release)


def test_the_type_with_features_is_grouped():
    schema = toys.schema()
    found = {each.name: sides_of(schema, each, rows=False) for each in schema.edge_types}
    assert found["writes"] == TWO
    assert found["about"] == Sides("paper", "topic", "source", "target")
    assert found["cites"] == Sides("paper", "paper", "source", "target")
    assert found["knows"].undirected
    assert sides_of(schema, schema.edge_type("writes"), rows=True).grouped == "author"


def test_meta_paths_lead_back_to_the_grouped_type():
    schema = toys.schema()
    names = ("writes", "about")
    assert paths_of(schema, names, (), False) == (("writes", "writes"), ("about", "about"))
    assert returning_side(schema, ("writes", "writes"), False) == "target"
    assert returning_side(schema, ("about", "about"), False) == "source"
    # author, met by papers through writes, then known by authors
    assert returning_side(schema, ("writes", "knows"), False) == "both"


@pytest.mark.parametrize("split", ["measured", "equal"])
@pytest.mark.parametrize("release", [("graph",), ("embedding",), ("graph", "embedding")])
@pytest.mark.parametrize("paths", [0, 1, 3])
@pytest.mark.parametrize("counted", [50, 5000])
def test_shares_add_up_to_no_more_than_epsilon(split, release, paths, counted):
    params = HeteParams(release=release, split=split)
    for sides in (TWO, Sides("author", "author", "both", "both")):
        found = shares(params, 10**9, sides, counted, paths)
        spent = found.grouped + found.counted + found.histogram + paths * found.hop
        assert 0.99e9 < spent <= 10**9
        assert found.histogram > 0
        assert bool(found.hop) == bool(paths)
        assert (found.grouped + found.counted > 0) == ("graph" in release)
