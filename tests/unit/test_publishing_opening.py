"""What a release tells before it opens its graph, and prints of a universe that was read off the data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from core.errors import InvalidInput
from core.graphs.graph import EdgeTable, Graph, NodeTable
from core.graphs.schema import GraphSchema
from core.graphs.stored.whole import write_graph
from core.methods import registry
from core.methods.base import PublicFacts
from core.privacy.accounting.meter import MemoryRecorder
from core.privacy.units import Unit
from core.publishing.release import run_release
from core.publishing.spec import ReleaseTask

NODES = 20
SCHEMA = GraphSchema()
NANO = 10**9


class Openings(MemoryRecorder):
    """Counts how often it was told that the graph is about to be opened, and knows what came before it."""

    def __init__(self) -> None:
        super().__init__()
        self.openings = 0

    def opening(self) -> None:
        assert self.entries == []
        self.openings += 1


def asked(**changes: Any) -> ReleaseTask:
    generator = registry.get("psgraph")
    facts = PublicFacts(SCHEMA, Unit.EDGE, None, NANO, 0, ("edge",))
    values = {
        "job_id": "job",
        "dataset_id": "dataset",
        "dataset_version": "version",
        "method": "psgraph",
        "unit": "edge",
        "nano_epsilon": NANO,
        "edge_types": ["edge"],
    }
    plan = generator.plan(generator.Params(), facts).to_json()
    return ReleaseTask.model_validate({"release": values | changes, "plan": plan})


def run(folder: Path, task: ReleaseTask, recorder: Openings) -> None:
    run_release(
        graph_folder=folder / "graph",
        task=task,
        out=folder / "job",
        recorder=recorder,
        progress=lambda *_: None,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Holds a graph: a ring."""
    nodes = np.arange(NODES)
    edges = {"edge": EdgeTable(nodes, np.roll(nodes, 1))}
    write_graph(Graph.build(SCHEMA, {"node": NodeTable(NODES)}, edges), tmp_path / "graph")
    return tmp_path


def test_a_release_tells_once_that_it_opens_its_graph_and_then_reads(folder: Path) -> None:
    recorder = Openings()
    run(folder, asked(), recorder)
    assert recorder.openings == 1
    assert recorder.entries


def test_that_the_graph_is_opened_is_told_before_it_is(folder: Path) -> None:
    (folder / "graph" / "edges.parquet").unlink()
    recorder = Openings()
    with pytest.raises(FileNotFoundError):
        run(folder, asked(), recorder)
    assert recorder.openings == 1


def test_a_refusal_comes_before_the_opening(folder: Path) -> None:
    recorder = Openings()
    with pytest.raises(InvalidInput):
        run(folder, asked(params={"nonsense": 1}), recorder)
    assert recorder.openings == 0


@pytest.mark.parametrize("derived", [[], ["node_list"], ["node_list", "time_grid"]])
def test_what_was_read_off_the_data_is_printed(folder: Path, derived: list[str]) -> None:
    run(folder, asked(derived=derived), Openings())
    public = json.loads((folder / "job" / "release" / "public.json").read_text())
    codes = [c["code"] for c in public["caveats"] if c["code"] in ("universe_from_edges", "grid_from_data")]
    assert codes == ["universe_from_edges", "grid_from_data"][: len(derived)]


@pytest.mark.parametrize("derived", [["node_list", "node_list"], ["something"]])
def test_marks_are_of_a_closed_vocabulary_and_named_once(derived: list[str]) -> None:
    with pytest.raises(ValueError, match="derived"):
        asked(derived=derived)
