"""Which file becomes which step."""

from __future__ import annotations

from pathlib import Path

import pytest

from graphveil.cli.pushing import by_number, files_of, in_order
from graphveil.errors import ClientError


def made(folder: Path, *names: str) -> list[Path]:
    for name in names:
        (folder / name).write_text(name)
    return [folder / name for name in names]


def test_numbers_in_names_count_as_numbers(tmp_path: Path):
    made(tmp_path, "week-10.csv", "week-2.csv", "week-1.csv", ".hidden")
    (tmp_path / "folder").mkdir()
    assert [file.name for file in files_of([tmp_path])] == ["week-1.csv", "week-2.csv", "week-10.csv"]


def test_files_keep_the_order_that_they_are_given_in(tmp_path: Path):
    later, earlier = made(tmp_path, "b.csv", "a.csv")
    sent = in_order(files_of([later, earlier]), first_step=7)
    assert [(sending.step, sending.name) for sending in sent] == [(7, "b.csv"), (8, "a.csv")]


def test_the_last_number_of_a_name_is_the_step(tmp_path: Path):
    files = made(tmp_path, "2024-week-03.csv.gz", "2024-week-1.csv", "step=000012.parquet")
    sent = by_number(files)
    assert [(sending.step, sending.name) for sending in sent] == [
        (1, "2024-week-1.csv"),
        (3, "2024-week-03.csv.gz"),
        (12, "step=000012.parquet"),
    ]


@pytest.mark.parametrize(
    ("names", "words"),
    [(("edges.csv",), "no number"), (("a-1.csv", "b-01.csv"), "both named for step 1")],
)
def test_a_name_that_tells_no_step_is_refused(tmp_path: Path, names: tuple[str, ...], words: str):
    with pytest.raises(ClientError, match=words):
        by_number(made(tmp_path, *names))


def test_an_empty_folder_is_refused(tmp_path: Path):
    with pytest.raises(ClientError, match="no file"):
        files_of([tmp_path])
