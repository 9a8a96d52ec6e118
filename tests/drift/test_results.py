"""Every table of the results' page is data that names the script which printed it."""

from __future__ import annotations

import json
import posixpath
import re
from datetime import date
from pathlib import Path
from typing import Any

import pytest

from benchmarks.leads import leads
from benchmarks.stream_ahead import counted
from docs.build import TABLE
from docs.site import results

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


def test_the_sites_pages_of_results_hold_every_table_and_their_links_lead_on() -> None:
    whole = (ROOT / results.SOURCE).read_text(encoding="utf-8")
    pages = results.pages(whole)
    tables = re.compile(r"<!-- table (\S+) -->")
    found = {path: tables.findall(text) for path, text in pages.items()}
    assert sorted(name for names in found.values() for name in names) == sorted(tables.findall(whole))
    assert found.pop(results.SOURCE) == []
    assert all(text.startswith("# ") and "\n# " not in text for text in pages.values())
    for path, text in pages.items():
        for _, target, _ in results.LINK.findall(text):
            to, _, name = target.partition("#")
            full = posixpath.normpath(posixpath.join(posixpath.dirname(path), to)) if to else path
            if results.ELSEWHERE.match(target):
                continue
            assert full in pages or (ROOT / full).exists(), (path, target)
            headings = [results.anchor(title) for _, title in results.HEADING.findall(pages.get(full, ""))]
            assert not name or full not in pages or name in headings, (path, target)


def test_links_to_a_section_of_the_results_lead_to_its_page() -> None:
    places = results.anchors((ROOT / results.SOURCE).read_text(encoding="utf-8"))
    led = results.moved(
        "[all](results.md) [some](results.md#people-and-people)", "docs/a.md", "docs/a.md", places
    )
    assert led == "[all](results.md) [some](results/persons.md#people-and-people)"
    linked = {
        name
        for page in (ROOT / "docs").rglob("*.md")
        for name in re.findall(r"\]\([^)]*results\.md#([^)]+)\)", page.read_text(encoding="utf-8"))
    }
    assert linked
    assert linked <= places.keys()
