"""The curators' two scores: their formulas and their bounds."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.evaluation import steps
from core.evaluation.utility import relative
from core.reports.model import GuaranteePart
from core.reports.scores import Score, ScorePart
from core.reports.scoring import advantage, curator_scores, expected
from tests.support.report_parts import (
    NANO,
    anchors,
    attack,
    attacks,
    comparison,
    guarantee,
    public_part,
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


def test_without_a_guarantee_the_curators_protection_is_at_most_five():
    part = public_part([relation("knows", None, 100)], promise=NONE)
    best = curator_scores(
        part.guarantee, comparison(part), attacks(attack(0.5), per_step=0.0, sequence=0.0), ()
    )
    assert best.protection is not None
    assert best.protection.value == pytest.approx(5)


# How far a uniform graph and a resample are off; in the order of the families.
SCALE = {
    "degree_total_variation": (0.5, 0.1),
    "gini": (0.4, 0.0),
    "transitivity": (0.4, 0.0),
    "mean_local_clustering": (0.5, 0.1),
    "assortativity": (0.3, 0.0),
    "modularity": (0.6, 0.1),
    "largest_component_share": (0.1, 0.0),
    "top_eigenvector_overlap": (0.0, 0.9),
    "distance_total_variation": (0.6, 0.2),
    "density": (0.0, 0.0),
}


def measured(**changes) -> dict[str, float]:
    """The curators' utility parts of one comparison with these values in its overall row."""
    part = public_part([relation("knows", None, 100)])
    row = {"step": None, "scalars": {}, "distances": {}} | changes
    scores = curator_scores(
        part.guarantee, comparison(part, overall=row, anchors=anchors(**SCALE)), attacks(), ()
    )
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


def test_every_part_is_read_between_a_uniform_graph_and_a_resample_and_the_worst_of_a_family_counts():
    found = measured(
        scalars={
            "gini": sides(0.5, 0.3),  # half of the way
            "transitivity": sides(0.4, 0.4),  # equality
            "mean_local_clustering": sides(0.6, 0.3),  # (.5 - .3) / (.5 - .1): the worst of clustering
            "assortativity": sides(-0.5, 0.5),  # farther off than chance
            "modularity": sides(0.8, 0.75),  # nearer than a resample
            "largest_component_share": sides(1.0, 0.96),
        },
        distances={
            "degree_total_variation": 0.2,  # (.5 - .2) / (.5 - .1)
            "distance_total_variation": 0.5,
            "top_eigenvector_overlap": 0.6,  # 1 - overlap: (1 - .4) / (1 - .1)
        },
    )
    assert found == pytest.approx(
        {
            "degree": 0.5,
            "clustering": 0.5,
            "assortativity": 0.0,
            "communities": 1.0,
            "components": 0.6,
            "hubs": 0.6 / 0.9,
            "paths": 0.25,
        }
    )


def test_what_chance_gives_earns_nothing_and_losing_it_costs():
    # A uniform graph has the density by construction: being right says nothing, being 30 % off does.
    assert measured(scalars={"density": sides(0.02, 0.02)}) == {}
    assert measured(scalars={"density": sides(0.02, 0.0207)}) == {}
    assert measured(scalars={"density": sides(0.02, 0.026)}) == pytest.approx({"edges": 0.7})
    assert measured(scalars={"density": sides(0.0, 0.5)}) == {"edges": 0.0}


def test_one_empty_snapshot_does_not_spoil_the_density_of_all_others():
    rows = [
        {"scalars": {"density": relative.scalar(a, b)}, "distances": {}}
        for a, b in ((0.0, 0.01), *[(0.1, 0.1)] * 9)
    ]
    assert measured(scalars=steps.mean_row(rows)["scalars"]) == {}  # .001 of .09 on average


def test_a_figure_that_the_release_lacks_counts_as_nothing_where_the_original_has_it():
    part = public_part([relation("knows", 4, 100)], steps=4)
    rows = [
        {"step": t, "scalars": {"transitivity": sides(0.4, 0.4 if t else None)}, "distances": {}}
        for t in range(4)
    ]
    overall = {"step": None, "scalars": {"transitivity": sides(0.4, 0.4)}, "distances": {}}
    of = {"name": "knows", "rows": rows, "means": overall, "degrees": []}
    compared = comparison(part, edge_types=[of], overall=overall, anchors=anchors(transitivity=(0.4, 0.0)))
    assert values(curator_scores(part.guarantee, compared, attacks(), ()).utility) == {"clustering": 0.75}
    none = {"step": None, "scalars": {"transitivity": sides(0.4, None)}, "distances": {}}
    lost = comparison(
        part, edge_types=[of | {"rows": rows[:1]}], overall=none, anchors=anchors(transitivity=(0.4, 0.0))
    )
    assert values(curator_scores(part.guarantee, lost, attacks(), ()).utility) == {"clustering": 0.0}


def test_undefined_parts_are_left_out():
    assert measured(distances={"degree_total_variation": None}) == {}
    assert measured() == {}


def test_without_anchors_nothing_is_scored():
    part = public_part([relation("knows", None, 100)])
    compared = comparison(part, anchors=None)
    assert curator_scores(part.guarantee, compared, attacks(), (task(0.9, 0.9),)).utility is None


def test_meta_paths_count_where_the_whole_graph_was_compared():
    part = public_part([relation("knows", None, 100)])
    empty = {"step": None, "scalars": {}, "distances": {}}
    whole = {
        "rows": [],
        "means": empty,
        "sequences": {"meta_path_total_variation_2": 0.1, "meta_path_total_variation_3": 0.3},
        "node_types": [],
        "meta_paths": [],
    }
    scale = anchors(meta_path_total_variation_2=(0.0, 0.0), meta_path_total_variation_3=(0.5, 0.1))
    compared = comparison(part, overall=empty, whole=whole, anchors=scale)
    found = curator_scores(part.guarantee, compared, attacks(), ()).utility
    assert values(found) == pytest.approx({"meta_paths": 0.5})


def test_the_worst_task_counts_as_the_share_of_what_the_original_teaches():
    part = public_part([relation("knows", None, 100)])
    done = (
        task(0.9, 0.7),
        task(0.9, 0.4),
        task(0.9, 0.95),
        task(0.51, 0.9),
        task(None, None, not_run="no label"),
    )
    score = curator_scores(
        part.guarantee, comparison(part, overall=None), attacks(), done[:1] + done[2:]
    ).utility
    assert values(score) == pytest.approx({"tasks": 0.5})  # the worst of .5 and 1
    assert score is not None
    assert "Link prediction on knows, the worst of 2" in score.parts[0].explanation
    worst = curator_scores(part.guarantee, comparison(part, overall=None), attacks(), done).utility
    assert values(worst) == pytest.approx({"tasks": 0.0})


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


def test_utility_says_in_words_what_it_expects() -> None:
    def part(title: str, value: float) -> ScorePart:
        return ScorePart(name="x", title=title, value=value, weight=1, explanation="x")

    told = expected([part("Degrees", 0.9), part("Hubs", 0.4), part("Edge counts", 0.7), part("Paths", 0.1)])
    assert told == (
        "Expect to find degrees and edge counts about as in the original. "
        "Expect hubs to be right in the rough, and not in detail. "
        "Do not rely on paths: a random graph would say hardly less."
    )
    assert expected([]) == ""
    (whole,) = (expected([part("Degrees", 1.0)]),)
    assert whole == "Expect to find degrees about as in the original."
