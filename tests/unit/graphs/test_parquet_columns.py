"""What the columns of a Parquet file are is said by one mapping; where none is, a refusal suggests it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import IngestRejected, InvalidInput
from core.graphs.ingest.uploaded import UploadedFile, canonicalise
from core.graphs.stored.whole import read_graph

ROWS = 300
RNG = np.random.default_rng(4)
SEEN = {
    "spent": pa.array(RNG.normal(20, 3, ROWS).round(2)),
    "gebende": pa.array([f"acc-{k}" for k in RNG.integers(0, 40, ROWS)]),
    "nehmende": pa.array([f"acc-{k}" for k in RNG.integers(0, 40, ROWS)]),
}


def read(folder: Path, held: dict[str, Any], **options: str) -> Any:
    path = folder / "e.parquet"
    pq.write_table(pa.table(held), path)
    return canonicalise({"edges": UploadedFile(path, "parquet", options)}, None, folder / "out")


def refusal(folder: Path, held: dict[str, Any], **options: str) -> str:
    with pytest.raises(IngestRejected) as refused:
        read(folder, held, **options)
    return str(refused.value.members["findings"][0]["message"])


def pairs(folder: Path) -> set[tuple[str, str]]:
    graph = read_graph(folder / "out")
    (table,), (nodes,) = graph.edges.values(), graph.nodes.values()
    ids = nodes.ids.to_pylist()
    return {(ids[a], ids[b]) for a, b in zip(table.source, table.target, strict=True)}


@pytest.mark.parametrize(
    "said",
    ["source=gebende,target=nehmende,value=spent", "value,source,target", "source=2,target=3,value=1"],
)
def test_columns_are_what_they_are_said_to_be(tmp_path: Path, said: str):
    report = read(tmp_path, SEEN, columns=said)
    held = {
        tuple(sorted(pair))
        for pair in zip(SEEN["gebende"].to_pylist(), SEEN["nehmende"].to_pylist(), strict=True)
        if pair[0] != pair[1]
    }
    assert {tuple(sorted(pair)) for pair in pairs(tmp_path)} == held
    (relation,) = report.schema.edge_types
    assert [each.name for each in relation.attributes] == ["spent"]


def test_a_column_is_left_alone_and_a_name_of_structure_is_another_columns(tmp_path: Path):
    renamed = {"source": SEEN["spent"], "a": SEEN["gebende"], "b": SEEN["nehmende"]}
    report = read(tmp_path, renamed, columns="-=source,source=a,target=b")
    assert report.schema.edge_types[0].attributes == ()
    assert "rename one" in refusal(tmp_path, renamed, columns="source=a,target=b")


def test_a_file_without_known_names_is_refused_with_the_mapping_that_reads_it(tmp_path: Path):
    told = refusal(tmp_path, SEEN)
    said = told.partition("columns=")[2].partition(";")[0]
    assert "source=gebende" in said
    assert "target=nehmende" in said
    report = read(tmp_path, SEEN, columns=said)
    assert [each.name for each in report.schema.edge_types[0].attributes] == ["spent"]


def test_long_texts_are_not_looked_at(tmp_path: Path):
    long = pa.DictionaryArray.from_arrays(pa.array([0] * ROWS, pa.int32()), pa.array(["x" * 900_000]))
    told = refusal(tmp_path, {"one": long, "two": SEEN["gebende"]})
    assert told.endswith("say which it is: columns=source=caller,target=callee")


@pytest.mark.parametrize(
    ("said", "why"),
    [
        ("source=payer,target=nehmende", "which is no column; there are"),
        ("source=9,target=nehmende", "which is no column"),
        ("time=spent,time=nehmende,source=gebende", "two columns are"),
    ],
)
def test_what_no_file_has_is_refused_by_name(tmp_path: Path, said: str, why: str):
    assert why in refusal(tmp_path, SEEN, columns=said)


def test_a_mapping_that_says_nothing_is_an_invalid_option(tmp_path: Path):
    with pytest.raises(InvalidInput, match="write source=caller"):
        read(tmp_path, SEEN, columns="source=")
