"""What is loaded late is there."""

from __future__ import annotations

import ast
import subprocess
import sys
from importlib import import_module

import pytest

from core.late import late
from tests.house_rules import BESIDE, ROOT, SERVICE, python_files


def paths() -> list[str]:
    """Every path that the product names."""
    found = set()
    for file in python_files():
        room = file.relative_to(ROOT).parts
        if room[0] not in SERVICE or set(BESIDE) & set(room):
            continue
        if "late(" not in (text := file.read_text()):
            continue  # to parse every file takes two seconds of every collection
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "late":
                found.add(ast.literal_eval(node.args[0]))
    return sorted(found)


@pytest.mark.parametrize("path", paths())
def test_every_path_leads_to_a_function(path: str):
    module, name = path.split(":")
    assert callable(getattr(import_module(module), name))


def test_what_is_late_is_loaded_when_it_is_called(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delitem(sys.modules, "colorsys", raising=False)
    grey = late("colorsys:rgb_to_hsv")
    assert "colorsys" not in sys.modules
    assert grey(0.5, 0.5, 0.5) == (0.0, 0.0, 0.5)
    assert grey.__name__ == "rgb_to_hsv"


LOADS = """
import gc, sys
from graphveil.loading import loaded
loaded("colorsys")
thawed = gc.isenabled(), gc.get_freeze_count()
gc.freeze()
del sys.modules["colorsys"]
loaded("colorsys")
frozen = gc.isenabled(), gc.get_freeze_count() > 1000
gc.disable()
del sys.modules["colorsys"]
loaded("colorsys")
print(*thawed, *frozen, gc.isenabled())
"""


def test_loading_leaves_the_collector_as_it_was():
    """What was frozen stays so: a child that collected a fork server's memory would copy it."""
    done = subprocess.run([sys.executable, "-c", LOADS], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "0", "True", "True", "False"]
