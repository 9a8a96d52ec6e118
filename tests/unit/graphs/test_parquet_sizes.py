"""A small Parquet file does not unpack to gigabytes, whatever it packs them with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import IngestRejected
from core.graphs.ingest.uploaded import UploadedFile, canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.stored.whole import read_graph

COUNTED = GraphSchema(node_types=(NodeType(count=5),), edge_types=(EdgeType(),))
ROWS = 3_000
LONG = "x" * 900_000


def upload(folder: Path, columns: dict[str, Any], **written: Any) -> Path:
    """The file, canonicalised into ``out``; it is small."""
    path = folder / "e"
    pq.write_table(pa.table(columns), path, **{"compression": "zstd", **written})
    assert path.stat().st_size < 2**20
    canonicalise({"edges": UploadedFile(path, "parquet")}, COUNTED, folder / "out", fingerprint_key=bytes(32))
    return folder / "out"


def repeated(value: Any, rows: int = ROWS) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0] * rows, pa.int32()), pa.array([value]))


@pytest.mark.parametrize(
    ("column", "written"),
    [
        (repeated(LONG), {}),
        (repeated(LONG).cast(pa.dictionary(pa.int32(), pa.large_string())), {}),
        (pa.array([LONG[:80_000] + str(k % 7) for k in range(500)]), {}),
        (
            pa.array([LONG[:80_000] + str(k) for k in range(500)]),
            {"use_dictionary": False, "column_encoding": {"source": "DELTA_BYTE_ARRAY"}},
        ),
        (pa.array(np.zeros(20_000_000, np.int64)), {}),
        (pa.array(np.zeros(20_000_000, np.int64)), {"use_dictionary": False, "column_encoding": {
            "source": "DELTA_BINARY_PACKED", "target": "DELTA_BINARY_PACKED"}}),
    ],
    ids=["a dictionary", "a large one", "plain", "shared prefixes", "runs", "differences"],
)  # fmt: skip
def test_what_unpacks_to_gigabytes_is_a_finding(tmp_path: Path, column: Any, written: dict[str, Any]):
    target = pa.array(np.ones(len(column), np.int64))
    with pytest.raises(IngestRejected) as refused:
        upload(tmp_path, {"source": column, "target": target}, **written)
    (finding,) = refused.value.members["findings"]
    assert "unpacked" in finding["message"] or "longer" in finding["message"] or "DELTA" in finding["message"]


def test_dictionaries_of_a_graph_are_read_as_their_values(tmp_path: Path):
    ends = pa.array(["1", None, "2", "3"]).dictionary_encode()
    with pytest.raises(IngestRejected) as refused:
        upload(tmp_path, {"source": ends, "target": ["2", "3", "4", "1"]})
    assert [each["line"] for each in refused.value.members["findings"]] == [2]
    out = upload(tmp_path, {"source": repeated("1", 4), "target": ["2", "3", "4", "0"]})
    table = read_graph(out).edges["edge"]
    assert sorted(zip(table.source.tolist(), table.target.tolist(), strict=True)) == [
        *((0, 1), (1, 2), (1, 3), (1, 4)),
    ]
