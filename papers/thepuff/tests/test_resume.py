"""A fit that was cut short goes on from what it had paid for, to the same model, and without the graph."""

from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch

from core.errors import InvalidInput
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.methods.base import PublicFacts, no_progress
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.entropy import public_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit
from papers._shared import tensor_files
from papers.thepuff import GENERATOR, training
from papers.thepuff.paid import KEYS, TRAINING, load
from papers.thepuff.params import ThepuffParams
from papers.thepuff.tests import toys as toys

GIVEN = {"epochs": 100, "most_batches": 10}


class Killed(Exception):
    pass


def same(one, other):
    """Whether two sets of tensors are equal, bit for bit."""
    return one.keys() == other.keys() and all(torch.equal(one[name], other[name]) for name in one)


def until(stage, last):
    """Progress that ends the fit after ``last`` ticks of a stage."""

    def progress(name, done, total):
        if (name, done) == (stage, last):
            raise Killed

    return progress


@pytest.fixture(autouse=True)
def often(monkeypatch):
    monkeypatch.setattr(training, "CHECKPOINT_EVERY", 2)


def fitted(progress, folder=None, **given):
    keys = toys.keys(public_generator(3), blocks=True)
    parts = [(np.divmod(keys["u-i", step], toys.ITEMS), step) for step in range(toys.STEPS)]
    source, target = (np.concatenate([ends[side] for ends, _ in parts]) for side in (0, 1))
    times = np.concatenate([np.full(len(ends[0]), step) for ends, step in parts])
    kinds = EdgeTable(*np.divmod(keys["i-k", None], toys.KINDS), None)
    nodes = {name: NodeTable(count) for name, count in toys.LAYOUT.counts.items()}
    graph = Graph.build(toys.SCHEMA, nodes, {"u-i": EdgeTable(source, target, times), "i-k": kinds})
    params = ThepuffParams(**(GIVEN | given))
    names = tuple(kind.name for kind in toys.SCHEMA.edge_types)
    plan = GENERATOR.plan(params, PublicFacts(toys.SCHEMA, Unit.EVENT, None, 2 * 10**9, 10**12, names))
    private = PrivateGraph(graph, Meter(plan, MemoryRecorder()))
    return GENERATOR.fit(private, plan, params, progress, folder)


@pytest.mark.parametrize(
    "given", [{"utility": True, "utility_steps": 2}, {"bias": "hat"}, {"variant": "paper"}]
)
def test_a_fit_cut_short_goes_on_without_the_graph(given, tmp_path):
    folder = tmp_path / "kept"
    with pytest.raises(Killed):
        fitted(until("adversarial", 7), folder, **given)
    paid = load(folder, "thepuff")
    model = GENERATOR.resume(folder, no_progress)
    assert len(model.training().curves["generator"]) == 10
    assert len(tensor_files.load(folder / TRAINING)[1]["curves"]["generator"]) == 10
    for cell, columns in paid.cells.items():
        for name, column in columns.items():
            assert np.array_equal(model.cells[cell][name], column)
    assert model.params == ThepuffParams(**(GIVEN | given))
    drawn = model.sample(public_generator(1), no_progress)
    assert drawn.schema == toys.SCHEMA
    assert drawn.edges["u-i"].count > 0


def test_the_weights_are_those_of_a_fit_that_was_not_cut_short(tmp_path):
    """A copy of the folder, taken after seven of ten batches, stands for the fit that was killed there."""
    folder, early = tmp_path / "whole", tmp_path / "early"

    def progress(name, done, total):
        if (name, done) == ("adversarial", 7):
            shutil.copytree(folder, early)

    whole = fitted(progress, folder, utility=True, utility_steps=2)
    assert tensor_files.load(early / TRAINING)[1]["done"] == 6
    model = GENERATOR.resume(early, no_progress)
    assert same(whole.trained.tensors(), model.trained.tensors())
    assert whole.training().curves == model.training().curves
    assert len(model.training().curves["utility"]) == 2


def test_before_everything_is_read_there_is_nothing_to_go_on_from(tmp_path):
    with pytest.raises(Killed):
        fitted(until("utility", 5), tmp_path / "early", utility=True)
    assert (tmp_path / "early" / KEYS).exists()
    for folder in (tmp_path / "early", tmp_path / "none"):
        with pytest.raises(InvalidInput, match="go on"):
            GENERATOR.resume(folder, no_progress)


def test_a_checkpoint_begins_in_an_empty_folder(tmp_path):
    (tmp_path / "something").write_text("")
    with pytest.raises(InvalidInput, match="empty"):
        fitted(no_progress, tmp_path)
