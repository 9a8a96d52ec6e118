"""Lines without records cost as little as their bytes."""

from __future__ import annotations

import gzip
import time
import tracemalloc
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from core.errors import IngestRejected
from core.graphs import formats
from core.graphs.formats._lines import next_record
from core.graphs.uploads.batches import FREE_BYTES, Batch, ReadLimits, ReadRequest


def plainly(lines: bytes) -> int:
    position = 0
    for raw in lines.split(b"\n"):
        if raw.strip(b"\r"):
            return position
        position += len(raw) + 1
    return len(lines)


@given(st.lists(st.sampled_from([b"\n", b"\r", b"#", b"%", b"1", b","]), max_size=12).map(b"".join))
def test_the_next_record_is_found_as_line_by_line(lines: bytes) -> None:
    assert next_record(lines, 0) == plainly(lines)


def read(path: Path, **limits: int) -> list[Batch]:
    chosen, columns = formats.get("csv"), ("source", "target")
    asked = ReadRequest(
        path, "edges", chosen.OptionsModel(), columns, columns, True, limits=ReadLimits(**limits)
    )
    return list(chosen.read(asked).edges)


@pytest.mark.parametrize("line", [b"\n", b"#\n"], ids=["blank", "comments"])
def test_a_small_file_that_unpacks_to_lines_without_records_is_refused_early(
    line: bytes, tmp_path: Path
) -> None:
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(gzip.compress(line * (3 * FREE_BYTES // len(line))))
    assert path.stat().st_size < 100_000
    with pytest.raises(IngestRejected, match="unpack"):
        read(path)


@pytest.mark.parametrize("line", [b"\n", b"#\n"], ids=["blank", "comments"])
def test_lines_without_records_make_no_objects(line: bytes, tmp_path: Path) -> None:
    """A list of these lines alone took 60 bytes for each, and the slow reading a microsecond."""
    path, count = tmp_path / "edges.csv", 4 << 20
    path.write_bytes(b"0,1\n")
    read(path)  # what is loaded late is loaded
    before, after = (line * count, b"") if line.strip() else (b"", line * count)
    path.write_bytes(before + b"0,1\n" + after + b"0,1\n2\n")
    began = time.process_time()
    tracemalloc.start()
    try:
        (batch,) = read(path, chunk_bytes=1 << 24)
        lines = [int(each) for part in batch.carefully() for each in part.lines]
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert batch.table is None
    assert lines == ([count + 1, count + 2] if before else [1, count + 2])
    assert peak < 10 * path.stat().st_size
    assert time.process_time() - began < 4


def test_what_compresses_as_graphs_do_is_read(tmp_path: Path) -> None:
    path = tmp_path / "edges.csv.gz"
    path.write_bytes(
        gzip.compress(b"".join(b"%d,%d\n" % (each, 7 * each % 99991) for each in range(200_000)))
    )
    assert sum(batch.table.num_rows for batch in read(path)) == 200_000
