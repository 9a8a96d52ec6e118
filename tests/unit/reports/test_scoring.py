"""The two scores: their formulas, their bounds, and what each may look at."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evaluation import steps
from core.evaluation.utility import relative
from core.reports.model import GuaranteePart
from core.reports.scores import Score
from core.reports.scoring import advantage, curator_scores
from tests.support.report_parts import (
    NANO,
    attack,
    attacks,
    comparison,
    guarantee,
    public_part,
    purpose,
    relation,
    task,
)

NONE = guarantee(kind="none", epsilon=None, delta=None)


def promise(**changes) -> GuaranteePart:
    return GuaranteePart.model_validate(guarantee(**changes))


def values(score: Score | None) -> dict[str, float]:
    assert score is not None
    return {part.name: part.value for part in score.parts}


def mean(score: Score) -> float:
    weight = sum(part.weight for part in score.parts)
    return 10 * sum(part.weight * part.value for part in score.parts) / weight


@pytest.mark.parametrize(
    ("epsilon", "delta", "expected"),
    [
        ("0.000000001", "0", 0.0),
        ("1", "0", (math.e - 1) / (math.e + 1)),
        ("1", "0.1", (math.e - 1 + 0.2) / (math.e + 1)),
        ("0.1", "0.00001", (math.exp(0.1) - 1 + 0.00002) / (math.exp(0.1) + 1)),
        ("1000", "0", 1.0),
    ],
)
def test_the_bound_on_an_attackers_advantage(epsilon, delta, expected):
    found = advantage(promise(kind="approximate", epsilon=epsilon, delta=delta))
    assert found == pytest.approx(expected, abs=1e-9)


def test_randomised_response_attains_the_bound():
    # Truth with probability e^eps / (1 + e^eps): the attacker who believes the answer has this advantage.
    truth = 1 / (1 + math.exp(-2))
    assert advantage(promise(epsilon="2")) == pytest.approx(truth - (1 - truth))


@given(st.integers(1, 50 * NANO), st.integers(1, 50 * NANO), st.fractions(0, Fraction(1, 10)))
def test_protection_never_rises_with_epsilon(one, other, delta):
    texts = [f"{min(one, other) / NANO:.9f}", f"{max(one, other) / NANO:.9f}"]
    low, high = (
        advantage(promise(kind="approximate", epsilon=e, delta=f"{float(delta):.18f}")) for e in texts
    )
    assert 0 <= low <= high + 1e-12
    assert high <= 1


def test_without_a_guarantee_public_protection_is_zero_and_the_curators_at_most_five():
    part = public_part([relation("knows", None, 100)], promise=NONE)
    assert part.scores.protection is not None
    assert part.scores.protection.value == 0
    best = curator_scores(
        part.guarantee, comparison(part), attacks(attack(0.5), per_step=0.0, sequence=0.0), ()
    )
    assert best.protection is not None
    assert best.protection.value == pytest.approx(5)


def test_the_public_utility_is_the_expected_precision_of_what_was_paid_for():
    # 100 edges at epsilon 0.1: noise 10. Mean degree 2 at epsilon 0.5: noise 4.
    purposes = [
        purpose("discrete_laplace/edge_count", NANO // 10),
        purpose("discrete_laplace/degrees", NANO // 2),
        purpose("discrete_laplace/group_matrix", NANO),
        purpose("exponential/labels", NANO),
    ]
    score = public_part([relation("knows", None, 100)], purposes=purposes).scores.utility
    assert score is not None
    assert values(score) == pytest.approx({"edge_count_precision": 100 / 110, "degree_precision": 2 / 6})
    assert score.value == pytest.approx(mean(score))
    assert "expected noise 10." in score.parts[0].explanation


def test_operations_share_what_their_purpose_paid():
    rows = [purpose("discrete_laplace/edge_count", 2 * NANO, operations=20)]
    score = public_part([relation("knows", 20, 100)], steps=20, purposes=rows).scores.utility
    assert values(score) == pytest.approx({"edge_count_precision": 100 / 110})


def test_parts_of_one_group_add_their_noise_and_of_whole_measurements_the_best_counts():
    rows = [
        purpose("discrete_laplace/degrees", NANO, purpose="inside", within_group=True),
        purpose("discrete_laplace/degrees", NANO, purpose="outside", within_group=True),
    ]
    grouped = public_part([relation("knows", None, 100)], purposes=rows).scores.utility
    assert values(grouped) == pytest.approx({"degree_precision": 2 / (2 + 4)})
    again = [*rows, purpose("discrete_laplace/degrees", NANO, purpose="again")]
    assert values(
        public_part([relation("knows", None, 100)], purposes=again).scores.utility
    ) == pytest.approx({"degree_precision": 2 / (2 + 2)})


def test_an_edge_between_two_node_types_counts_once_at_each():
    bipartite = relation("likes", None, 100, target="movie")
    sides = [
        bipartite["degrees"][0] | {"side": side, "mean": mean}
        for side, mean in (("source", 1), ("target", 3))
    ]
    rows = [purpose("discrete_laplace/degrees", NANO, "likes")]
    part = public_part([bipartite | {"degrees": sides}], purposes=rows)
    assert values(part.scores.utility) == pytest.approx({"degree_precision": 2 / (2 + 1)})


def test_relations_are_averaged_and_the_least_exact_is_named():
    rows = [purpose("discrete_laplace/edge_count", NANO // 10, name) for name in ("knows", "likes")]
    relations = [relation("knows", None, 100), relation("likes", None, 10)]
    score = public_part(relations, purposes=rows).scores.utility
    assert values(score) == pytest.approx({"edge_count_precision": (100 / 110 + 10 / 20) / 2})
    assert score is not None
    assert "likes: about 10 edges" in score.parts[0].explanation


@pytest.mark.parametrize(
    "rows",
    [
        [],
        [purpose("discrete_laplace/triangles", NANO)],
        [purpose("repeated poisson-sampled gaussian", None)],
        [purpose("discrete_laplace/edge_count", None)],
        [purpose("discrete_laplace/edge_count", NANO, "somewhere else")],
        [purpose("discrete_laplace/edge_count", 0, operations=0)],
    ],
)
def test_what_is_unknown_gives_no_public_utility(rows):
    assert public_part([relation("knows", None, 100)], purposes=rows).scores.utility is None


def test_an_empty_synthetic_graph_has_no_precision():
    assert values(public_part([relation("knows", None, 0)]).scores.utility) == {"edge_count_precision": 0.0}


def measured(**changes) -> dict[str, float]:
    """The curators' utility parts of one comparison with these values in its overall row."""
    part = public_part([relation("knows", None, 100)])
    row = {"step": None, "scalars": {}, "distances": {}} | changes
    scores = curator_scores(part.guarantee, comparison(part, overall=row), attacks(), ())
    return {} if scores.utility is None else values(scores.utility)


def sides(original: float | None, synthetic: float | None) -> dict[str, float | None]:
    known = original is not None and synthetic is not None
    error = abs(original - synthetic) if known else None  # type: ignore[operator]
    return {
        "original": original,
        "synthetic": synthetic,
        "absolute_error": error,
        "relative_error": error / (abs(original) + 1e-15) if error is not None else None,  # type: ignore[arg-type]
    }


def test_every_measured_part_follows_its_formula():
    found = measured(
        scalars={
            "density": sides(0.02, 0.03),
            "transitivity": sides(0.4, 0.1),
            "assortativity": sides(-0.5, 0.5),
            "modularity": sides(0.8, 0.5),
            "largest_component_share": sides(1.0, 0.9),
        },
        distances={
            "degree_total_variation": 0.2,
            "distance_total_variation": 0.4,
            "top_eigenvector_overlap": 0.6,
        },
    )
    assert found == pytest.approx(
        {
            "degree": 0.8,
            "paths": 0.6,
            "density": 0.5,
            "clustering": 0.25,
            "assortativity": 0.5,
            "communities": 0.7,
            "components": 0.9,
            "hubs": 0.6,
        }
    )


def test_one_empty_snapshot_does_not_spoil_the_density_of_all_others():
    rows = [
        {"scalars": {"density": relative.scalar(a, b)}, "distances": {}}
        for a, b in ((0.0, 0.001), *[(0.1, 0.1)] * 9)
    ]
    assert measured(scalars=steps.mean_row(rows)["scalars"])["density"] == pytest.approx(1 - 0.0001 / 0.09)


def test_undefined_parts_are_left_out_and_hopeless_ones_stay_at_zero():
    scalars = {"density": sides(0.0, 0.5), "transitivity": sides(None, 0.5), "modularity": sides(-0.5, 1.0)}
    assert measured(scalars=scalars, distances={"degree_total_variation": None}) == {
        "density": 0.0,
        "communities": 0.0,
    }
    assert measured() == {}
    assert measured(scalars={"transitivity": sides(0.0, 0.0)}) == {"clustering": 1.0}


def test_meta_paths_count_where_the_whole_graph_was_compared():
    part = public_part([relation("knows", None, 100)])
    empty = {"step": None, "scalars": {}, "distances": {}}
    whole = {
        "rows": [],
        "means": empty,
        "sequences": {"meta_path_total_variation_2": 0.1, "meta_path_total_variation_3": None},
        "node_types": [],
        "meta_paths": [],
    }
    compared = comparison(part, overall=None, whole=whole)
    assert values(curator_scores(part.guarantee, compared, attacks(), ()).utility) == pytest.approx(
        {"meta_paths_2": 0.9}
    )


def test_tasks_count_as_the_share_of_what_the_original_teaches():
    part = public_part([relation("knows", None, 100)])
    done = (
        task(0.9, 0.7),
        task(0.9, 0.4),
        task(0.9, 0.95),
        task(0.51, 0.9),
        task(None, None, not_run="no label"),
    )
    score = curator_scores(part.guarantee, comparison(part, overall=None), attacks(), done).utility
    assert values(score) == pytest.approx({"tasks": (0.5 + 0 + 1) / 3})


def test_protection_weighs_the_guarantee_as_much_as_all_attacks():
    part = public_part([relation("knows", None, 100)])
    found = attacks(attack(0.55), attack(0.2), attack(0.9, published=None), per_step=0.1, sequence=0.3)
    compared = comparison(part)
    score = curator_scores(part.guarantee, compared, found, ()).protection
    assert score is not None
    weights = {p.name: p.weight for p in score.parts}
    assert weights == {"guarantee": 1.0, "inference": 0.5, "degree_signature": 0.5}
    shown = values(score)
    assert shown["inference"] == pytest.approx(1 - 0.6)  # AUC 0.2 tells as much as AUC 0.8
    nodes = round(sum(b.original for b in compared.edge_types[0].degrees[0].bins))
    assert shown["degree_signature"] == pytest.approx(1 - (0.3 - 1 / nodes) / (1 - 1 / nodes))
    assert score.value == pytest.approx(mean(score))
    alone = curator_scores(part.guarantee, compared, attacks(), ()).protection
    assert alone is not None
    assert {p.name: p.weight for p in alone.parts} == {"guarantee": 1.0, "degree_signature": 1.0}


def test_an_attack_at_guessing_costs_nothing_and_a_perfect_one_everything():
    part = public_part([relation("knows", None, 100)])
    for auc, kept in ((0.5, 1.0), (1.0, 0.0), (0.0, 0.0)):
        score = curator_scores(part.guarantee, comparison(part), attacks(attack(auc)), ()).protection
        assert values(score)["inference"] == pytest.approx(kept)


def test_what_the_targets_give_away_counts_neither_for_nor_against_a_release():
    part = public_part([relation("knows", None, 100)])
    control = attack(0.7, control=True)
    for auc, kept in ((0.7, 1.0), (0.85, 0.5), (0.6, 1.0), (1.0, 0.0)):
        score = curator_scores(part.guarantee, comparison(part), attacks(attack(auc), control), ()).protection
        assert values(score)["inference"] == pytest.approx(kept)


def test_a_task_that_tells_structures_hardly_apart_does_not_count():
    part = public_part([relation("knows", None, 100)])
    weak = task(0.9, 0.4).model_copy(update={"name": "node_classification_transfer"})
    score = curator_scores(part.guarantee, comparison(part, overall=None), attacks(), (task(0.9, 0.9), weak))
    assert values(score.utility) == pytest.approx({"tasks": 1.0})
