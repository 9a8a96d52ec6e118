"""Which version of the service runs, and what its packages enter."""

from __future__ import annotations

import tomllib
from functools import cache
from importlib.metadata import EntryPoint, PackageNotFoundError, entry_points, version
from pathlib import Path
from typing import Any

NAME = "graphveil-service"
TREE = Path(__file__).resolve().parents[1]


@cache
def package_version() -> str:
    """Return the installed version, or the tree's. The tree is that it runs from, as in an image; else
    ``unknown``."""
    try:
        return version(NAME)
    except PackageNotFoundError:
        return version_of(TREE)


def version_of(tree: Path) -> str:
    """Read the version in the tree's ``pyproject.toml``. It is ``unknown`` where it has none."""
    return str(_stated(tree).get("version", "unknown"))


def entries(group: str) -> list[EntryPoint]:
    """Return the entry points of that group. They are of installed packages, and of the tree that runs
    uninstalled."""
    found = list(entry_points(group=group))
    try:
        version(NAME)
    except PackageNotFoundError:
        own = _stated(TREE).get("entry-points", {}).get(group, {})
        found += [EntryPoint(name, value, group) for name, value in own.items()]
    return found


def _stated(tree: Path) -> dict[str, Any]:
    """Read the tree's ``[project]``; empty where it has none."""
    try:
        stated = (tree / "pyproject.toml").read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    return dict(tomllib.loads(stated)["project"])
