"""The library loads the engine's modules by name: every name is one."""

from __future__ import annotations

import ast
import importlib.util
from pathlib import Path

import pytest

LOCAL = Path(__file__).resolve().parents[2] / "client" / "graphveil" / "local"
PARTS = sorted(
    {
        call.args[0].value
        for file in LOCAL.glob("*.py")
        for call in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute) and call.func.attr == "part"
    }
)


def test_the_library_loads_parts():
    assert len(PARTS) > 5


@pytest.mark.parametrize("name", PARTS)
def test_every_part_of_the_engine_that_the_library_loads_is_there(name):
    assert importlib.util.find_spec(f"core.{name}") is not None
