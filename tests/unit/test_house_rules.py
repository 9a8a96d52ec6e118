"""What the house refuses is found where it is planted: circles of imports, SQL outside repositories."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest

from tests.house_rules import circles, sql_outside


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A function that writes a package of the given modules, and gives back its name."""

    def write(name: str, modules: dict[str, str]) -> str:
        folder = tmp_path / name
        folder.mkdir()
        for module, text in {"__init__": "", **modules}.items():
            (folder / f"{module}.py").write_text(text)
        importlib.invalidate_caches()
        return name

    monkeypatch.syspath_prepend(str(tmp_path))
    return write


@pytest.mark.parametrize(
    "back",
    [
        "import planted_circle.a\n",
        "def late():\n    from planted_circle import a\n    return a\n",
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from planted_circle.a import x\n",
    ],
    ids=["at the top", "inside a function", "for types alone"],
)
def test_a_circle_is_found(planted, back):
    name = planted("planted_circle", {"a": "from planted_circle import b\nx = 1\n", "b": back, "c": ""})
    assert list(circles([name])) == ["planted_circle.a, planted_circle.b: they import one another"]


def test_a_circle_of_a_package_and_its_own_module_is_found(planted):
    name = planted(
        "planted_inside", {"__init__": "from planted_inside import b\n", "b": "import planted_inside\n"}
    )
    assert list(circles([name])) == ["planted_inside, planted_inside.b: they import one another"]


def test_imports_one_way_are_no_circle(planted):
    name = planted(
        "planted_line", {"a": "from planted_line import b\n", "b": "import planted_line.c\n", "c": ""}
    )
    assert list(circles([name])) == []


@pytest.mark.parametrize(
    "line",
    [
        "row = session.get(Job, 'x')",
        "rows = session.execute(statement).all()",
        "from sqlalchemy import select as chosen\nfound = chosen(1)",
    ],
)
@pytest.mark.parametrize(
    ("file", "found"),
    [("core/workflows/jobs/submit.py", 1), ("core/jobs/repository.py", 0), ("tests/anywhere.py", 0)],
)
def test_sql_outside_a_repository_is_found(tmp_path: Path, file: str, found: int, line: str):
    path = tmp_path / file
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    assert len(list(sql_outside([path], tmp_path))) == found
