"""Methods of other packages: found by their entry points, kept to the same contract."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from core.methods import registry

ROOT = Path(__file__).resolve().parents[2]
PLUGIN = ROOT / "tests" / "support" / "plugin" / "noisy_total.py"
RELEASED = """
import graphveil as gv, networkx as nx
graph, budget = nx.karate_club_graph(), gv.Budget.unlimited()
released = gv.synthesize(graph, 50, budget=budget, nodes=list(graph), method="noisy_total")
print(released.report["provenance"]["method"], 70 <= released.graph.to_networkx().number_of_edges() <= 90)
"""


@pytest.fixture
def enter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], Path]:
    """Called with an entry's value, a package with the toy method is installed, which enters it so."""

    def installed(value: str) -> Path:
        shutil.copy(PLUGIN, tmp_path)
        metadata = tmp_path / "noisy_total-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: noisy-total\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[{registry.GROUP}]\nnoisy_total = {value}\n")
        monkeypatch.syspath_prepend(tmp_path)
        return tmp_path

    return installed


def test_a_method_of_an_installed_package_is_one_of_ours(enter):
    known = registry.generators()
    folder = enter("noisy_total:GENERATOR")
    found = registry.collect((*registry.built_in(), *registry.entered()))
    assert found.keys() - known.keys() == {"noisy_total"}
    assert not registry.refusals(found["noisy_total"])
    released = subprocess.run(
        [sys.executable, "-c", RELEASED],
        env={**os.environ, "PYTHONPATH": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert released.stdout.split() == ["noisy_total", "True"], released.stderr


@pytest.mark.slow
def test_a_method_of_an_installed_package_keeps_the_contract(enter):
    checks = ("tests/contract/test_generators.py", "tests/contract/test_declared_facts.py")
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", "-k", "noisy_total", *checks],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(enter("noisy_total:GENERATOR"))},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-4000:]
    assert "passed" in done.stdout


def test_a_package_that_was_taken_away_enters_nothing(enter):
    enter("of_another_package.method:GENERATOR")
    assert "noisy_total" not in dict(registry.entered())
    assert not [origin for origin, _ in registry.entered() if origin.startswith("of_another_package")]


def test_a_method_that_cannot_be_loaded_stops_the_registry(enter):
    """What its module lacks is an error: the method was meant to be there."""
    folder = enter("broken_method:GENERATOR")
    (folder / "broken_method.py").write_text("import a_library_that_is_not_there\n")
    with pytest.raises(ModuleNotFoundError, match="a_library_that_is_not_there"):
        list(registry.entered())


def test_two_methods_of_one_name_are_refused(enter):
    enter("core.methods.edgerand:GENERATOR")
    with pytest.raises(TypeError, match="two generators are named 'edgerand'"):
        registry.collect((*registry.built_in(), *registry.entered()))


def test_a_method_is_loaded_when_it_is_looked_up(enter, monkeypatch):
    before = len(registry.generators())
    enter("noisy_total:GENERATOR")
    monkeypatch.delitem(sys.modules, "noisy_total", raising=False)
    known = registry._Registered()
    assert known["edgerand"].name == "edgerand"
    assert "noisy_total" not in sys.modules
    assert known["noisy_total"].title == sys.modules["noisy_total"].GENERATOR.title
    assert "nobodys" not in known
    assert len(known) == before + 1


def test_what_an_entry_is_called_gives_no_method_away(enter):
    """The house's method is not the package's that enters another by its name."""
    folder = enter("noisy_total:GENERATOR")
    entries = folder / "noisy_total-1.0.dist-info" / "entry_points.txt"
    entries.write_text(entries.read_text().replace("noisy_total =", "edgerand ="))
    known = registry._Registered()
    assert known["edgerand"] is registry.get("edgerand")
    assert known["noisy_total"].name == "noisy_total"


def test_an_entry_that_names_a_method_twice_is_refused_when_it_is_looked_up(enter):
    enter("core.methods.edgerand:GENERATOR")
    with pytest.raises(TypeError, match="two generators are named 'edgerand'"):
        _ = registry._Registered()["noisy_total"]
