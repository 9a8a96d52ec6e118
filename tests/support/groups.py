"""Which of five groups a test belongs to: ``pytest --group NAME`` runs one, and without the option all run.

Closest first: its marker, its folder, its parameters where one is a method of ``papers``; else ``default``.
What a deployment switches on or installs besides is ``extras``, and so is what does not ship (benchmarks,
files of a deployment, walks of pages, this suite). What is large (audits, whole fits, whole matrices, damaged
files of every format) is ``audits``, with a small form in ``default``: a property holds for a quarter of its
examples there, and for all of them here.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable
from functools import cache
from importlib.metadata import entry_points
from pathlib import Path
from typing import Any

import hypothesis
import pytest

DEFAULT, LARGE = "default", "audits"
GROUPS = {
    DEFAULT: "what ships by default",
    "papers": "methods of papers, and what needs torch",
    LARGE: "audits, properties, comparisons of whole fits and matrices in their large form",
    "extras": "what is switched on or installed besides, and what does not ship",
    "faults": "whole stacks, long lives of databases, processes and servers that are killed or stopped",
}
FOLDERS = {
    "papers": "papers",
    "tests/device": "papers",
    "tests/unit/evaluation/learning": "papers",
    "tests/audit": "audits",
    "tests/fuzz": "audits",
    "tests/unit/benchmarks": "extras",
    "tests/unit/deploy": "extras",
    "tests/fault": "faults",
}

MARKED_BY = {
    **{name: (f"mark.{name}",) for name in GROUPS},
    DEFAULT: ("mark.default", "in_both_forms"),  # of tests/support/auditing.py
    LARGE: ("mark.audits", "in_both_forms", "in_part", "from hypothesis"),
}
"""What a file says to have a test of the group although its folder belongs to another."""
FEWEST, PART = 10, 4
_part = 1


def examples(most: int) -> int:
    """Return how many examples a property has: all of them, or a quarter in ``make test``."""
    return min(most, max(FEWEST, most // _part))


def in_part(
    names: str | tuple[str, ...], cases: Iterable[Any], few: int, **options: Any
) -> pytest.MarkDecorator:
    """Return parameters of which ``make test`` has the first ``few``, and the audits have the others."""
    one, rows = isinstance(names, str) and "," not in names, list(cases)
    later = [pytest.param(*([case] if one else case), marks=pytest.mark.audits) for case in rows[few:]]
    return pytest.mark.parametrize(names, rows[:few] + later, **options)


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the option that names a group."""
    parser.addoption("--group", choices=GROUPS, help="run the tests of one group only")


def pytest_configure(config: pytest.Config) -> None:
    """Declare a marker for each group; give properties their small form in ``default``."""
    global _part
    if config.getoption("--group") == DEFAULT:
        _part = PART
        many = hypothesis.settings.default
        hypothesis.settings.register_profile("small", many, max_examples=examples(many.max_examples))
        hypothesis.settings.load_profile("small")
    for name, holds in GROUPS.items():
        config.addinivalue_line("markers", f"{name}: belongs to `--group {name}`: {holds}")


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip files of another group that never name this one's marker: imports take seconds."""
    asked = config.getoption("--group")
    if asked is None or collection_path.suffix != ".py" or not collection_path.name.startswith("test_"):
        return None
    text = collection_path.read_text()
    declared = re.search(r"^pytestmark = pytest\.mark\.(\w+)$", text, re.MULTILINE)
    of_file = declared[1] if declared else _of_folder(collection_path.relative_to(config.rootpath).as_posix())
    open_to = {of_file} if of_file in GROUPS else {DEFAULT, "papers"}  # parameters decide between the two
    return None if asked in open_to or any(name in text for name in MARKED_BY[asked]) else True


@pytest.hookimpl(trylast=True)  # once properties are marked as such
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect the tests of other groups."""
    if (asked := config.getoption("--group")) is None:
        return
    kept, others = [], []
    for item in items:
        (kept if asked in _forms(item) else others).append(item)
    config.hook.pytest_deselected(items=others)
    items[:] = kept


def _forms(item: pytest.Item) -> tuple[str, ...]:
    """Return the test's group; that of its large form too, if it is a property."""
    group = group_of(item)
    two = group == DEFAULT and item.get_closest_marker("hypothesis") is not None
    return (group, LARGE) if two else (group,)


def group_of(item: pytest.Item) -> str:
    """Return the one group of a test; two markers at the same place are an error."""
    for node in reversed(item.listchain()):
        marked = {mark.name for mark in node.own_markers} & GROUPS.keys()
        if len(marked) > 1:
            raise pytest.UsageError(f"{item.nodeid} is marked for {sorted(marked)}: leave one marker.")
        if marked:
            return marked.pop()
    by_folder = _of_folder(_within(item.path, item.config.rootpath))
    if by_folder is not None:
        return by_folder
    callspec = getattr(item, "callspec", None)
    return DEFAULT if callspec is None or _names(callspec.params.values()).isdisjoint(_papers()) else "papers"


@cache
def _within(path: Path, root: Path) -> str:
    return path.relative_to(root).as_posix()


def _of_folder(path: str) -> str | None:
    return next((group for folder, group in FOLDERS.items() if path.startswith(f"{folder}/")), None)


def _names(values: Iterable[Any]) -> set[str]:
    """Return what parameters may name a method by: texts, and names of and in objects."""
    fields = [(each, getattr(each, "name", None), getattr(each, "method", None)) for each in values]
    return {each for each in itertools.chain(*fields) if isinstance(each, str)}


@cache
def _papers() -> frozenset[str]:
    """Return the names of the methods that ``papers`` enters."""
    entered = entry_points(group="graphveil.methods")
    return frozenset(each.name for each in entered if each.value.startswith("papers."))
