"""Columns of frames and files are said as those of uploads are."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from core.errors import InvalidInput
from core.graphs.ingest.assembled_objects import store
from core.graphs.ingest.framed import Said
from core.graphs.schema import EdgeType, GraphSchema, TimeGrid
from core.graphs.stored.whole import read_graph

CALLS = pd.DataFrame({"note": list("xyz"), "who": list("abc"), "whom": list("bca"), "when": [5, 15, 25]})
PEOPLE = pd.DataFrame({"person": list("abc"), "age": [1, 2, 3]})
TIMED = GraphSchema(edge_types=(EdgeType(temporal=True),), time=TimeGrid(start=0, width=10, count=3))
FORMS: list[Any] = [
    {"edges": {"source": "who", "target": "whom", "time": "when", "-": "note"}, "nodes": {"id": "person"}},
    {"edges": "source=2,target=3,time=4,-=1", "nodes": "id=1"},
    {"edges": ["-", "source", "target", "time"], "nodes": "id=person"},
]


@pytest.mark.parametrize("columns", FORMS)
@pytest.mark.parametrize("as_file", [False, True])
def test_edges_and_nodes_are_said_alike(columns: Any, as_file: bool, tmp_path: Path) -> None:
    calls: Any = CALLS
    people: Any = PEOPLE[["person"]]
    form = None
    if as_file:
        calls, people, form = tmp_path / "calls.dat", tmp_path / "people.csv", "csv"
        CALLS.to_csv(calls, index=False)
        PEOPLE[["person"]].to_csv(people, index=False)
    said = Said(columns, form)
    store(calls, tmp_path / "made", schema=TIMED, nodes=people, said=said)
    made = read_graph(tmp_path / "made").edges["edge"]
    assert made.step is not None
    assert sorted(made.step.tolist()) == [0, 1, 2]
    assert made.count == 3


@pytest.mark.parametrize(
    ("said", "field", "words"),
    [
        (Said("source=wo,target=whom"), "columns", "no column 'wo'; it has note, who"),
        (Said("source=who,target=9"), "columns", "no column 9"),
        (Said({"nodes": "id=person"}), "columns", "leave them out of the nodes"),
        (Said(format="csv"), "format", "leave it out"),
        (Said(options={"delimiter": ";"}), "options", "leave it out"),
    ],
)
def test_what_no_frame_can_be_told_is_refused(said: Said, field: str, words: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=words) as caught:
        store(CALLS, tmp_path / "made", nodes=list("abc"), said=said)
    assert caught.value.members["field"] == field


def _rows(count: int = 300) -> pd.DataFrame:
    rng = random.Random(3)
    ends = [rng.sample(range(40), 2) for _ in range(count)]
    return pd.DataFrame(
        {
            "foo": [rng.uniform(0, 9) for _ in ends],
            "zug": [f"p{a}" for a, _ in ends],
            "thing": [f"p{b}" for _, b in ends],
        }
    )


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "structured"])
def test_ends_of_a_frame_are_told_by_what_is_in_it(kind: str, tmp_path: Path) -> None:
    frame = _rows()
    given: Any = {
        "pandas": frame,
        "polars": pl.from_pandas(frame),
        "arrow": pa.Table.from_pandas(frame),
        "structured": frame.to_records(index=False).view(np.ndarray),
    }[kind]
    stored = store(given, tmp_path / "made", nodes=sorted({*frame["zug"], *frame["thing"]}))
    (told,) = (each for each in stored.remarks if "read by what is in them" in each)
    assert "'zug' as source (the two columns share ids" in told
    table, names = read_graph(tmp_path / "made").edges["edge"], read_graph(tmp_path / "made").nodes["node"]
    ids = names.id_array().to_pylist()
    found = {frozenset((ids[a], ids[b])) for a, b in zip(table.source, table.target, strict=True)}
    assert found == {frozenset(pair) for pair in zip(frame["zug"], frame["thing"], strict=True)}


def test_a_public_frame_carries_what_its_columns_are(tmp_path: Path) -> None:
    frame = _rows().assign(quux=pd.date_range("2024-03-01", periods=300, freq="h"))
    stored = store(frame, tmp_path / "made", public=True)
    (kind,) = stored.schema.edge_types
    assert kind.temporal
    assert [each.name for each in kind.attributes] == ["foo"]


def test_an_array_of_numbers_has_ends_or_is_asked_about(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    pairs = rng.integers(0, 50, (400, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    array = np.column_stack([pairs, rng.uniform(0, 1, len(pairs))])
    assert store(array, tmp_path / "made", nodes=50).nodes == {"node": 50}
    assert read_graph(tmp_path / "made").edges["edge"].count == len(
        {tuple(sorted(p)) for p in pairs.tolist()}
    )
    with pytest.raises(InvalidInput, match="adjacency matrix"):
        store(np.eye(5), tmp_path / "other", nodes=5)
    with pytest.raises(InvalidInput, match="columns=source=1,target=2"):
        store(np.array([[1, 2, 2], [2, 3, 1], [3, 1, 1], [1, 3, 3]]), tmp_path / "third", nodes=4)


def test_two_sorts_in_a_frame_are_no_one_sort(tmp_path: Path) -> None:
    rng = np.random.default_rng(4)
    frame = pd.DataFrame({"foo": rng.integers(1, 90, 3000), "bar": rng.integers(1, 160, 3000)})
    with pytest.raises(InvalidInput, match="two sorts"):
        store(frame, tmp_path / "made", nodes=200)
