"""dcsbm: what each read costs, what comes back without noise, presets, and the draw's arithmetic."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError

from core.methods._shared.blocks.whole import whole_blocks
from core.methods._shared.rewiring.products import degree_covariance, product_aim
from core.methods.base import no_progress
from core.methods.dcsbm import GENERATOR, DCSBMParams
from core.methods.dcsbm.fit import groups_for, groups_of, shares, without_labels
from core.methods.dcsbm.params import PRESETS
from core.privacy.accounting.events import pure_nano_epsilon
from core.privacy.entropy import public_generator
from core.privacy.mechanisms.clustering import damped_clustering, damping_of
from core.privacy.units import Unit
from tests.support.generating import NANO, drawn, fit, graph_of, random_pairs, rows_of
from tests.support.groups import examples

NODES = 120
PLENTY = 1_000  # epsilon at which next to no noise is left


def planted(nodes: int = NODES, groups: int = 3, seed: int = 4) -> np.ndarray:
    """Equal communities, dense inside."""
    ends = np.stack(np.triu_indices(nodes, 1), axis=1)
    same = ends[:, 0] % groups == ends[:, 1] % groups
    return ends[np.random.default_rng(seed).random(len(ends)) < np.where(same, 0.5, 0.02)]


def degrees_of(ends: np.ndarray, nodes: int) -> np.ndarray:
    return np.bincount(np.asarray(ends)[:, :2].ravel(), minlength=nodes)


def triangles_of(ends: np.ndarray, nodes: int) -> int:
    matrix = np.zeros((nodes, nodes))
    matrix[ends[:, 0], ends[:, 1]] = matrix[ends[:, 1], ends[:, 0]] = 1
    return round(np.trace(matrix @ matrix @ matrix) / 6)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_reads_of_a_preset_cost_epsilon_in_all(preset):
    _, meter = fit(GENERATOR, graph_of(random_pairs(200, 0.02), 200), 1, preset=preset)
    costs = {entry.purpose: pure_nano_epsilon(entry.event) for entry in meter.transcript}
    assert sum(costs.values()) == NANO
    # too few edges a node for labels, whatever the count's noise
    first = ["edge count", "degrees", "degree tails", "edges inside and between labels"]
    if preset == "small":
        first = ["edge count", "degrees", "degree tails", "edges inside and between labels", "triangles"]
    assert list(costs)[: len(first)] == first
    assert ("clustering" in costs) == (preset in ("default", "who"))
    assert ("degree products over edges" in costs) == (preset != "plane")
    assert len(costs) == len(meter.transcript)


def test_a_window_s_steps_share_epsilon_and_a_pair_pays_in_every_step():
    graph = graph_of(random_pairs(20, 0.2), 20, steps=4)
    for unit, window, parts in ((Unit.W_EVENT, 2, 2), (Unit.PAIR, None, 4), (Unit.EVENT, None, 1)):
        _, meter = fit(GENERATOR, graph, 1, unit=unit, window=window)
        spent = [0] * 4
        for entry in meter.transcript:
            spent[entry.step] += pure_nano_epsilon(entry.event)
        assert spent == [NANO // parts] * 4


@given(st.integers(1_000, 10**12), st.sampled_from(list(PRESETS)))
def test_shares_use_up_epsilon(total, preset):
    found = shares(DCSBMParams(preset=preset), total)
    assert sum(found.values()) == total
    assert min(found.values()) >= 1


def test_presets_fill_what_is_not_set():
    assert DCSBMParams() == DCSBMParams(preset="default")
    small = DCSBMParams(preset="small", tail_share=0.07)
    assert (small.tail_share, small.way.proposals) == (0.07, 150)
    assert small.degree_share == PRESETS["small"]["degree_share"]
    assert DCSBMParams.model_validate(small.model_dump(mode="json")) == small


@pytest.mark.parametrize("preset", ["first", "balanced", "spectral"])
def test_a_stored_job_of_a_preset_that_is_gone_is_refused_by_name(preset):
    with pytest.raises(ValueError, match=r"Retired parameter spread: the method goes by 0\.03"):
        DCSBMParams.model_validate({"preset": preset, "spread": 0.02, "proposals": 15.0})
    with pytest.raises(ValueError, match="Input should be 'default', 'small', 'who' or 'plane'"):
        DCSBMParams.model_validate({"preset": preset})


@pytest.mark.parametrize(
    "wrong",
    [
        {"preset": "best"},
        {"preset": 3},
        {"groups": 0},
        {"degree_share": 0},
        {"degree_share": 0.9, "block_share": 0.09},
        {"triangle_share": 0},
        {"triangle_share": 0, "product_share": 0},
        {"tail_share": 0.8},
    ],
)
def test_parameters_have_bounds(wrong):
    with pytest.raises(ValidationError):
        DCSBMParams(**wrong)


def test_without_noise_degrees_labels_and_triangles_come_back():
    ends = planted()
    model, _ = fit(GENERATOR, graph_of(ends, NODES), PLENTY, groups=3, proposals=200)
    labels = model.cells["edge", None]["labels"]
    # The first nodes of the order choose among few neighbours: a handful may stay where they should not.
    shares = [np.bincount(labels[community::3], minlength=3) / (NODES // 3) for community in range(3)]
    assert min(share.max() for share in shares) >= 0.8
    assert len({int(share.argmax()) for share in shares}) == 3
    found = rows_of(model.sample(public_generator(3), no_progress))
    assert len(found) == len(ends)
    np.testing.assert_array_equal(degrees_of(found, NODES), degrees_of(ends, NODES))
    inside, wanted = ((labels[pairs[:, 0]] == labels[pairs[:, 1]]).sum() for pairs in (found, ends))
    assert abs(inside - wanted) <= 2
    assert triangles_of(found, NODES) == pytest.approx(triangles_of(ends, NODES), rel=0.02)


@pytest.mark.audits
def test_without_noise_degree_products_come_back():
    """A graph whose hubs avoid one another; its blocks alone do not say so."""
    rng = np.random.default_rng(6)
    hubs, rest = np.arange(12), np.arange(12, NODES)
    star = [(h, v) for h in hubs for v in rng.choice(rest, 30, replace=False)]
    ends = np.unique(
        np.array(star + [(int(a), int(b)) for a, b in rng.choice(rest, (90, 2)) if a < b]), axis=0
    )
    graph = graph_of(ends, NODES)

    def product(found) -> int:
        degree = degrees_of(found, NODES)
        return int((degree[found[:, 0]] * degree[found[:, 1]]).sum())

    steered = rows_of(drawn(GENERATOR, graph, PLENTY, groups=1))
    free = rows_of(drawn(GENERATOR, graph, PLENTY, groups=1, product_share=0))
    # Off by 0.012 with a deviation of 0.006, and by 0.19 with one of 0.026.
    assert abs(product(steered) / product(ends) - 1) < 0.05 < abs(product(free) / product(ends) - 1)


def test_isolated_nodes_stay_possible():
    ends = planted(60)
    found = rows_of(drawn(GENERATOR, graph_of(ends, NODES), PLENTY))
    assert (degrees_of(found, NODES)[60:] == 0).all()


@pytest.mark.parametrize("epsilon", [0.1, 1, pytest.param(PLENTY, marks=pytest.mark.audits)])
@pytest.mark.parametrize(
    ("nodes", "share"), [(1, 0), (2, 0), (2, 1), (3, 1), (40, 0), (40, 1)], ids=lambda value: str(value)
)
def test_graphs_at_the_limits(nodes, share, epsilon):
    ends = random_pairs(nodes, share + 1e-9 if share == 0 else 1)
    found = rows_of(drawn(GENERATOR, graph_of(ends, nodes), epsilon))
    assert (found[:, 0] < found[:, 1]).all()
    assert len(np.unique(found, axis=0)) == len(found) <= nodes * (nodes - 1) // 2
    if epsilon == PLENTY:
        assert len(found) == len(ends)


@given(st.integers(1_000, 10**12), st.floats(0, 0.3), st.floats(0, 0.3))
def test_without_labels_their_share_goes_to_the_other_reads(total, tail, clustering):
    budget = shares(DCSBMParams(tail_share=tail, clustering_share=clustering), total)
    rest = without_labels(budget)
    assert sum(rest.values()) == total
    assert set(rest) == set(budget) - {"label"}
    assert all(rest[name] >= budget[name] for name in rest)
    assert rest["block"] == budget["block"]


def test_a_paid_number_of_edges_says_whether_there_are_labels():
    label = 530_000_000
    assert groups_of(88_234, 4_039, label, NANO) == 6
    assert groups_of(27_806, 7_624, label, NANO) == 1
    assert groups_of(-40, 50, label, NANO) == 1
    assert groups_of(10**9, 50, label, NANO) == 16
    # Half the epsilon: half the evidence, and less is asked for.
    assert groups_of(88_234, 4_039, label // 2, NANO // 2) == 3
    assert groups_of(31_371, 2_277, label // 2, NANO // 2) == 1
    assert groups_of(16_715, 1_490, label, NANO) == 1
    assert groups_of(31_371, 2_277, label, NANO) == 4


def test_one_label_is_not_paid_for():
    _, meter = fit(GENERATOR, graph_of(planted(), NODES), 1, groups=1)
    assert "labels" not in [entry.purpose for entry in meter.transcript]
    assert sum(pure_nano_epsilon(entry.event) for entry in meter.transcript) == NANO
    _, meter = fit(GENERATOR, graph_of(planted(), NODES), 1, groups=2)
    assert "labels" in [entry.purpose for entry in meter.transcript]


def test_noisy_triangles_lean_on_a_public_guess():
    """A star has no triangles and many paths: a guess says much of it while epsilon says little."""
    star = np.array([(0, leaf) for leaf in range(1, NODES)])

    def aimed(epsilon: float, transitivity: float | None) -> int:
        model, _ = fit(GENERATOR, graph_of(star, NODES), epsilon, preset="small", transitivity=transitivity)
        return int(model.cells["edge", None]["triangles"][0])

    assert DCSBMParams(preset="small").transitivity == 0.1
    assert np.median([aimed(0.5, 1.0) for _ in range(21)]) > 30 > aimed(0.5, 0.0)
    assert aimed(PLENTY, 1.0) == aimed(PLENTY, None) == 0


@pytest.mark.audits
def test_without_noise_clustering_comes_back():
    """Triangles of their own beside a dense part without any: their number alone would close them there."""
    rng = np.random.default_rng(3)
    apart = [(3 * c + i, 3 * c + j) for c in range(80) for i in range(3) for j in range(i)]
    dense = [(240 + a, 260 + b) for a in range(20) for b in range(100) if rng.random() < 0.25]
    ends = np.array([*apart, *dense])

    def clustering(**params) -> int:
        found = rows_of(drawn(GENERATOR, graph_of(ends, 3 * NODES), PLENTY, groups=1, **params))
        return summed(np.asarray(found))

    def summed(pairs) -> int:
        source, target = pairs[:, :2].T.astype(np.int64)
        return damped_clustering(source, target, 3 * NODES, damping_of(3 * NODES, 8))[0]

    assert 0.8 < clustering() / summed(ends) < 1.1  # of 60 fits: .88 to .97; .29 to .41 without
    assert clustering(clustering_share=0) < 0.6 * summed(ends)


def test_the_number_of_labels_follows_the_noisy_mean_degree():
    assert groups_for(np.full(50, 40), NANO) == 10
    assert groups_for(np.full(50, 40), NANO // 20) == 2
    assert groups_for(np.full(50, -3), NANO) == 2
    assert groups_for(np.full(50, 10**6), NANO) == 16


@settings(max_examples=examples(60), deadline=None)
@given(st.data())
def test_whole_blocks_use_up_every_label_s_ends(data):
    groups = data.draw(st.integers(1, 6))
    counts = np.array(
        data.draw(
            st.lists(
                st.floats(0, 200), min_size=groups * (groups + 1) // 2, max_size=groups * (groups + 1) // 2
            )
        )
    )
    labels = np.array(data.draw(st.lists(st.integers(0, groups - 1), min_size=2, max_size=30)))
    degrees = np.array(data.draw(st.lists(st.integers(0, 40), min_size=len(labels), max_size=len(labels))))
    degrees[0] += degrees.sum() % 2
    blocks = whole_blocks(counts, labels, degrees, public_generator(1))
    assert (blocks.edges >= 0).all()
    ends = np.bincount(blocks.row, weights=blocks.edges, minlength=groups)
    ends += np.bincount(blocks.column, weights=blocks.edges, minlength=groups)
    np.testing.assert_array_equal(ends, np.bincount(labels, weights=degrees, minlength=groups))


def test_whole_blocks_keep_counts_that_fit():
    counts = np.array([30.0, 4.0, 50.0])
    labels = np.array([0, 0, 1, 1])
    blocks = whole_blocks(counts, labels, np.array([32, 32, 52, 52]), public_generator(1))
    assert np.abs(blocks.edges - counts).max() <= 1


def test_the_covariance_of_degrees_has_no_bias_from_their_noise():
    """Noisy degrees of a graph with known degrees: the mean end degree comes back on average."""
    rng = np.random.default_rng(2)
    degree = rng.integers(1, 60, 4_000)
    edges, mean = degree.sum() / 2, (degree**2).sum() / degree.sum()
    scale = 8.0
    noisy = degree + np.rint(rng.laplace(0, scale, (30, 4_000))).astype(int)
    found = [degree_covariance(0, edges, row, int(2 / scale * NANO), NANO)[0] for row in noisy]
    assert np.mean(np.sqrt(-np.array(found))) == pytest.approx(mean, rel=0.01)


def test_an_exact_covariance_is_aimed_at_and_a_noisy_one_hardly():
    keys = np.sort([low * 5 + high for low, high in [(0, 1), (0, 2), (0, 3), (3, 4)]])
    degree = np.array([3, 1, 1, 2, 1])
    own = 3 * 1 + 3 * 1 + 3 * 2 + 2 * 1
    mean = (degree**2).sum() / 8
    assert product_aim(keys, 5, 0.1, 0.0, 0.05) == int(4 * (mean**2 + 0.1))
    assert abs(product_aim(keys, 5, 0.1, 1e6, 0.05) - own) <= 1


def test_no_sum_of_degree_products_far_below_the_drawn_graphs_is_aimed_at():
    """A covariance that was told at the degrees of larger hubs would ask for a sum below 0."""
    star = [(0, leaf) for leaf in range(1, 30)]
    clique = [(low, high) for low in range(30, 38) for high in range(low + 1, 38)]
    keys = np.sort([low * 38 + high for low, high in star + clique])
    own = 29 * 29 + 28 * 49
    assert product_aim(keys, 38, -1e6, 0.0, 100.0) == own // 2
