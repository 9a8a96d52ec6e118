"""Which version of the service runs."""

from __future__ import annotations

import tomllib
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

TREE = Path(__file__).resolve().parents[1]


def package_version() -> str:
    """Return the installed version, or that of the tree it runs from, as in an image; else ``unknown``."""
    try:
        return version("graphveil-service")
    except PackageNotFoundError:
        return version_of(TREE)


def version_of(tree: Path) -> str:
    """Read the version in the tree's ``pyproject.toml``; ``unknown`` where it has none."""
    try:
        stated = (tree / "pyproject.toml").read_text(encoding="utf-8")
    except FileNotFoundError:
        return "unknown"
    return str(tomllib.loads(stated)["project"]["version"])
