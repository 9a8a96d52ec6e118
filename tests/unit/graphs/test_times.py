"""Times as people have them: dates, datetimes, floats; grids in round units; refusals with a line."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.errors import IngestRejected
from core.graphs.columns.arrays import times_of
from core.graphs.graph import Graph
from core.graphs.ingest.uploaded import IngestReport, UploadedFile, canonicalise
from core.graphs.schema import MAX_TIME, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.grids import DAY as DAY_SECONDS
from core.graphs.schema.grids import proposed_grid
from core.graphs.stored.whole import read_graph

MAY_17 = int(datetime(2024, 5, 17, tzinfo=UTC).timestamp())


def read(values: list[str]) -> list[int | None]:
    """The time of each text; None where it is none."""
    found, valid, _ = times_of(pa.chunked_array([pa.array(values, pa.string())]))
    return [int(value) if good else None for value, good in zip(found, valid, strict=True)]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("2024-05-17", 0),
        (" 2024-05-17T00:01 ", 60),
        ("2024-05-17 12:30:05", 45_005),
        ("2024-05-17T12:30:05.999Z", 45_005),
        ("2024-05-17T12:30:05,5+02:00", 37_805),
        ("2024-05-17 12:30:05-0130", 50_405),
        ("2024-05-17 12:30:05+02", 37_805),
        ("2024-05-17 12:30:05 UTC", 45_005),
    ],
)
def test_dates_are_seconds_since_1970_in_utc(text: str, seconds: int) -> None:
    assert read([text, "7"]) == [MAY_17 + seconds, 7]


def test_floats_are_cut_downwards() -> None:
    assert read(["1289241911.72836", "-0.5", "3.0", ".5", "1e3"]) == [1289241911, -1, 3, 0, 1000]
    floats = pa.chunked_array([pa.array([1.5, -1.5, None, float("nan"), float("inf"), 2.0**60])])
    values, valid, empty = times_of(floats)
    assert values[:2].tolist() == [1, -2]
    assert valid.tolist() == [True, True, False, False, False, False]
    assert empty.tolist() == [False, False, True, False, False, False]


@pytest.mark.parametrize(
    "text",
    [
        "2024-02-30",
        "2024-13-01",
        "2024-05-17T24:00",
        "2024-05-17T12:60",
        "17.05.2024",
        "05/17/2024",
        "2024-05",
        "noon",
        "nan",
        "inf",
        "1e300",
        "0x10",
        "9223372036854775808",
        "1_000",
        "2024-05-17T12:30:05+25:00",
    ],
)
def test_what_is_no_time_is_none(text: str) -> None:
    assert read([text]) == [None]


def test_every_offset_is_undone() -> None:
    zones = [timezone(timedelta(minutes=minutes)) for minutes in range(-720, 841, 45)]
    moment = datetime(2023, 12, 31, 23, 59, 58, tzinfo=UTC)
    assert set(read([moment.astimezone(zone).isoformat() for zone in zones])) == {int(moment.timestamp())}


def ingest(
    folder: Path, edges: str | pa.Table, schema: GraphSchema | None = None
) -> tuple[Graph, IngestReport]:
    form = "csv" if isinstance(edges, str) else "parquet"
    if isinstance(edges, str):
        (folder / "edges").write_text(edges)
    else:
        pq.write_table(edges, folder / "edges")
    report = canonicalise({"edges": UploadedFile(folder / "edges", form)}, schema, folder / "out")
    return read_graph(folder / "out"), report


def stamped(values: list[Any], kind: pa.DataType | None = None) -> pa.Table:
    ends = {"source": ["a"] * len(values), "target": ["b"] * len(values)}
    return pa.table(ends | {"time": pa.array(values, type=kind)})


DAYS = [date(2024, 5, 17), date(2024, 5, 20)]
MOMENTS = [datetime(2024, 5, 17, 12), datetime(2024, 5, 20, 12)]


@pytest.mark.parametrize(
    "edges",
    [
        "a,b,2024-05-17\na,b,2024-05-20\n",
        "a,b,2024-05-17T08:00Z\na,b,2024-05-20T09:00:00+01:00\n",
        stamped(DAYS),
        stamped(DAYS, pa.date64()),
        stamped(MOMENTS, pa.timestamp("ns")),
        stamped(MOMENTS, pa.timestamp("ms", tz="Europe/Paris")),
        stamped([1715904000.25, 1716163200.75]),
    ],
    ids=["dates", "datetimes", "date32", "date64", "timestamp", "zoned", "floats"],
)
def test_dates_are_taken_from_every_kind_of_column(tmp_path: Path, edges: str | pa.Table) -> None:
    grid = TimeGrid(start=MAY_17, width=DAY_SECONDS, count=4)
    schema = GraphSchema(node_types=(NodeType(),), edge_types=(EdgeType(temporal=True),), time=grid)
    graph, _ = ingest(tmp_path, edges)
    assert graph.edges["edge"].count == 2
    times = graph.schema.time
    assert times.width in (21_600, DAY_SECONDS)
    assert 0 <= times.start - MAY_17 < DAY_SECONDS
    assert times.start % times.width == 0
    (tmp_path / "out").rename(tmp_path / "first")
    (tmp_path / "nodes").write_text("id\na\nb\n")
    files = {
        "edges": UploadedFile(tmp_path / "edges", "csv" if isinstance(edges, str) else "parquet"),
        "nodes": UploadedFile(tmp_path / "nodes", "csv"),
    }
    canonicalise(files, schema, tmp_path / "out")
    assert read_graph(tmp_path / "out").edges["edge"].step.tolist() == [0, 3]


def test_dates_are_read_in_bulk_as_they_are_line_by_line(tmp_path: Path) -> None:
    rows = [f"a,b,2024-05-{day:02d}T{hour:02d}:00" for day in range(1, 29) for hour in range(24)]
    graph, _ = ingest(tmp_path, "\n".join(rows * 100))
    assert graph.schema.time == TimeGrid(start=MAY_17 - 16 * DAY_SECONDS, width=DAY_SECONDS, count=28)
    assert np.unique(graph.edges["edge"].step).tolist() == list(range(28))


@pytest.mark.parametrize(
    ("low", "high", "grain", "grid"),
    [
        (5, 7, 1, (5, 1, 3)),
        (1990, 2020, 1, (1990, 1, 31)),
        (0, 0, 0, (0, 1, 1)),
        (0, 1_306_500, 1, (0, DAY_SECONDS, 16)),
        (MAY_17, MAY_17, DAY_SECONDS, (MAY_17, DAY_SECONDS, 1)),
        (MAY_17, MAY_17 + 9 * DAY_SECONDS, DAY_SECONDS, (MAY_17, DAY_SECONDS, 10)),
        # A Friday: the week began on Monday, four days before.
        (MAY_17, MAY_17 + 360 * DAY_SECONDS, 1, (MAY_17 - 4 * DAY_SECONDS, 7 * DAY_SECONDS, 53)),
        (MAY_17 * 1000, (MAY_17 + 7200) * 1000 + 1, 1, (MAY_17 * 1000, 600_000, 13)),
    ],
)
def test_grids_are_round(low: int, high: int, grain: int, grid: tuple[int, int, int]) -> None:
    found = proposed_grid(low, high, grain)
    assert (found.start, found.width, found.count) == grid


@pytest.mark.parametrize("span", [10**k for k in range(19)])
@pytest.mark.parametrize("low", [-MAX_TIME, -(10**6) - 1, 0, MAY_17 + 7])
def test_a_grid_covers_its_times(low: int, span: int) -> None:
    high = min(low + span, MAX_TIME)
    grid = proposed_grid(low, high, 1)
    assert [(time - grid.start) // grid.width for time in (low, high)] == [0, grid.count - 1]
    assert grid.count <= 366


def test_the_width_is_said(tmp_path: Path) -> None:
    _, report = ingest(tmp_path, f"a,b,{MAY_17}\na,b,{MAY_17 + 15 * DAY_SECONDS}\n")
    assert any("16 steps of a day" in warning for warning in report.warnings)


@pytest.mark.parametrize(
    ("content", "place", "says"),
    [
        ("source,target,time\na,b,1\na,b,noon\n", (3, 3), "'noon' is no integer"),
        ("source,time,target\na,1,b\n\na,,b\n", (4, 2), "empty"),
        ("source,target,time\na,b,99999999999999999999\n", (2, 3), "no integer of 64 bits"),
        ("source,target,time\na,b,9223372036854775807\n", (2, 3), "2**62"),
        ("source,target,type\na,b,ok\na,b,\x07\n", (3, 3), "is no name"),
    ],
)
def test_refusals_of_proposals_name_the_line(
    tmp_path: Path, content: str, place: tuple[int, int], says: str
) -> None:
    with pytest.raises(IngestRejected) as caught:
        ingest(tmp_path, content)
    (finding,) = caught.value.members["findings"]
    assert (finding["line"], finding["column"]) == place
    assert says in finding["message"]
