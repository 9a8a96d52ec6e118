"""The client's distribution: few dependencies, quick to load, typed, and its examples are true."""

from __future__ import annotations

import doctest
import importlib.util
import pkgutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

import graphveil

CLIENT = Path(__file__).resolve().parents[3] / "client"
INSTALLED = Path(graphveil.__file__).resolve().parent
PROJECT = tomllib.loads((CLIENT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
MOST_DEPENDENCIES = 8
LOADED_LATER = ("httpx", "pydantic", "typer", "rich", "jinja2")


def modules() -> list[str]:
    """Every module; those that make releases on this machine only where the engine is installed too."""
    found = [each.name for each in pkgutil.walk_packages([str(INSTALLED)], "graphveil.")]
    engine = importlib.util.find_spec("core") is not None
    return [name for name in found if engine or not name.startswith("graphveil.local")]


def test_it_asks_for_few_packages_and_never_for_the_service():
    asked = PROJECT["dependencies"]
    assert len(asked) <= MOST_DEPENDENCIES
    assert not [each for each in asked if each.startswith("graphveil")]
    assert PROJECT["requires-python"] == ">=3.10"


def test_both_distributions_have_one_version():
    service = tomllib.loads((CLIENT.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert (service["version"], service["name"]) == (PROJECT["version"], "graphveil-service")
    assert "graphveil" in service["dependencies"]


def test_naming_it_loads_nothing_heavy():
    script = f"import sys, graphveil; print([name for name in {LOADED_LATER!r} if name in sys.modules])"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_every_name_that_it_offers_is_there():
    assert {"Graphveil", "ProblemError", "verify_webhook"} <= set(graphveil.__all__) <= set(dir(graphveil))
    for name in graphveil.__all__:
        assert getattr(graphveil, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Other'"):
        _ = graphveil.Other


def test_it_says_that_it_is_typed():
    assert (INSTALLED / "py.typed").is_file()


def test_the_examples_in_docstrings_are_true():
    tried = 0
    for name in modules():
        found = doctest.testmod(importlib.import_module(name))
        assert not found.failed, name
        tried += found.attempted
    assert tried > 5
