"""Ends are told from values beside them, a day and its clock are one time, yes and no are booleans."""

from __future__ import annotations

import random

import pytest

from core.graphs.reading.model import Role
from tests.unit.graphs.test_reading import Folder, folder, roles

__all__ = ["folder"]


@pytest.mark.parametrize("rows", [400, 12])
def test_a_value_between_the_ends_is_not_taken_for_one(folder: Folder, rows: int) -> None:
    """Numbers of all columns are alike: that ends are no loops tells them where there are many rows."""
    rng = random.Random(5)
    ends = [rng.sample(range(1, 60 if rows > 99 else 9), 2) for _ in range(rows)]
    content = "".join(f"{a},{rng.randint(1, 60 if rows > 99 else 9)},{b}\n" for a, b in ends)
    if rows > 99:
        assert roles(folder.read(content)[1]) == ["source", "value", "target"]
    else:
        assert "which two columns" in folder.refused(content)


@pytest.mark.parametrize("form", ["+49{}", "{}x", "0{}"])
def test_long_ids_are_no_partners_of_small_values(folder: Folder, form: str) -> None:
    rng = random.Random(7)
    known = [form.format(rng.randrange(10**9, 10**10)) for _ in range(12)]
    rows = "".join("{0},{2},{1}\n".format(*rng.sample(known, 2), rng.randint(1, 40)) for _ in range(9))
    assert roles(folder.read(rows)[1]) == ["source", "value", "target"]


def test_negative_numbers_are_values(folder: Folder) -> None:
    rows = "".join(f"{i % 9 + 4},{(-1) ** (i // 2)},{i * 5 % 7 + 20}\n" for i in range(40))
    assert roles(folder.read(rows)[1]) == ["source", "value", "target"]


@pytest.mark.parametrize("header", ["", "a,b,day,hour\n", "source,target,date,time\n"])
@pytest.mark.parametrize(
    ("days", "hours"),
    [
        (["2024-03-01", "2024-03-01", "2024-03-02"], ["14:05:00", "15:05:30", "00:30:00"]),
        (["01.03.2024", "01.03.2024", "02.03.2024"], ["14:05", "15:05", "00:30"]),
        (["03/13/2024", "03/13/2024", "03/14/2024"], ["2:05 PM", "3:05 PM", "12:30 AM"]),
        (["20240301", "20240301", "20240302"], ["14:05:00", "15:05:00", "00:30:00"]),
    ],
)
def test_a_day_and_its_clock_are_one_time(
    folder: Folder, header: str, days: list[str], hours: list[str]
) -> None:
    ends = [("ann", "ben"), ("ben", "cy"), ("cy", "ann")]
    rows = [(a, b, day, hour) for (a, b), day, hour in zip(ends, days, hours, strict=True)]
    graph, report = folder.read(
        header + "".join(",".join(row) + "\n" for row in rows), header=str(bool(header)).lower()
    )
    reading = report.readings["edges"]
    assert roles(report) == ["source", "target", "time", "time"]
    (said,) = (each for each in report.warnings if "are read as one time" in each)
    grid, (table,) = graph.schema.time, graph.edges.values()
    assert grid is not None
    assert table.step is not None
    first, second = (at // grid.width for at in (0, 3600))
    steps = sorted(table.step.tolist())
    assert steps[1] - steps[0] == second - first > 0
    again = Folder(folder.path / "out")
    other, apart = again.read(
        (folder.path / "edges").read_bytes(),
        columns=said.split("columns=")[1].split(" to ")[0],
        header=str(bool(header)).lower(),
    )
    assert roles(apart) == ["source", "target", "time", "value"]
    kind = "category" if "PM" in hours[0] else "time_of_day"
    assert [str(each.kind) for each in other.schema.edge_types[0].attributes] == [kind]
    kept = Folder(again.path / "out")
    same, last = kept.read((folder.path / "edges").read_bytes(), **reading.mapping.options())
    assert same.schema == graph.schema
    assert sorted(next(iter(same.edges.values())).step.tolist()) == steps
    assert not any("are read as one time" in each for each in last.warnings)


def test_two_clocks_beside_a_day_are_values(folder: Folder) -> None:
    rows = "".join(f"p{i},p{i + 1},2024-03-{i + 1:02},0{i}:05,1{i}:10\n" for i in range(9))
    _, report = folder.read("source,target,date,leaves,arrives\n" + rows)
    assert roles(report)[2:] != ["time", "time", "time"]
    assert len(report.schema.edge_types[0].attributes) == 2


@pytest.mark.parametrize(
    "words", ["yes no", "Y N", "ja nein", "Oui non", "vrai FAUX", "sí no", "t f", "true false"]
)
@pytest.mark.parametrize("header", ["source,target,answered\n", ""])
def test_yes_and_no_in_other_words_are_booleans(folder: Folder, words: str, header: str) -> None:
    yes, no = words.split()
    said = [yes, no.upper(), yes.lower(), no, no, yes, yes, no]
    rows = "".join(f"p{i},p{i * 3 % 8 + 1},{each}\n" for i, each in enumerate(said))
    graph, report = folder.read(header + rows)
    column = report.readings["edges"].columns[2]
    assert column.role is Role.VALUE
    (answered,) = report.schema.edge_types[0].attributes
    assert answered.categories == ("false", "true")
    (table,) = graph.edges.values()
    assert table.values is not None
    assert sorted(table.values.columns[answered.name].tolist()) == [0, 0, 0, 0, 1, 1, 1, 1]
    told = f"{no.lower()} and {yes.lower()}"
    assert told in column.why[0]
    assert any(told in warning for warning in report.warnings) is (words != "true false")


def test_a_further_word_far_on_makes_no_booleans(folder: Folder) -> None:
    rows = "".join(f"p{i},p{i + 1},{('Yes', 'no')[i % 2]}\n" for i in range(2000))
    _, report = folder.read("source,target,answered\n" + rows + "p1,p9,maybe\n")
    assert report.schema.edge_types[0].attributes[0].categories == ("Yes", "maybe", "no")
