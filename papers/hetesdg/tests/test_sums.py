"""Gaussian sums: what they cost, what they refuse, that they rank links, and whose neighbours they sum."""

import numpy as np
import pytest
from pydantic import ValidationError
from sklearn.metrics import roc_auc_score

from core.errors import NotAccepted
from core.methods.base import no_progress
from core.privacy.accounting.plan import GuaranteeKind
from core.privacy.entropy import public_generator
from papers.hetesdg import GENERATOR
from papers.hetesdg.budget import granted
from papers.hetesdg.params import HeteParams
from papers.hetesdg.sound.sums import CONSTANT, row_of
from papers.hetesdg.tests import toys as toys
from papers.hetesdg.tests.toys import fit, typed

DELTA = 10**13
SUMS = {"mechanism": "gaussian-sums", "release": ("embedding",)}


def plan(epsilon=1.0, delta_atto=DELTA, **options):
    facts = toys.facts(typed(), epsilon, delta_atto)
    return GENERATOR.plan(GENERATOR.Params(**{**SUMS, **options}), facts)


@pytest.fixture(scope="module")
def graph():
    return typed()


@pytest.mark.parametrize("options", [{"release": ("graph",)}, {"learn": "link-sgd"}])
def test_graphs_and_predictors_are_made_from_histograms(options):
    with pytest.raises(ValidationError):
        HeteParams(**{**SUMS, **options})


def test_it_needs_a_delta():
    with pytest.raises(NotAccepted) as found:
        plan(delta_atto=0)
    assert found.value.members["field"] == "delta"


@pytest.mark.parametrize(("hops", "reads"), [("off", 4), ("on", 8)])
def test_all_reads_of_a_relation_cost_epsilon_together(hops, reads):
    asked = plan(second_hop=hops)
    cost = asked.cost()
    assert cost.kind is GuaranteeKind.APPROXIMATE
    assert 0.95e9 < cost.nano_epsilon <= 10**9
    assert len(asked.allotments) == reads
    assert granted(asked).followed == (hops == "on")
    noise = set(granted(asked).sums.values())
    assert len(noise) == 1
    assert (float(noise.pop()) > 5) == (hops == "on")  # sqrt 2 of the noise of one read, 3.73


def test_rows_of_nodes_may_stand_beside(graph):
    model, meter = fit(
        graph, 8.0, delta_atto=DELTA, rows=True, row_width=8, **{**SUMS, "release": ("features", "embedding")}
    )
    assert set(model.vectors()) == {"features", "embedding"}
    assert meter.transcript[0].edge_type == "rows:author"


def test_rows_have_length_one_and_say_nothing_where_nothing_is_known():
    rows = row_of(np.array([[3.0, 4.0, 0, 0, 9], [0, 0, 0, 0, 1]]))
    np.testing.assert_allclose((rows**2).sum(axis=1), [1.0, CONSTANT])
    np.testing.assert_array_equal(row_of(np.empty((2, 0))), np.ones((2, 1)))


def test_sums_are_those_of_the_neighbours(graph):
    model, _ = fit(graph, 400.0, delta_atto=DELTA, **SUMS, second_hop="off")
    columns = model.cells["writes", None]
    rows, sums = (columns[name].reshape(-1, int(columns["width"][0])) for name in ("rows", "sums"))
    true = np.zeros((toys.AUTHORS, rows.shape[1]))
    np.add.at(true, graph.edges["writes"].source, rows[graph.edges["writes"].target])
    assert np.abs(sums - true).max() < 1  # the noise's deviation is .04


def test_scores_tell_links_from_other_pairs(graph):
    model, _ = fit(graph, 8.0, delta_atto=DELTA, **SUMS, second_hop="off")
    rng = np.random.default_rng(1)
    for relation, least in (("writes", 0.75), ("knows", 0.55)):
        table, declared = graph.edges[relation], graph.schema.edge_type(relation)
        sizes = graph.nodes[declared.source].count, graph.nodes[declared.target].count
        other = [rng.integers(0, size, table.count) for size in sizes]
        ends = [np.concatenate(each) for each in zip((table.source, table.target), other, strict=True)]
        score = roc_auc_score(np.repeat([1, 0], table.count), model.scores(relation, *ends))
        assert score > least, relation
    pairs = np.array([0, 1]), np.array([2, 3])
    np.testing.assert_allclose(model.scores("knows", *pairs), model.scores("knows", *pairs[::-1]))


def test_two_hops_reach_the_type_that_they_start_from(graph):
    """With hardly any noise, papers whose authors write in one class get vectors that tell it."""
    one, other = (
        fit(graph, 100.0, delta_atto=DELTA, names=("writes",), **SUMS, second_hop=hops)[0].vectors()
        for hops in ("off", "on")
    )
    assert one["embedding"]["paper"].shape[1] < other["embedding"]["paper"].shape[1]
    assert one["embedding"]["author"].shape == other["embedding"]["author"].shape
    own = other["embedding"]["paper"]
    width = one["embedding"]["paper"].shape[1]
    linked = np.bincount(graph.edges["writes"].target, minlength=toys.PAPERS) > 0
    # What comes back over the authors tells of a paper's own words.
    near = np.linalg.lstsq(own[linked, width:], own[linked, :width], rcond=None)[1]
    assert near.sum() < 0.8 * np.square(own[linked, :width]).sum()


def test_files_come_back_and_the_graph_is_empty(graph, tmp_path):
    model, _ = fit(graph, 2.0, delta_atto=DELTA, **SUMS)
    model.save(tmp_path)
    again = GENERATOR.load(tmp_path)
    pairs = np.array([0, 1]), np.array([2, 3])
    for name in ("writes", "about", "knows"):
        np.testing.assert_array_equal(model.scores(name, *pairs), again.scores(name, *pairs))
    drawn = again.sample(public_generator(1), no_progress)
    assert all(table.count == 0 for table in drawn.edges.values())
