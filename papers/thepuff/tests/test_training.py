"""Training goes by public numbers, goes on where it stopped, and gives walks that the schema allows."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest
import torch

from core.errors import InvalidInput
from core.privacy.entropy import public_generator
from papers._shared import tensor_files
from papers.thepuff import schedule, training, utility
from papers.thepuff.tests import toys as toys

SNAPSHOTS = toys.snapshots(toys.keys(public_generator(3), blocks=True))
ORIGINAL = toys.snapshots(toys.keys(public_generator(4), blocks=True))
SETTINGS = schedule.Settings(batches=6, batch=16, dimensions=8, hidden=8, width=8, utility_width=8)


def weights(trained):
    return {name: value.numpy() for name, value in trained.tensors().items()}


def same(one, other):
    assert one.keys() == other.keys()
    return all(np.array_equal(one[name], other[name]) for name in one)


@pytest.fixture(scope="module")
def trained():
    return training.train(SNAPSHOTS, SETTINGS, 1, utility=utility.Raw(ORIGINAL, 3))


def test_walks_begin_with_a_pair_of_a_learned_relation_and_stay_in_the_schema(trained):
    steps, nodes = trained.generate(3000, public_generator(1))
    assert steps.shape == (3000,)
    assert nodes.shape == (3000, SETTINGS.length)
    types = toys.LAYOUT.type_of(nodes)
    assert set(map(tuple, types[:, :2].tolist())) == {(0, 1), (1, 0)}
    assert np.all(toys.LAYOUT.allowed[types[:, :-1], types[:, 1:]])
    shares = SNAPSHOTS.step_counts / SNAPSHOTS.step_counts.sum()
    assert abs(np.mean(steps == 0) - shares[0]) < 5 * np.sqrt(0.25 / 3000)


def test_the_same_state_of_the_generator_draws_the_same_walks(trained):
    first, again = (trained.generate(200, public_generator(5)) for _ in range(2))
    other = trained.generate(200, public_generator(6))
    assert np.array_equal(first[1], again[1])
    assert not np.array_equal(first[1], other[1])


def test_a_saved_model_draws_the_same_walks(trained, tmp_path):
    tensor_files.save(tmp_path / "weights.safetensors", trained.tensors(), {"curves": dict(trained.curves)})
    tensors, facts = tensor_files.load(tmp_path / "weights.safetensors")
    again = training.Trained.of(SETTINGS, tensors, facts["curves"])
    assert np.array_equal(
        again.generate(100, public_generator(2))[1], trained.generate(100, public_generator(2))[1]
    )
    assert again.curves == trained.curves


def test_curves_have_a_value_for_every_batch(trained):
    assert {name: len(values) for name, values in trained.curves.items()} == {
        "utility": 3,
        "privacy": SETTINGS.batches,
        "generator": SETTINGS.batches,
    }
    assert all(np.isfinite(values).all() for values in trained.curves.values())


def test_a_training_cut_short_goes_on_to_the_same_weights(trained, monkeypatch, tmp_path):
    """Killed after five batches, it goes on from the fourth, and opens no source again."""
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 2)
    path = tmp_path / "folder" / "state.safetensors"

    class Killed(Exception):
        pass

    def progress(stage, done, total):
        if (stage, done) == ("adversarial", 5):
            raise Killed

    with pytest.raises(Killed):
        training.train(
            SNAPSHOTS, SETTINGS, 1, utility=utility.Raw(ORIGINAL, 3), progress=progress, checkpoint=path
        )
    assert tensor_files.load(path)[1]["done"] == 4
    assert [file.name for file in path.parent.iterdir()] == ["state.safetensors"]

    def refused(**facts):
        raise AssertionError("what was paid for is not opened again")

    source = utility.Metered(refused, (("u-i", 0),), SimpleNamespace())
    resumed = training.train(SNAPSHOTS, SETTINGS, 1, utility=source, checkpoint=path)
    assert same(weights(resumed), weights(trained))
    assert resumed.curves == trained.curves


def test_a_checkpoint_of_another_training_is_refused(monkeypatch, tmp_path):
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 1)
    path = tmp_path / "state.safetensors"
    short = replace(SETTINGS, batches=1)
    training.train(SNAPSHOTS, short, 1, checkpoint=path)
    with pytest.raises(InvalidInput):
        training.train(SNAPSHOTS, short, 2, checkpoint=path)
    with pytest.raises(InvalidInput):
        training.train(SNAPSHOTS, replace(short, length=4), 1, checkpoint=path)
    with pytest.raises(InvalidInput):
        training.train(ORIGINAL, short, 1, checkpoint=path)


def test_both_sides_learn():
    """After some steps the weights of the generator have moved, the node heads included."""
    before = training.train(SNAPSHOTS, replace(SETTINGS, batches=0), 1).tensors()
    after = training.train(SNAPSHOTS, replace(SETTINGS, learn_weights=False), 1).tensors()
    for name in ("to_node.weight", "to_type.weight", "cell.weight_hh", "from_node.weight"):
        assert not torch.equal(before[f"generator.{name}"], after[f"generator.{name}"])


def test_weights_of_candidates_are_learned_where_asked():
    found = training.train(SNAPSHOTS, replace(SETTINGS, learn_weights=True), 1).tensors()
    assert found["generator.shift"].abs().max() > 0


@pytest.mark.parametrize("change", [{"privacy_weight": 0.0}, {"utility_weight": 0.0}])
def test_either_discriminator_may_be_left_out(change):
    found = training.train(
        SNAPSHOTS, replace(SETTINGS, batches=2, **change), 1, utility=utility.Raw(ORIGINAL, 1)
    )
    assert len(found.curves["generator"]) == 2
    assert len(found.curves["privacy"]) == (0 if "privacy_weight" in change else 2)


def test_large_types_train_and_draw_by_samples():
    settings = replace(SETTINGS, exact_up_to=4, sampled=6)
    found = training.train(SNAPSHOTS, settings, 1)
    _, nodes = found.generate(300, public_generator(1))
    types = toys.LAYOUT.type_of(nodes)
    assert np.all(toys.LAYOUT.allowed[types[:, :-1], types[:, 1:]])
    assert len(np.unique(nodes[types == 0])) > 12


def test_a_graph_without_an_edge_trains_nothing_and_still_draws():
    nothing = {cell: np.empty(0, np.int64) for cell in toys.keys(public_generator(3), blocks=True)}
    snapshots = toys.snapshots(nothing)
    snapshots.counts.update(dict.fromkeys(snapshots.counts, 5))
    found = training.train(snapshots, SETTINGS, 1)
    assert found.curves["generator"] == []
    _, nodes = found.generate(50, public_generator(1))
    assert np.all(nodes >= 0)
    empty = training.train(toys.snapshots(nothing), SETTINGS, 1)
    assert empty.generate(50, public_generator(1))[1].shape == (0, SETTINGS.length)


def test_without_an_anchor_edge_at_a_step_that_wants_edges_nothing_is_trained():
    """Noise can leave all perturbed edges at one step and all edges to be made at another."""
    cells = toys.keys(public_generator(3), blocks=True)
    cells["u-i", 1] = np.empty(0, np.int64)
    snapshots = toys.snapshots(cells)
    snapshots.counts.update({("u-i", 0): 0, ("u-i", 1): 5})
    found = training.train(snapshots, SETTINGS, 1, utility=utility.Raw(ORIGINAL, 1))
    assert found.curves["generator"] == []
    assert set(found.generate(50, public_generator(1))[0].tolist()) == {1}


def test_the_schedule_is_public():
    assert schedule.batches_an_epoch(103_836, 64) == 271
    assert schedule.batches_an_epoch(0, 64) == 1
    assert schedule.batches_an_epoch(10**12, 64) == schedule.MOST_WALKS_AN_EPOCH / 64
    seeds = {schedule.seed_of(1, phase, batch) for phase in range(3) for batch in range(100)}
    assert len(seeds) == 300
    assert all(0 <= seed < 2**63 for seed in seeds)
