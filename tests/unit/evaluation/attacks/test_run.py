"""The attacks of a suite, and what they say of the original and of a random graph of the same degrees."""

from __future__ import annotations

import numpy as np
import pytest

from core.evaluation.attacks import run
from core.evaluation.attacks.run import link_attacks, measured, run_attacks
from core.evaluation.attacks.targets import draw_targets
from core.evaluation.metric import Suite
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import MAX_TYPES, EdgeType, GraphSchema, NodeType, TimeGrid
from core.reports.evidence import Attacks
from tests.support.attacked_graphs import (
    bipartite_view,
    clustered,
    clustered_bipartite,
    graph_of,
    rewired,
    view_of,
)

N = 400
QUICK = ["adjacency", "common_neighbours"]
STANDARD = [
    *QUICK,
    "adamic_adar",
    "resource_allocation",
    "preferential_attachment",
    "degree_alignment",
    "likelihood_ratio",
]


def quiet(stage: str, done: int, total: int) -> None:
    """Progress that nobody watches."""


@pytest.fixture(scope="module")
def original() -> Graph:
    return graph_of(N, clustered())


@pytest.fixture(scope="module")
def other() -> Graph:
    return graph_of(N, rewired(clustered()))


def by_name(found: dict) -> dict[str, dict]:
    Attacks.model_validate(found)
    return {row["name"]: row for row in found["inference"]}


@pytest.mark.parametrize(("suite", "names"), [(Suite.QUICK, QUICK), (Suite.STANDARD, STANDARD)])
def test_each_suite_runs_its_attacks_and_counts_them(original, other, suite, names):
    seen = []
    found = run_attacks(original, other, suite, lambda *at: seen.append(at), [(other, other)])
    assert list(by_name(found)) == names
    assert seen == [("attack", done, len(names) + 1) for done in range(len(names) + 2)]
    assert found["degree_signature"]["steps"] == 1


class Learned:
    """Stands for an attack that trains a model."""

    name, title, knowledge = "learned", "Learned", "Trains a model."
    suite, max_targets = Suite.FULL, 60

    def applies(self, view):
        return None if view.edge_count > 50 else "Too few links to train on."

    def score(self, published, source, target, seed):
        return np.arange(len(source), 0.0, -1.0)  # positives stand first


def test_the_full_suite_adds_learned_and_semantic_attacks(original, other, monkeypatch):
    monkeypatch.setattr(run.learned, "SCORERS", (Learned(),))
    seen = []
    found = by_name(run_attacks(original, other, Suite.FULL, lambda *at: seen.append(at), [(other, other)]))
    assert list(found) == [*STANDARD, "learned", *run.semantic.CLASSIFIERS]
    assert seen == [("attack", done, 10) for done in range(11)]
    assert (found["learned"]["positives"], found["learned"]["negatives"]) == (30, 30)
    assert found["learned"]["published"]["auc"]["value"] == 1.0
    few = graph_of(60, (np.arange(25), np.arange(25) + 30))
    assert "Too few" in by_name(run_attacks(few, few, Suite.FULL, quiet))["learned"]["not_run"]


def test_a_copy_of_the_original_is_as_bad_as_the_original(original):
    found = by_name(run_attacks(original, original, Suite.STANDARD, quiet, [(original, original)]))
    for row in found.values():
        assert row["published"] == row["reference"]
        assert row["edge_type"] == "edge"
        assert row["positives"] == row["negatives"] == original.edges["edge"].count
    for name in ("adjacency", "likelihood_ratio"):
        assert found[name]["published"]["auc"]["value"] > 0.999
        assert found[name]["published"]["tpr_at_fpr_1e3"]["value"] > 0.99
    for name in ("common_neighbours", "adamic_adar", "resource_allocation"):
        assert found[name]["published"]["auc"]["value"] > 0.9
    assert abs(found["preferential_attachment"]["published"]["auc"]["value"] - 0.5) < 0.02


def test_a_random_graph_of_the_same_degrees_gives_nothing_away(original, other):
    again = graph_of(N, rewired(clustered(), seed=2))
    found = by_name(run_attacks(original, other, Suite.STANDARD, quiet, [(other, again)]))
    for row in found.values():
        assert abs(row["published"]["auc"]["value"] - 0.5) < 0.05, row["name"]


@pytest.mark.parametrize("seed", [1, 2])
def test_the_same_holds_of_a_bipartite_relation(seed):
    truth = bipartite_view(240, 240, clustered_bipartite())
    release, again = (
        bipartite_view(240, 240, rewired(clustered_bipartite(), seed + turn, bipartite=True))
        for turn in (0, 10)
    )
    targets = draw_targets(truth, 20_000, 1)
    for attack in link_attacks(truth, [(release, again)]):
        found = measured(attack, "joins", truth, release, targets)
        assert abs(found["published"]["auc"]["value"] - 0.5) < 0.06, found["name"]
        if found["name"] not in ("preferential_attachment", "degree_alignment"):
            assert found["reference"]["auc"]["value"] > 0.9, found["name"]


def test_the_same_graphs_give_the_same_figures(original, other):
    one, two = (run_attacks(original, other, Suite.STANDARD, quiet, [(other, other)]) for _ in range(2))
    assert one == two


def test_without_shadows_the_likelihood_ratio_is_not_run(original, other):
    row = by_name(run_attacks(original, other, Suite.STANDARD, quiet))["likelihood_ratio"]
    assert "No shadow" in row["not_run"]
    assert row["published"] is row["reference"] is None


def test_small_and_complete_relations_are_left_alone():
    few = graph_of(30, (np.arange(10), np.arange(10) + 10))
    full = graph_of(12, np.triu_indices(12, 1))
    for graph, reason in ((few, "fewer than 20"), (full, "fewer than 20 pairs")):
        for row in by_name(run_attacks(graph, graph, Suite.QUICK, quiet)).values():
            assert reason in row["not_run"]


def test_an_empty_release_gives_nothing_away(original):
    none = np.empty(0, dtype=np.int64)
    empty = graph_of(N, (none, none))
    for row in by_name(run_attacks(original, empty, Suite.STANDARD, quiet, [(empty, empty)])).values():
        if row["not_run"] is None:
            assert row["published"]["auc"]["value"] == 0.5, row["name"]


def temporal(steps: int) -> Graph:
    """The clustered links dealt over steps, with a public relation and one between two types beside them."""
    schema = GraphSchema(
        node_types=(NodeType(name="person", count=N), NodeType(name="group", count=240)),
        edge_types=(
            EdgeType(name="talks", source="person", target="person", directed=True, temporal=True),
            EdgeType(name="kin", source="person", target="person", public=True),
            EdgeType(name="joins", source="person", target="group"),
        ),
        time=TimeGrid(count=steps),
    )
    source, target = clustered()
    step = np.arange(len(source)) % steps
    again = np.concatenate([source, target]), np.concatenate([target, source]), np.tile(step, 2)
    tables = {
        "talks": EdgeTable(*again),
        "kin": EdgeTable(source, target),
        "joins": EdgeTable(*clustered_bipartite()),
    }
    return Graph.build(schema, {"person": NodeTable(N), "group": NodeTable(240)}, tables)


def test_steps_and_directions_fold_into_one_static_graph_and_public_relations_are_not_attacked():
    graph = temporal(3)
    found = run_attacks(graph, graph, Suite.QUICK, quiet)
    assert found["degree_signature"]["steps"] == 3
    rows = [(row["edge_type"], row["name"], row["positives"]) for row in found["inference"]]
    links = {"talks": len(clustered()[0]), "joins": graph.edges["joins"].count}
    assert rows == [(relation, name, count) for relation, count in links.items() for name in QUICK]


def test_targets_stay_within_each_attacks_limit(original, other, monkeypatch):
    monkeypatch.setattr(run.heuristics.PreferentialAttachment, "max_targets", 100)
    monkeypatch.setattr(run.heuristics, "SCORERS", (run.heuristics.PreferentialAttachment(),))
    row = by_name(run_attacks(original, other, Suite.STANDARD, quiet))["preferential_attachment"]
    assert (row["positives"], row["negatives"]) == (50, 50)


def test_all_views_are_over_the_same_nodes(original):
    relation = original.schema.edge_types[0]
    assert run.static_view(original, relation).node_count == view_of(N, clustered()).node_count


def test_a_report_holds_the_attacks_on_as_many_relations_as_a_schema_may_have(original):
    found = run_attacks(original, original, Suite.STANDARD, quiet)
    assert [row["name"] for row in found["inference"]] == STANDARD
    Attacks.model_validate(found | {"inference": found["inference"] * MAX_TYPES})
