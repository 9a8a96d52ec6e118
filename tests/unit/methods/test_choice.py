"""``method: auto``: every rule, every fallback, and nothing read but public facts."""

from __future__ import annotations

import math
from typing import Any

import pytest

from core.errors import NotAccepted
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.methods import registry
from core.methods._shared import preferences as rules
from core.methods._shared.aims import COMMUNITIES_TOLD, PLANE_TOLD, WHO_TOLD
from core.methods.base import Parameters, PublicFacts, no_more, no_reads
from core.methods.choice import Carry, Choice, Request, choose
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan
from core.privacy.units import Unit
from tests.support.methods import answering


def facts(
    epsilon: float = 1.0,
    unit: Unit = Unit.EDGE,
    *,
    nodes: int = 5_000,
    steps: int | None = None,
    window: int | None = None,
    tick: int | None = None,
    **declared: Any,
) -> PublicFacts:
    edge = EdgeType(temporal=steps is not None, **declared)
    kinds = (NodeType(count=nodes), NodeType(name="group", count=50))
    used = kinds if "group" in (edge.source, edge.target) else kinds[:1]
    time = None if steps is None else TimeGrid(count=steps)
    schema = GraphSchema(node_types=used, edge_types=(edge,), time=time)
    return PublicFacts(schema, unit, window, int(epsilon * NANO), 0, ("edge",), tick)


def chosen(public: PublicFacts) -> Choice:
    return choose(public, {kind.name: kind.count or 0 for kind in public.schema.node_types})


def first_of(names: tuple[str, ...]) -> str:
    """The first method of an order that is installed."""
    return next(name for name in names if name in registry.generators())


@pytest.mark.parametrize(
    "public", [facts(), facts(20.0, nodes=100), facts(steps=4, unit=Unit.W_EVENT, window=2), facts(1e-3)]
)
def test_a_choice_brings_the_plan_that_its_method_makes(public: PublicFacts):
    found = chosen(public)
    generator = registry.get(found.method)
    assert found.plan == generator.plan(generator.Params.model_validate(dict(found.params)), public)


def test_an_objective_sets_the_static_default_and_is_refused_where_nothing_knows_it():
    public, nodes = facts(nodes=5_000), {"node": 5_000}
    shape, who, plane = (choose(public, nodes, Request(aim=each)) for each in (None, "who", "plane"))
    assert shape == choose(public, nodes)
    assert (plane.method, dict(plane.params), PLANE_TOLD in plane.reason) == (
        "dcsbm", {"preset": "plane"}, True,
    )  # fmt: skip
    assert (who.method, dict(who.params)) == ("dcsbm", {"preset": "who"})
    assert WHO_TOLD in who.reason
    assert WHO_TOLD not in shape.reason
    small = choose(facts(nodes=300), {"node": 300}, Request(aim="who"))
    assert dict(small.params) == {"preset": "who"}
    flipped = choose(facts(20.0, nodes=100), {"node": 100}, Request(aim="who"))
    assert (flipped.method, WHO_TOLD in flipped.reason) == ("edgerand", False)
    stream = facts(steps=4, unit=Unit.W_EVENT, window=2)
    with pytest.raises(NotAccepted, match="objective 'who'") as refused:
        choose(stream, {"node": 500}, Request(aim="who"))
    assert refused.value.members["field"] == "parameters.objective"


def test_a_plane_says_nothing_of_who_has_many_edges():
    with pytest.raises(ValueError, match="leave objective or geometry out"):
        Carry(objective="who", geometry="plane")
    assert [each.aim for each in (Carry(), Carry(objective="who"), Carry(geometry="plane"))] == [
        None, "who", "plane",
    ]  # fmt: skip


def test_every_preference_is_installed():
    known = set(registry.generators())
    for order in (
        rules.SINGLE,
        rules.SMALL,
        rules.TIMED,
        rules.STREAM,
        rules.TYPED,
        rules.TYPED_WEAK,
    ):
        assert set(order) <= known
        assert len(set(order)) == len(order)


def test_a_static_graph_gets_a_model_and_a_small_one_a_model_without_blocks():
    assert chosen(facts()).method == first_of(rules.SINGLE)
    small = chosen(facts(nodes=100))
    assert small.method == first_of(rules.SMALL)
    assert "1000 nodes" in small.reason
    assert small.params == rules.SMALL_PARAMS.get(small.method, {})
    assert chosen(facts(nodes=rules.SMALL_NODES)).params == small.params
    large = chosen(facts(nodes=rules.SMALL_NODES + 1))
    assert (large.method, large.params) == (first_of(rules.SINGLE), {})


def test_small_and_large_static_graphs_get_one_method():
    """Its preset alone differs, and the guess that this leans on is public."""
    small, large = chosen(facts(nodes=100)), chosen(facts())
    assert small.method == large.method == "dcsbm"
    assert small.params == {"preset": "small"}


def test_a_declared_bound_says_that_a_small_graph_is_dense():
    assert chosen(facts(nodes=100, edge_bound=1_000)).params == {"preset": "small"}
    assert chosen(facts(nodes=100, edge_bound=1_001)).params == {}


def test_streams_and_snapshots():
    stream = facts(unit=Unit.W_EVENT, steps=20, window=5)
    assert chosen(stream).method == first_of(rules.STREAM)
    assert chosen(facts(unit=Unit.EVENT, steps=20)).method == first_of(rules.TIMED)
    # A grid of a few small snapshots is no small static graph.
    assert chosen(facts(unit=Unit.EVENT, steps=20, nodes=100)).method == first_of(rules.TIMED)
    paired = chosen(facts(unit=Unit.PAIR, steps=20))
    assert Unit.PAIR in registry.get(paired.method).units


def test_one_snapshot_of_a_live_stream_gets_a_method_that_publishes_streams():
    live = facts(unit=Unit.W_EVENT, steps=1, window=5, tick=7)
    assert callable(registry.get(chosen(live).method).step)  # type: ignore[attr-defined]


def test_few_nodes_of_a_directed_relation_keep_their_own_degrees():
    small, large = (chosen(facts(nodes=n, directed=True)) for n in (rules.SMALL_SIDE, 5_000))
    assert (small.method, small.params) == ("anchored", {"evidence": "none"})
    assert large.method == "hetesdg"
    told = chosen(facts(6.0, nodes=400, directed=True))  # here bits of pairs tell edges
    assert (told.method, told.params) == ("anchored", {})


def between(left: int, right: int, epsilon: float = 0.5) -> PublicFacts:
    kinds = NodeType(name="left", count=left), NodeType(name="right", count=right)
    schema = GraphSchema(node_types=kinds, edge_types=(EdgeType(source="left", target="right"),))
    return PublicFacts(schema, Unit.EDGE, None, int(epsilon * NANO), 0, ("edge",))


def test_small_relations_between_types_keep_their_own_degrees_too():
    """As films and those who rate them do; films and genres are read as large ones are at larger epsilons."""
    small, wide = chosen(between(943, 1_682)), chosen(between(943, rules.SMALL_SIDE + 1))
    assert (small.method, small.params) == ("anchored", {"evidence": "none"})
    assert wide.method == "hetesdg"
    genres, brands = chosen(between(5_000, rules.FEW_NODES)), chosen(between(5_000, rules.FEW_NODES + 1))
    assert (genres.method, genres.params) == ("anchored", {})
    assert brands.method == "hetesdg"


def persons(epsilon: float, *targets: str) -> PublicFacts:
    kinds = (NodeType(count=100, protected=True), NodeType(name="group", count=50))
    relations = tuple(EdgeType(name=f"to-{target}", target=target) for target in targets)
    schema = GraphSchema(node_types=kinds, edge_types=relations)
    names = tuple(each.name for each in relations)
    return PublicFacts(schema, Unit.NODE, None, int(epsilon * NANO), 0, names)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 20.0])
@pytest.mark.parametrize(
    ("targets", "method"),
    [(("group",), "profiles"), (("node",), "projection"), (("group", "node"), "composed")],
)
def test_persons_get_what_hides_all_edges_of_a_node(
    monkeypatch: pytest.MonkeyPatch, epsilon: float, targets: tuple[str, ...], method: str
):
    """Noisy bits of pairs are never chosen, however large epsilon is: they hide one edge."""

    def plan(params: Any, public: PublicFacts) -> PrivacyPlan:
        read = Allotment(WHOLE_GRAPH, None, Pure(public.nano_epsilon, "x"), "read")
        return PrivacyPlan(method, Unit.NODE, None, 1, (read,))

    answers = {"Params": Parameters, "plan": plan, "planned_reads": no_reads, "require_room": no_more}
    for name in ("profiles", "projection"):
        answering(monkeypatch, name, **answers)
    assert chosen(persons(epsilon, *targets)).method == method


def test_without_a_method_for_persons_the_request_is_refused(monkeypatch: pytest.MonkeyPatch):
    edge_wise = {name: each for name, each in registry.generators().items() if Unit.NODE not in each.units}
    monkeypatch.setattr(registry, "generators", lambda: edge_wise)
    monkeypatch.setattr(registry, "has", edge_wise.__contains__)
    for target in ("node", "group"):
        with pytest.raises(NotAccepted, match="no method is installed"):
            chosen(persons(20.0, target))


@pytest.mark.parametrize("declared", [{"directed": True}, {"target": "group"}])
@pytest.mark.parametrize("unit", [Unit.EDGE, Unit.EVENT])
def test_directed_and_bipartite_relations_get_what_takes_them(declared: dict[str, Any], unit: Unit):
    nodes = {"node": 5_000, "group": 500}
    found = choose(facts(unit=unit, steps=3 if unit.temporal else None, **declared), nodes)
    assert found.method == first_of(rules.TYPED if unit.temporal else rules.TYPED_WEAK)
    accepts = registry.get(found.method).accepts
    assert accepts.directed
    assert accepts.bipartite


def typed(epsilon: float, *, keywords: int = 20, **declared: Any) -> PublicFacts:
    """Films with directors, of whom there are many, and with keywords."""
    sizes = {"film": 4_000, "director": 2_000, "keyword": keywords}
    relations = tuple(
        EdgeType(name=name, source="film", target=name, **declared) for name in ("director", "keyword")
    )
    schema = GraphSchema(
        node_types=tuple(NodeType(name=name, count=count) for name, count in sizes.items()),
        edge_types=relations,
    )
    return PublicFacts(schema, Unit.EDGE, None, int(epsilon * NANO), 0, ("director", "keyword"))


def test_typed_graphs_without_time_get_sorted_degrees_until_bits_of_pairs_can_tell_edges():
    """ln(8,000,000 / 12,000) = 6.5 and ln(80,000 / 8,040) = 2.3: .37 for one of epsilon, in the mean.

    Films' few keywords would have another method; but one that not every worker has is no part of a
    composition, and what suits all relations together is taken.
    """
    assert [chosen(typed(e)).method for e in (0.5, 1.5, 2.5)] == ["hetesdg"] * 2 + ["anchored"]
    assert chosen(typed(2.0, keywords=2_000)).method == "hetesdg"  # both are sparse
    # With time every step has all of epsilon, and hetesdg takes none.
    assert chosen(facts(unit=Unit.EVENT, steps=3, directed=True)).method == "anchored"


def test_where_the_policy_does_not_allow_it_the_next_is_taken():
    public = typed(1.0)
    nodes = {kind.name: kind.count or 0 for kind in public.schema.node_types}
    assert choose(public, nodes, Request({"anchored"})).method == "anchored"


def test_a_directed_functional_relation_under_pair_is_taken_too():
    assert chosen(facts(unit=Unit.PAIR, steps=3, directed=True)).method in rules.TYPED


def test_randomised_response_from_the_declared_bound():
    # 5,000 nodes and 50,000 edges: 249 pairs an edge, so nine of ten are kept from epsilon 7.7 on.
    line = (math.log(249) + math.log(9)) / 0.9
    below, above = (chosen(facts(line + d, edge_bound=50_000)) for d in (-0.01, 0.01))
    assert below.method != "edgerand"
    assert above.method == "edgerand"
    assert above.params["form"] == "balanced"
    assert "probability 0.9" in above.reason
    assert chosen(facts(line + 0.01)).method != "edgerand"  # no bound, no claim


def test_the_kept_share_is_that_of_the_flips_themselves():
    from core.privacy.mechanisms.randomised_response import WORD, Flips

    for epsilon, edges, slots in ((0.5, 10, 1000), (3.0, 40_000, 10**7), (8.0, 5, 6), (700.0, 1, 2)):
        flips = Flips.balanced(int(epsilon * NANO), edges, slots)
        assert rules.kept_balanced(epsilon, edges, slots) == pytest.approx(1 - flips.drop / WORD, abs=1e-9)
        flips = Flips.symmetric(int(epsilon * NANO))
        assert rules.kept_symmetric(epsilon) == pytest.approx(1 - flips.drop / WORD, abs=1e-9)


def test_randomised_response_without_a_bound_when_hardly_an_edge_is_added():
    # n (n - 1) / 2 pairs, a tenth of a false edge for each node: e^eps + 1 = 5 (n - 1).
    line = math.log(5 * 99 - 1)
    below, above = (chosen(facts(line + d, nodes=100)) for d in (-0.01, 0.01))
    assert below.method != "edgerand"
    assert above.method == "edgerand"
    assert above.params == {"form": "symmetric"}


def test_the_budget_of_one_snapshot_decides_on_flips():
    static = facts(7.0, nodes=100)
    assert chosen(static).method == "edgerand"
    assert chosen(facts(7.0, nodes=100, unit=Unit.W_EVENT, steps=9, window=5)).method != "edgerand"
    assert chosen(facts(35.0, nodes=100, unit=Unit.W_EVENT, steps=9, window=5)).method == "edgerand"


def test_a_choice_can_be_planned_as_it_stands():
    for public in (facts(), facts(9.0, nodes=100), facts(9.0, edge_bound=50_000), facts(directed=True)):
        found = chosen(public)
        generator = registry.get(found.method)
        plan = generator.plan(generator.Params.model_validate(dict(found.params)), public)
        assert (plan.cost().nano_epsilon or 0) <= public.nano_epsilon


def test_the_next_method_is_taken_where_the_first_refuses(monkeypatch: pytest.MonkeyPatch):
    order = ("psgraph", "dgg")  # psgraph does not take unit pair
    monkeypatch.setattr(rules, "STREAM", order)
    found = chosen(facts(unit=Unit.PAIR, steps=3))
    assert found.method == "dgg"
    assert "psgraph comes first, but it says" in found.reason


def test_a_request_that_no_method_takes_is_refused_with_its_field():
    tiny = facts(1e-9, unit=Unit.W_EVENT, steps=9, window=5)
    with pytest.raises(NotAccepted, match="no method takes this request") as refused:
        chosen(tiny)
    assert refused.value.members["field"] == "epsilon"


def test_equal_facts_give_equal_choices():
    assert chosen(facts()) == chosen(facts())


def test_communities_are_refused_below_the_epsilon_at_which_they_are_told():
    asked, nodes = Request(aim="communities"), {"node": 5_000}
    with pytest.raises(NotAccepted, match=r"\.42 and \.31") as refused:
        choose(facts(3.9, nodes=5_000), nodes, asked)
    assert refused.value.members["field"] == "parameters.objective"
    found = choose(facts(4.0, nodes=5_000), nodes, asked)
    assert (found.method, dict(found.params)) == ("dcsbm", {"preset": "default"})
    assert COMMUNITIES_TOLD in found.reason
