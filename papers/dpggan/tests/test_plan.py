"""What dpggan pays for, by public facts alone."""

import pytest
from pydantic import ValidationError

from core import errors
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.methods.base import PublicFacts
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.units import Unit
from papers import dpggan
from papers.comparators import ggan, gvae
from papers.dpggan import dpgvae, paper
from papers.dpggan.budget import granted

NANO = 10**9
DELTA = 10**13


def facts(epsilon: float, delta: int = DELTA, bound: int | None = None, **sizes: int | None) -> PublicFacts:
    sizes = sizes or {"node": 177}
    schema = GraphSchema(
        node_types=tuple(NodeType(name=name, count=size) for name, size in sizes.items()),
        edge_types=tuple(EdgeType(name=name, source=name, target=name, edge_bound=bound) for name in sizes),
    )
    return PublicFacts(schema, Unit.EDGE, None, int(epsilon * NANO), delta, tuple(sizes))


def plan(public: PublicFacts, **params):
    return dpggan.GENERATOR.plan(dpggan.GENERATOR.Params(**params), public)


def test_at_epsilon_1_all_of_it_goes_to_degrees_and_triangles():
    for size in (30, 177, 4_000, 100_000):
        found = plan(facts(1, node=size))
        assert found.kind is GuaranteeKind.PURE
        assert found.delta_atto == 0
        assert [each.purpose for each in found.allotments] == ["degrees and triangles"]
        assert found.cost().nano_epsilon == NANO


@pytest.mark.parametrize(
    ("params", "purposes"),
    [
        ({"learn": "off", "frame": False}, ["edge count"]),
        ({"learn": "evidence"}, ["degrees and triangles", "noisy graph"]),
        ({"learn": "link-sgd"}, ["degrees and triangles", "noisy graph", "decoder"]),
        ({"learn": "link-sgd", "inputs": "random"}, ["degrees and triangles", "decoder"]),
        ({"learn": "link-sgd", "decoder": "mlp"}, ["degrees and triangles", "noisy graph", "decoder"]),
    ],
    ids=str,
)
def test_every_composition_spends_at_most_what_was_asked(params, purposes):
    found = plan(facts(3), **params)
    assert [each.purpose for each in found.allotments] == purposes
    cost = found.cost()
    assert 2.9 * NANO < cost.nano_epsilon <= 3 * NANO
    assert (cost.kind is GuaranteeKind.APPROXIMATE) == ("decoder" in purposes)
    grants = granted(found)
    assert (grants.training is not None) == ("decoder" in purposes)
    if grants.training is not None:
        assert grants.training.steps == (60 if params.get("decoder") == "mlp" else 1)
    pure = [pure_nano_epsilon(each.event) for each in found.allotments]
    assert sum(amount or 0 for amount in pure) <= 3 * NANO


def test_relations_of_a_collection_spend_in_parallel_trained_together_or_apart():
    one, many = facts(3, a=50), facts(3, a=50, b=70, c=20)
    for joint in (False, True):
        found = plan(many, learn="link-sgd", joint=joint)
        assert len(found.allotments) == 9
        assert found.cost() == plan(one, learn="link-sgd").cost()


def test_the_mlp_decoder_reads_a_share_of_the_edges_of_large_universes():
    rates = {
        size: granted(plan(facts(3, node=size), learn="link-sgd", decoder="mlp")).training.rate
        for size in (500, 4_000, None)
    }
    assert rates[500] == 1
    assert rates[4_000] == pytest.approx(0.25)
    assert 0 < rates[None] < 1


def test_dp_sgd_without_delta_is_refused_and_auto_does_without():
    with pytest.raises(errors.NotAccepted) as found:
        plan(facts(3, delta=0), learn="link-sgd")
    assert found.value.members["field"] == "delta"
    for epsilon in (1, 4, 8):
        assert plan(facts(epsilon, delta=0, node=4_000)).kind is GuaranteeKind.PURE


def test_auto_learns_where_nodes_edges_and_epsilon_are_said_to_be_enough():
    def learns(epsilon, bound, nodes):
        return len(plan(facts(epsilon, bound=bound, node=nodes)).allotments) == 3

    assert learns(3, 90_000, 4_039)
    assert not learns(2, 90_000, 4_039)
    assert not learns(3, None, 4_039)
    assert not learns(8, 5_500, 2_708)
    assert not learns(8, 20_000, 900)


def test_a_plan_needs_no_declared_size():
    assert plan(facts(6, node=None)).kind is GuaranteeKind.PURE


def test_shares_that_leave_the_decoder_nothing_are_refused():
    with pytest.raises(ValidationError, match="decoder"):
        dpggan.GENERATOR.Params(frame_share=0.5, hat_share=0.5)
    with pytest.raises(errors.NotAccepted):
        plan(facts(1e-7))


@pytest.mark.parametrize(
    "params", [{"frame_share": 1e-9}, {"frame_share": 1e-10}, {"hat_share": 1e-9}], ids=str
)
def test_a_part_too_small_to_be_divided_is_refused_before_anything_is_read(params):
    with pytest.raises(errors.NotAccepted):
        plan(facts(1), learn="link-sgd", **params)


@pytest.mark.parametrize("method", [dpggan.GENERATOR, dpgvae.GENERATOR], ids=lambda each: each.name)
def test_variant_paper_promises_nothing_and_prints_the_claim_with_our_sensitivity(method):
    params = method.Params(variant="paper", claimed_epsilon=0.1)
    assert method.plan(params, facts(1)).kind is GuaranteeKind.NONE
    claimed = method.claim(params, facts(1))
    assert (claimed.epsilon, claimed.delta) == ("0.1", "0.00001")
    assert "4 C" in claimed.remark
    assert method.claim(method.Params(), facts(1)) is None


def test_backbones_promise_nothing():
    for method in (gvae.GENERATOR, ggan.GENERATOR):
        assert method.plan(method.Params(), facts(1)).kind is GuaranteeKind.NONE


@pytest.mark.parametrize(("epsilon", "steps"), [(0.1, 54), (1, 5_429), (10, 542_868)])
def test_the_published_calibration_gives_the_published_steps(epsilon, steps):
    assert paper.calibrated_steps(epsilon) == steps
