"""Columns of frames and files are said as those of uploads are."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
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
