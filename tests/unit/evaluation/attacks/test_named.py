"""What attackers find of the links that a defence hid: eight of them, one turned round, one who knows."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.attacks import learned
from core.evaluation.attacks.named import FEWEST_HIDDEN, DefenceShadow, attacked_links
from core.evaluation.attacks.projection import MOST_OF_COLLECTION
from core.evaluation.metric import Suite
from core.graphs.graph import EdgeTable, Graph
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.views.sensitive import SensitiveLinks
from core.privacy.entropy import public_generator
from core.reports.evidence import SensitiveAttacks
from papers._shared.defences.altered import drawn_share

NODES, BLOCK = 120, 20


def blocks(seed: int) -> Graph:
    """Dense blocks, hardly a link between them: a link left out is easily found again."""
    rng = public_generator(seed)
    u, v = np.triu_indices(NODES, 1)
    kept = rng.random(len(u)) < np.where(u // BLOCK == v // BLOCK, 0.6, 0.005)
    return graph_of(u[kept], v[kept])


def graph_of(u: np.ndarray, v: np.ndarray) -> Graph:
    schema = GraphSchema(node_types=(NodeType(count=NODES),), edge_types=(EdgeType(),))
    return Graph.build(schema, {}, {"edge": EdgeTable(u, v)})


def without(graph: Graph, hidden: SensitiveLinks) -> Graph:
    """The defence that merely leaves the links out."""
    table, (u, v) = graph.edges["edge"], hidden.of_relation("edge")
    gone = np.isin(table.source * NODES + table.target, u * NODES + v)
    return graph_of(table.source[~gone], table.target[~gone])


def attacked(
    release: Graph, suite: Suite, hidden: SensitiveLinks, original: Graph, shadows=()
) -> SensitiveAttacks:
    told: list[tuple[str, int, int]] = []
    found = attacked_links(original, release, hidden, suite, lambda *step: told.append(step), shadows)
    assert [stage for stage, _, _ in told] == ["sensitive"] * len(told)
    assert told[-1][1] == told[-1][2]
    return SensitiveAttacks.model_validate(found)


def share(graph: Graph, seed: int = 1, part: float = 0.1) -> SensitiveLinks:
    return drawn_share(graph, ["edge"], part, public_generator(seed))


@pytest.mark.parametrize(("suite", "names"), [(Suite.QUICK, 1), (Suite.STANDARD, 3)])
def test_links_that_are_merely_left_out_are_found_and_the_worst_attack_comes_first(suite, names):
    original = blocks(1)
    hidden = share(original)
    found = attacked(without(original, hidden), suite, hidden, original)
    assert len(found.attacks) == names + 1
    figures = [attack.figure for attack in found.attacks]
    assert figures == sorted(figures, reverse=True)
    assert found.figure == figures[0] > 0.9
    for attack in found.attacks:
        assert attack.positives == len(hidden.of_relation("edge")[0])
        assert attack.advantage == pytest.approx(2 * attack.figure - 1)
        assert attack.auc == attack.before  # leaving them out is all that was done


def test_a_defence_that_pushes_too_far_is_seen_by_who_turns_scores_round():
    rng = public_generator(2)
    u, v = np.triu_indices(NODES, 1)
    kept = rng.random(len(u)) < 0.3
    original = graph_of(u[kept], v[kept])
    hidden = share(original, part=0.005)  # ten links, whose ends have some ten neighbours in common
    near = np.zeros((NODES, NODES), dtype=bool)
    table = without(original, hidden).edges["edge"]
    near[table.source, table.target] = near[table.target, table.source] = True
    for a, b in zip(*hidden.of_relation("edge"), strict=True):
        both = near[a] & near[b]
        near[a, both] = near[both, a] = False  # none is left
    found = attacked(graph_of(*np.nonzero(np.triu(near))), Suite.STANDARD, hidden, original)
    (turned,) = [each for each in found.attacks if each.name.endswith("_inverted")]
    plain = next(each for each in found.attacks if f"{each.name}_inverted" == turned.name)
    assert turned.auc is not None
    assert plain.auc is not None
    assert plain.auc.value < 0.1
    assert turned.auc.value == pytest.approx(1 - plain.auc.value)
    assert (turned.auc.low, turned.auc.high) == pytest.approx((1 - plain.auc.high, 1 - plain.auc.low))
    assert found.figure == turned.figure == plain.figure > 0.9


@pytest.mark.slow
def test_the_full_suite_has_all_eight_and_both_who_know():
    original = blocks(3)
    hidden = share(original)
    release = without(original, hidden)
    again = share(release, 7)
    shadows = [DefenceShadow(release, without(release, again), again)]
    found = attacked(release, Suite.FULL, hidden, original, shadows)
    names = {attack.name for attack in found.attacks if attack.not_run is None}
    assert names >= {
        *("common_neighbours", "adamic_adar", "resource_allocation", "node2vec_cosine", "node2vec_svm"),
        *("gae_cosine", "gae_svm", "seal", "informed"),
    }
    assert sum(name.endswith("_inverted") for name in names) == 1
    informed = next(each for each in found.attacks if each.name == "informed")
    assert informed.before is None
    assert informed.figure is not None
    assert informed.figure > 0.8


def test_without_a_shadow_the_informed_attacker_says_so(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(learned, "scorers", lambda features: ())  # they train for a minute
    original = blocks(4)
    hidden = share(original)
    found = attacked(without(original, hidden), Suite.FULL, hidden, original)
    last = found.attacks[-1]
    assert (last.name, last.auc, last.figure) == ("informed", None, None)
    assert "shadow" in str(last.not_run)


def test_too_few_hidden_links_say_little_and_none_say_nothing():
    original = blocks(5)
    u, v = original.edges["edge"].source, original.edges["edge"].target
    few = SensitiveLinks.of(original, {"edge": (u[: FEWEST_HIDDEN - 1], v[: FEWEST_HIDDEN - 1])}, "sl_1")
    for hidden in (few, SensitiveLinks.of(original, {})):
        found = attacked(without(original, hidden), Suite.STANDARD, hidden, original)
        assert found.figure is None
        assert all(attack.not_run and attack.auc is None for attack in found.attacks)
    assert attacked(original, Suite.QUICK, few, original).list_id == "sl_1"


def test_of_a_collection_the_graphs_that_hide_most_are_attacked():
    most, size = MOST_OF_COLLECTION, 12
    graphs = [{"id": str(i), "nodes": 4 * size if i < most else size} for i in range(most + 4)]
    schema = GraphSchema.model_validate({"collection": {"graphs": graphs}})
    u, v = (ends[::2] for ends in np.triu_indices(size, 1))
    original = Graph.build(schema, {}, {each.name: EdgeTable(u, v) for each in schema.edge_types})
    small, last = f"graph-{most + 1}", f"graph-{most + 3}"
    hidden = SensitiveLinks.of(original, {small: (u[:9], v[:9]), last: (u[:6], v[:6])})
    found = attacked(original, Suite.QUICK, hidden, original)
    assert {attack.edge_type for attack in found.attacks if attack.not_run is None} == {small, last}
    assert len({attack.edge_type for attack in found.attacks}) == most
    assert found.figure is not None


def test_links_of_a_relation_that_is_not_released_are_not_among_the_hidden():
    relations = (EdgeType(name="mail"), EdgeType(name="calls"))
    u, v = np.triu_indices(9, 1)
    graphs = [
        Graph.build(
            GraphSchema(node_types=(NodeType(count=9),), edge_types=known),
            {},
            {each.name: EdgeTable(u, v) for each in known},
        )
        for known in (relations, relations[:1])
    ]
    hidden = SensitiveLinks.of(graphs[0], dict.fromkeys(("mail", "calls"), (u[:7], v[:7])))
    assert attacked(graphs[1], Suite.QUICK, hidden, graphs[0]).hidden == {"mail": 7}
