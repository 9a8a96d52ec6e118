"""All reads of a fit together, training included, on a small typed graph and on every neighbour of it."""

from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import torch

from core.graphs.schema import EdgeType, GraphSchema
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.methods.base import PublicFacts
from core.privacy import queries
from core.privacy.accounting.dp_sgd import DpSgd
from core.privacy.mechanisms import gradients
from core.privacy.mechanisms.gradients import DpSgdSession
from core.privacy.reads import edge_values
from core.privacy.units import Unit
from papers._shared.walks.layout import keys_of
from papers.thepuff import GENERATOR, budget, embedding, state, utility
from papers.thepuff import fit as reads
from papers.thepuff import perturb as thepuff_perturb
from papers.thepuff.networks import Discriminator
from papers.thepuff.paid import KEYS
from papers.thepuff.paid import TRAINING as TRAINED
from papers.thepuff.snapshots import Snapshots
from papers.thepuff.walks import Walks, edge_anchored
from tests.support.typed_neighbours import (
    MANY_STEPS,
    built,
    one_edge,
    one_pair,
    one_window,
    require_hidden,
    schema_of,
    some,
    told,
)

NANO, DELTA, WINDOW = 4 * 10**9, 10**13, 2
CHANCE = "papers.thepuff.fit"
TIMED = (
    EdgeType(name="sees", source="user", target="film", temporal=True, once=True),
    EdgeType(name="knows", source="user", target="user", temporal=True),
    EdgeType(name="follows", source="user", target="user", directed=True, temporal=True),
)
FIXED = (
    EdgeType(name="has", source="film", target="genre"),
    EdgeType(name="likes", source="user", target="user"),
)
CARRIED = (
    EdgeAttribute(name="stars", kind="integer", bounds=(1, 3), aggregate="max"),
    EdgeAttribute(name="sort", kind="category", categories=("a", "b"), aggregate="max"),
)
SHORT = {"epochs": 1, "most_batches": 1, "utility": True, "utility_steps": 2}
OPTIONS = [
    {**SHORT, "bias": "hat"},
    {"epochs": 1, "most_batches": 1},
    {**SHORT, "privacy": False},
]


@pytest.fixture(autouse=True)
def _quick(monkeypatch):
    """Small graphs need few walks; batches are padded to whole chunks."""
    monkeypatch.setattr(embedding, "FEWEST_WALKS", 20)
    monkeypatch.setattr(state, "PATTERNS", 50)
    monkeypatch.setattr(gradients, "MAX_CHUNK", 32)
    monkeypatch.setattr(budget, "NODES_A_STEP", 1)


@pytest.fixture(autouse=True)
def _an_edge_has_coins_of_its_own(monkeypatch):
    """Coins have one law for every edge; here they follow from the edge, wherever it stands in a batch.

    And every gradient is as long as it may be.
    """

    def anchored(snapshots, steps, source, target, length, rng, *, places):
        edges = np.stack([steps, source, target], axis=1)
        rows = [
            edge_anchored(
                snapshots, *edge.reshape(3, 1), length, np.random.default_rng(edge), places=places
            ).nodes
            for edge in edges
        ]
        return Walks(steps, np.concatenate(rows))

    monkeypatch.setattr(utility, "edge_anchored", anchored)
    monkeypatch.setattr(utility, "CLIP", 1e-3)


class Kept:
    """The method with a checkpoint, whose files count as its model's."""

    Params, plan = GENERATOR.Params, staticmethod(GENERATOR.plan)

    def __init__(self, folder) -> None:
        self.folder = folder

    def fit(self, *arguments):
        return GENERATOR.fit(*arguments, self.folder)


def fitted(generator, schema: GraphSchema, unit: Unit, folder, cells, options: dict):
    names = tuple(each.name for each in schema.edge_types)
    params = generator.Params(**options)
    delta = DELTA if getattr(params, "utility", False) else 0
    facts = PublicFacts(schema, unit, WINDOW if unit is Unit.W_EVENT else None, NANO, delta, names)
    return told(generator, params, facts, built(schema, cells), folder, CHANCE)


def every_edge(schema: GraphSchema, unit: Unit, folder, options: dict, generator=GENERATOR) -> None:
    cells = some(schema)
    one = fitted(generator, schema, unit, folder / "one", cells, options)
    for number, (cell, other) in enumerate(one_edge(schema, cells)):
        require_hidden(one, fitted(generator, schema, unit, folder / str(number), other, options), cell)


def test_an_event_moves_all_answers_by_no_more_than_it_paid(tmp_path):
    every_edge(schema_of(*TIMED, FIXED[0]), Unit.EVENT, tmp_path, SHORT)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_other_forms_read_no_more(options, tmp_path):
    every_edge(schema_of(TIMED[1], FIXED[0]), Unit.EVENT, tmp_path, options)


def test_an_edge_of_a_graph_without_time_moves_all_answers_by_no_more_than_it_paid(tmp_path):
    every_edge(schema_of(*FIXED), Unit.EDGE, tmp_path, SHORT)


@pytest.mark.parametrize(
    "relations", [TIMED[:1], pytest.param((TIMED[1], FIXED[0]), marks=pytest.mark.slow)], ids=len
)
def test_what_an_event_carries_moves_no_answer_by_more_than_it_paid(relations, tmp_path):
    carried = [each.model_copy(update={"attributes": CARRIED}) for each in relations]
    every_edge(schema_of(*carried), Unit.EVENT, tmp_path, {**SHORT, "attribute_share": 0.4})


def test_values_that_are_paid_for_in_one_step_alone_are_caught(monkeypatch, tmp_path):
    """A read of all steps together tells of an edge in any of them."""
    monkeypatch.setattr(edge_values, "charged_together", lambda unit, steps: list(steps)[:1])
    schema = schema_of(TIMED[0].model_copy(update={"attributes": CARRIED}))
    cells, options = some(schema), {**SHORT, "attribute_share": 0.4}
    *_, (cell, other) = one_edge(schema, cells)
    fits = [
        fitted(GENERATOR, schema, Unit.EVENT, tmp_path / str(number), each, options)
        for number, each in enumerate((cells, other))
    ]
    with pytest.raises(AssertionError):
        require_hidden(*fits, cell)


def test_a_checkpoint_holds_what_was_paid_for_alone(tmp_path):
    schema = schema_of(TIMED[0])
    cells = some(schema)
    other = next(other for _, other in one_edge(schema, cells))
    fits = []
    for number, each in enumerate((cells, other)):
        folder = tmp_path / str(number)
        fits.append(fitted(Kept(folder / "kept"), schema, Unit.EVENT, folder, each, SHORT))
    require_hidden(*fits, ("sees", 0))
    assert {Path("kept", KEYS), Path("kept", TRAINED)} <= fits[0].files.keys()


def test_perturbation_alone_under_every_unit(tmp_path):
    puff = thepuff_perturb.GENERATOR
    every_edge(schema_of(*TIMED, FIXED[0]), Unit.EVENT, tmp_path / "event", {}, puff)
    every_edge(schema_of(*FIXED), Unit.EDGE, tmp_path / "edge", {}, puff)
    schema = schema_of(TIMED[0], TIMED[2], FIXED[1])
    for number, pair in enumerate(one_pair(schema, some(schema))):
        folder = tmp_path / f"pair{number}"
        fits = [fitted(puff, schema, Unit.PAIR, folder / str(i), each, {}) for i, each in enumerate(pair)]
        require_hidden(*fits)
    schema = schema_of(*MANY_STEPS, FIXED[0], steps=3)
    one = fitted(puff, schema, Unit.W_EVENT, tmp_path / "one", some(schema), {})
    for number, other in enumerate(one_window(schema, some(schema), WINDOW)):
        require_hidden(one, fitted(puff, schema, Unit.W_EVENT, tmp_path / f"w{number}", other, {}))


def test_walks_that_are_extended_through_the_original_graph_are_caught(monkeypatch, tmp_path):
    """One edge then bends the walks of all edges near it."""
    own, true = utility.edge_anchored, reads.fit_sound
    private = None

    def watched(method, graph, *arguments):
        nonlocal private
        private = graph._graph
        return true(method, graph, *arguments)

    def anchored(snapshots, *arguments, **named):
        assert private is not None
        raw = Snapshots.of(snapshots.layout, keys_of(private, snapshots.layout), snapshots.counts)
        return own(raw, *arguments, **named)

    monkeypatch.setattr(reads, "fit_sound", watched)
    monkeypatch.setattr(utility, "edge_anchored", anchored)
    with pytest.raises(AssertionError):
        every_edge(schema_of(TIMED[0]), Unit.EVENT, tmp_path, SHORT)


def test_gradients_of_twice_the_length_are_caught(monkeypatch, tmp_path):
    true = DpSgdSession._on_grid
    monkeypatch.setattr(DpSgdSession, "_on_grid", lambda self, flat: 2 * true(self, flat))
    with pytest.raises(AssertionError):
        every_edge(schema_of(TIMED[0]), Unit.EVENT, tmp_path, SHORT)


def test_an_undirected_edge_that_is_said_to_have_one_end_is_caught(monkeypatch, tmp_path):
    true = queries.QUERIES["degrees"]
    one_end = lambda shape, **asked: replace(true(shape, **asked), l1_sensitivity=1)  # noqa: E731
    monkeypatch.setitem(queries.QUERIES, "degrees", one_end)
    with pytest.raises(AssertionError):
        every_edge(schema_of(TIMED[1]), Unit.EVENT, tmp_path, {"epochs": 1, "most_batches": 1})


def test_a_divisor_that_nobody_paid_for_is_caught(monkeypatch, tmp_path):
    """By the true number of edges the noisy gradients move the networks otherwise for every neighbour."""
    true = DpSgdSession._open

    def opened(self, cells, shapes):
        true(self, cells, shapes)
        self._divisor = float(sum(cell.count for cell in cells))

    monkeypatch.setattr(DpSgdSession, "_open", opened)
    with pytest.raises(AssertionError):
        every_edge(schema_of(TIMED[0]), Unit.EVENT, tmp_path, SHORT)


WALKS = 600
TRAINING = DpSgd(Fraction(1), Fraction(1), 1)


@pytest.mark.parametrize("divisor", [1.0, 40.0, 150.0, 600.0])
def test_a_walk_moves_the_sum_by_a_radius_at_most(divisor, monkeypatch):
    """In the discriminator's own shapes, and wherever in a batch the other walks come to stand.

    Rounding is not the same at every place; the slack makes more than up for it, even if all others move.
    """
    monkeypatch.undo()
    torch.manual_seed(0)
    types, steps, dimensions, length = 3, 4, 64, 5
    module = Discriminator(types, steps, dimensions, 16)
    torch.nn.init.normal_(module.step.weight)
    optimiser = torch.optim.SGD(module.parameters())
    session = DpSgdSession(TRAINING, module, optimiser, clip=utility.CLIP, divisor=divisor)
    walks = (
        torch.randn(WALKS, length, dimensions),
        torch.randn(WALKS, length, dimensions),
        torch.nn.functional.one_hot(torch.randint(types, (WALKS, length)), types).float(),
        torch.ones(WALKS, length, dtype=torch.bool),
        torch.randint(steps, (WALKS,)),
        torch.ones(WALKS),
    )
    whole = session._sum(utility._loss, walks, WALKS)
    for out in (0, 44, WALKS - 1):
        kept = [torch.cat([part[:out], part[out + 1 :]]) for part in walks]
        moved = whole - session._sum(utility._loss, kept, WALKS - 1)
        length_squared = int(moved.square().sum())
        assert 0.99 * session._radius**2 < length_squared <= session._radius**2
