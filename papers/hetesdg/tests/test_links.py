"""Graphs whose links a predictor chooses: degrees stay, partners follow its odds, files say the same."""

from dataclasses import replace

import numpy as np
import pytest
from pydantic import ValidationError

from core.methods.base import no_progress
from core.privacy.entropy import public_generator
from papers.hetesdg import GENERATOR
from papers.hetesdg.params import HeteParams
from papers.hetesdg.tests import toys as toys
from papers.hetesdg.tests.toys import fit, typed

LEARNED = {"learn": "link-sgd", "links": "predictor", "steps": 2, "negatives": 20, "count_share": 0.1}
RELATIONS = ("writes", "cites", "knows")


@pytest.fixture(scope="module")
def model():
    return fit(typed(), 8.0, delta_atto=10**13, names=RELATIONS, **LEARNED)[0]


def drawn(model, links):
    params = model.params.model_copy(update={"links": links})
    return replace(model, params=params).sample(public_generator(1), no_progress)


@pytest.mark.parametrize("options", [{"learn": "off"}, {"release": ("embedding",)}])
def test_links_need_a_predictor_and_a_graph(options):
    with pytest.raises(ValidationError):
        HeteParams.varied(**{**LEARNED, **options})


@pytest.mark.parametrize("relation", RELATIONS)
def test_degrees_stay_and_links_are_simple(model, relation):
    alone = replace(model, cells={(relation, None): model.cells[relation, None]})
    sizes = [model.nodes[getattr(model.schema.edge_type(relation), end)] for end in ("source", "target")]
    found = []
    for links in ("tables", "predictor"):
        table = drawn(alone, links).edges[relation]
        ends = [np.bincount(e, minlength=n) for e, n in zip((table.source, table.target), sizes, strict=True)]
        found.append([ends[0] + ends[1]] if relation == "knows" else ends)
        keys = table.source.astype(np.int64) * sizes[1] + table.target
        assert len(np.unique(keys)) == len(keys) > 100
        assert relation == "writes" or (table.source != table.target).all()
    for one, other in zip(*found, strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("relation", RELATIONS)
def test_partners_follow_the_odds(model, relation):
    """Latent vectors that put every node into one of two halves: links inside a half have odds of e^3."""
    declared = model.schema.edge_type(relation)
    halves = {kind: np.arange(count) % 2 for kind, count in model.nodes.items()}
    ends = [np.eye(2)[halves[kind]].astype(np.float32) for kind in (declared.source, declared.target)]
    # An undirected pair is scored both ways: half of the weight each.
    weight = 1.5 if relation == "knows" else 3.0
    planted = replace(model, latents={**model.latents, relation: (weight * ends[0], ends[1])})
    share = []
    for links in ("tables", "predictor"):
        table = drawn(planted, links).edges[relation]
        share.append(np.mean(halves[declared.source][table.source] == halves[declared.target][table.target]))
    assert share[0] == pytest.approx(0.5, abs=0.1)
    # Both halves have about as many ends, so that within half w and across a: w^2 / a^2 = e^6.
    assert share[1] == pytest.approx(1 / (1 + np.exp(-3)), abs=0.04)


def test_files_come_back(model, tmp_path):
    model.save(tmp_path)
    again = GENERATOR.load(tmp_path)
    one, other = (each.sample(public_generator(4), no_progress) for each in (model, again))
    assert one.equals(other)
    assert one.edges["writes"].count > 100
    assert one.edges["writes"].source.max() < toys.AUTHORS
