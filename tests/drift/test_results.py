"""Every table of the results' page is data that names the script which printed it."""

from __future__ import annotations

import json
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from benchmarks.leads import leads
from benchmarks.stream_ahead import counted
from docs.build import TABLE

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "docs/results").glob("*.json"))


def found(name: str) -> dict[str, Any]:
    return json.loads((ROOT / "docs/results" / f"{name}.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_table_names_its_script_its_seeds_and_its_day(file: Path) -> None:
    printed = found(file.stem)
    scripts = re.findall(r"python -m ([\w.]+)", printed["command"])
    assert scripts
    assert all((ROOT / f"{each.replace('.', '/')}.py").exists() for each in scripts), scripts
    assert printed["seeds"]
    for name, table in printed["tables"].items():
        assert table.get("title") or table.get("note"), name
        assert date.fromisoformat(table["printed"]) <= date.today(), name
        assert {len(row) for row in table["rows"]} == {len(table["columns"])}, name


def test_the_page_shows_every_table_once_and_no_other() -> None:
    page = (ROOT / "docs/results.md").read_text(encoding="utf-8")
    shown = [place.groups()[1:] for place in TABLE.finditer(page)]
    assert sorted(shown) == sorted((file.stem, name) for file in FILES for name in found(file.stem)["tables"])
    assert "\n|" not in TABLE.sub("", page)


def test_what_is_counted_from_other_tables_is_what_they_say() -> None:
    assert leads(found("static")) == found("leads")["tables"]["static"]["rows"]
    streams = found("streams")
    for table in streams["tables"].values():
        assert counted(table, streams["compares"]["higher"]) == table["rows"]
