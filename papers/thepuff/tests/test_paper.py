"""The paper's own forms: each against its equation, the preset, and walks across timestamps."""

import numpy as np
import pytest
import torch

from core.privacy.entropy import public_generator
from papers._shared.deviations import deviating
from papers.thepuff import schedule, training, utility
from papers.thepuff.algorithm4 import assembled_as_published
from papers.thepuff.embedding import across_steps, candidates, embed, timestamped
from papers.thepuff.networks import HEADS, PublishedDiscriminator
from papers.thepuff.params import ThepuffParams
from papers.thepuff.state import optimisers_of
from papers.thepuff.stated import PAPER, STATED
from papers.thepuff.tests import toys as toys
from papers.thepuff.tests.test_algorithm4 import LAYOUT, F, G, U

SNAPSHOTS = toys.snapshots(toys.keys(public_generator(3), blocks=True))
SMALL = schedule.Settings(
    batches=4,
    batch=16,
    dimensions=8,
    hidden=8,
    width=8,
    utility_width=8,
    dropout=0.2,
    published_attention=True,
    published_optimisers=True,
    linear_losses=True,
    degree_weights=False,
    across_steps=True,
    just_walks=2,
    just_length=10,
    generator_every=2,
    utility_weight=1.0,
)


def test_the_preset_is_what_the_paper_states():
    assert not deviating(PAPER, STATED)
    assert PAPER.variant == "paper"
    with pytest.raises(ValueError, match="leave one of them out"):
        ThepuffParams(preset="paper", variant="sound")


def test_a_discriminator_is_eq_6_to_9_and_algorithm_3():
    """By hand: three softmaxes, each of its own Q and K, one V, and the softmax of two outputs."""
    torch.manual_seed(0)
    module = PublishedDiscriminator(3, 5, 8, dropout=0.2).eval()
    time, over = torch.randn(1, 4, 5), torch.randn(1, 4, 5)
    kinds = torch.eye(3)[[0, 1, 2, 1]][None]
    logit = module(time, over, kinds, torch.ones(1, 4, dtype=torch.bool), torch.zeros(1))
    size = 8 // HEADS
    value = time[0] @ module.value.weight.T
    z = torch.zeros(4, 8)
    for given, layer in zip((time[0], over[0], kinds[0]), module.asked, strict=True):
        query, key = (given @ layer.weight.T).split(8, 1)
        for head in range(HEADS):
            own = slice(head * size, (head + 1) * size)
            attention = query[:, own] @ key[:, own].T / size**0.5
            z[:, own] += torch.softmax(attention, 1) @ value[:, own]
    p = (z @ module.out.weight.T + module.out.bias).mean(0)
    torch.testing.assert_close(torch.sigmoid(logit)[0], torch.softmax(p, 0)[0])


def test_dropout_is_of_training_alone():
    torch.manual_seed(0)
    module = PublishedDiscriminator(3, 5, 8, dropout=0.5)
    walk = torch.randn(1, 4, 5), torch.randn(1, 4, 5), torch.eye(3)[[0, 1, 2, 1]][None]
    rest = torch.ones(1, 4, dtype=torch.bool), torch.zeros(1)
    assert not torch.equal(module(*walk, *rest), module(*walk, *rest))
    module.eval()
    assert torch.equal(module(*walk, *rest), module(*walk, *rest))


def test_losses_are_eq_10_12_and_15():
    real, fake = torch.tensor([0.5, -1.0]), torch.tensor([2.0, 0.0])
    d = torch.sigmoid
    assert utility.separating(real, fake, linear=True) == pytest.approx(float((d(fake) - d(real)).sum()))
    assert utility.passing(fake, linear=True) == pytest.approx(-float(d(fake).sum()))


def test_optimisers_and_their_rates_are_the_papers():
    settings = schedule.Settings(1, generator_rate=1e-4, published_optimisers=True)
    generator, privacy = optimisers_of(settings, torch.nn.Linear(1, 1), torch.nn.Linear(1, 1))
    assert (type(generator), generator.param_groups[0]["lr"]) == (torch.optim.RMSprop, 1e-4)
    assert (type(privacy), privacy.param_groups[0]["lr"]) == (torch.optim.SGD, 1e-3)


def test_candidates_across_steps_are_every_timestamped_node_of_a_type_and_weigh_alike():
    embedding = embed(SNAPSHOTS, 8, public_generator(1), 1, walks_a_row=2, length=10)
    chosen = candidates(SNAPSHOTS, embedding, by_degree=False)
    found = across_steps(SNAPSHOTS, chosen)
    steps = SNAPSHOTS.layout.steps
    user, _, genre = (
        set(found.nodes[found.start[kind] : found.start[kind + 1]].tolist()) for kind in found.block[0]
    )
    active = {
        (int(node), step)
        for step in range(steps)
        for node in chosen.nodes[
            chosen.start[chosen.block[step, 0]] : chosen.start[chosen.block[step, 0] + 1]
        ]
    }
    assert {divmod(number, steps + 1) for number in user} == active
    assert {number % (steps + 1) for number in genre} == {steps}  # no step of its own
    assert not found.weights.any()


def test_a_node_without_a_step_has_that_of_the_node_before_it():
    at, nodes = timestamped(np.array([[5 * 3 + 1, 9 * 3 + 2, 6 * 3 + 0]]), 2)
    assert (at.tolist(), nodes.tolist()) == ([[1, 1, 0]], [[5, 9, 6]])


def test_walks_cross_timestamps_and_train_as_published():
    original = toys.snapshots(toys.keys(public_generator(4), blocks=True))
    found = training.train(SNAPSHOTS, SMALL, 1, utility=utility.Raw(original, 3))
    assert {name: len(curve) for name, curve in found.curves.items()} == {
        **{"utility": 3, "privacy": 4},
        "generator": 2,  # every second batch (A.6)
    }
    steps, nodes = found.generate(400, public_generator(1))
    assert steps.shape == nodes.shape == (400, SMALL.length)
    assert set(np.unique(steps)) == {0, 1}
    assert (steps[:, 1:] != steps[:, :-1]).any()
    types = toys.LAYOUT.type_of(nodes)
    assert np.all(toys.LAYOUT.allowed[types[:, :-1], types[:, 1:]])


def test_the_state_of_the_published_optimisers_goes_on(tmp_path, monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 2)
    whole = training.train(SNAPSHOTS, SMALL, 1)
    path = tmp_path / "state.safetensors"

    def progress(stage, done, total):
        if (stage, done) == ("adversarial", 3):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        training.train(SNAPSHOTS, SMALL, 1, progress=progress, checkpoint=path)
    again = training.train(SNAPSHOTS, SMALL, 1, checkpoint=path)
    for name, value in whole.tensors().items():
        assert torch.equal(value, again.tensors()[name]), name


def test_an_edge_between_two_steps_is_added_at_both():
    """Lines 6 and 7; an edge of a relation without time is one, whatever its ends' steps."""
    walks = np.array([[U, F, G], [U + 1, F + 1, G]])
    steps = np.array([[0, 1, 1], [1, 1, 0]])
    found = assembled_as_published(LAYOUT, steps, walks, 99, public_generator(1))
    assert found["sees", 0].tolist() == [0]
    assert found["sees", 1].tolist() == [0, 5]
    assert found["has", None].tolist() == [0, 2]


def test_no_more_edges_than_are_wanted_where_each_is_two():
    walks, steps = np.array([[U, F]] * 3), np.array([[0, 1]] * 3)
    for wanted in (1, 2, 5):
        found = assembled_as_published(LAYOUT, steps, walks, wanted, public_generator(1))
        assert sum(len(keys) for keys in found.values()) == min(wanted, 2)
