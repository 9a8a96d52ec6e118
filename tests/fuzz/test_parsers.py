"""No damaged upload ends a parser, and each is refused or read: by many, in processes that may die."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from core.graphs import formats

ROOT = Path(__file__).resolve().parents[2]
MANY, AT_ONCE = 100_000, 5_000


def fuzz(name: str, first: int, count: int, folder: Path) -> str:
    """What the mutants' process found; it must live to the end."""
    command = [sys.executable, "-m", "tests.fuzz.mutants", name, str(first), str(count), str(folder)]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    now = (folder / "now").read_text() if (folder / "now").exists() else "none"
    assert ended.returncode == 0, f"{name} died of mutant {now}: {ended.stderr[-2000:]}"
    return ended.stdout


@pytest.mark.parametrize("values", ["", "+values"])
@pytest.mark.parametrize(
    "name",
    [
        pytest.param(each, marks=[pytest.mark.default] if each == "csv" else [])
        for each in formats.read_names()
    ],
)
def test_damaged_files_are_refused_or_read(name: str, values: str, tmp_path: Path) -> None:
    assert fuzz(name + values, 0, 250, tmp_path) == ""


@pytest.mark.default
@pytest.mark.parametrize(
    ("name", "number"), [("gml", 12_754), ("graphml", 2_804), ("graphml", 21_642), ("parquet", 324)]
)
def test_files_that_once_raised_what_nothing_caught_are_refused(
    name: str, number: int, tmp_path: Path
) -> None:
    assert fuzz(name, number, 1, tmp_path) == ""


@pytest.mark.slow
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("values", ["", "+values"])
@pytest.mark.parametrize("name", formats.read_names())
def test_very_many_damaged_files_are_refused_or_read(name: str, values: str, tmp_path: Path) -> None:
    for first in range(0, MANY, AT_ONCE):
        assert fuzz(name + values, first, AT_ONCE, tmp_path) == ""


@pytest.mark.default
def test_a_mutant_is_the_same_bytes_each_time() -> None:
    from tests.fuzz.mutants import mutant

    assert mutant("csv", 7) == mutant("csv", 7)
    assert len({mutant("csv", number) for number in range(50)}) > 40
