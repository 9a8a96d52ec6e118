"""Small Parquet files that decode to gigabytes: refused as unpacking too far, before their rows are there."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import IngestRejected
from core.graphs import formats
from core.graphs.formats import parquet
from core.graphs.formats._base import ReadLimits, ReadRequest

LONG = "x" * 1000
ROWS = 2_000_000


def asked(path: Path, **changes: Any) -> ReadRequest:
    options = formats.get("parquet").OptionsModel()
    columns = ("source", "target")
    return ReadRequest(path, "edges", options, columns, columns, limits=ReadLimits(), **changes)


def read(path: Path, **changes: Any) -> int:
    batches = formats.get("parquet").read(asked(path, **changes)).edges
    return sum(part.table.num_rows for batch in batches for part in batch.carefully())


def written(path: Path, **columns: Any) -> Path:
    pq.write_table(pa.table(columns), path, compression="zstd")
    return path


def repeated(text: str, rows: int) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, dtype=np.int32)), [text]).cast(pa.string())


def test_one_long_text_in_every_row_is_refused(tmp_path: Path):
    path = written(tmp_path / "e", source=repeated(LONG, ROWS), target=repeated("b", ROWS))
    assert path.stat().st_size < 1_000_000
    before = pa.total_allocated_bytes()
    with pytest.raises(IngestRejected, match="bytes when unpacked"):
        read(path)
    assert pa.total_allocated_bytes() - before < 50_000_000


def test_lists_that_repeat_one_number_are_refused(tmp_path: Path):
    rows = 20_000
    ends = pa.array([str(n) for n in range(rows)])
    wide = pa.FixedSizeListArray.from_arrays(pa.array(np.zeros(rows * 1000)), 1000)
    path = written(tmp_path / "e", source=ends, target=ends, wide=wide.cast(pa.list_(pa.float64())))
    assert path.stat().st_size < 1_000_000
    with pytest.raises(IngestRejected, match="bytes when unpacked"):
        read(path, any_columns=True)


def test_ordinary_files_are_read_as_they_were(tmp_path: Path):
    names = pa.array([f"node-{n % 5000}" for n in range(300_000)])
    kept = written(tmp_path / "plain", source=names, target=names)
    coded = written(tmp_path / "coded", source=names.dictionary_encode(), target=names.dictionary_encode())
    assert read(kept) == read(coded) == 300_000
    batch = next(iter(formats.get("parquet").read(asked(kept)).edges))
    assert batch.table.schema.field("source").type == pa.string()
    assert batch.table["source"].to_pylist() == names.to_pylist()
    empty = written(tmp_path / "empty", source=pa.array([], pa.string()), target=pa.array([], pa.string()))
    assert read(empty) == 0


def test_texts_come_in_pieces_that_a_column_has_room_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(parquet, "_PIECE_BYTES", 100)
    texts = [f"{n}" * 7 for n in range(50)]
    path = written(tmp_path / "e", source=pa.array(texts), target=pa.array(texts))
    batches = list(formats.get("parquet").read(asked(path)).edges)
    assert len(batches) > 10
    assert [t for batch in batches for t in batch.table["source"].to_pylist()] == texts
    lines = [int(n) for batch in batches for part in batch.carefully() for n in part.lines]
    assert lines == list(range(1, 51))
