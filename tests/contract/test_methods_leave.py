"""Any method can be taken away: its file or folder is deleted in a copy of the tree, and the rest goes on."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import grimp
import pytest

from tests.house_rules import SERVICE
from tests.support.patience import PATIENCE_SECONDS
from tests.support.without import BUILT_ON, gone_with, method_modules, method_paths, outermost

ROOT = Path(__file__).resolve().parents[2]
METHODS = method_modules(ROOT)
COPIED = (
    *("api", "core", "papers", "worker", "docs", "tests", "conftest.py", "pyproject.toml"),
    "PRIVACY_PROMISE.md",
)


def copied(to: Path) -> Path:
    """A copy of what the product, its pages and its tests need."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, to / name, ignore=shutil.ignore_patterns(".*", "node_modules"))
        else:
            shutil.copy2(source, to / name)
    return to


def run(root: Path, *arguments: str, timeout: float) -> str:
    """What Python prints, run in the copy on the copy's packages; ``AssertionError`` where it fails."""
    surroundings = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=root,
        env=surroundings,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
    assert done.returncode == 0, f"{done.stdout[-4000:]}\n{done.stderr[-4000:]}"
    return done.stdout


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Any]]:
    """What is left without each method, by its name; of the whole product, by ""."""
    root = copied(tmp_path_factory.mktemp("tree"))
    spare, results = tmp_path_factory.mktemp("spare"), root / "results.json"
    run(root, "-m", "tests.support.without", str(spare), str(results), timeout=2 * PATIENCE_SECONDS)
    answers = json.loads(results.read_text())
    assert answers[""]["root"] == str(root.resolve())
    yield answers
    shutil.rmtree(root)


def test_no_module_imports_a_method_but_those_of_its_family():
    graph = grimp.build_graph(*SERVICE, cache_dir=None)
    inside = {name: {module, *graph.find_descendants(module)} for name, module in METHODS.items()}
    for name, module in METHODS.items():  # a method whose folder lies in another's is not part of it
        inside[name] -= {
            each for other in METHODS if METHODS[other].startswith(f"{module}.") for each in inside[other]
        }
    owner = {module: name for name, modules in inside.items() for module in modules}
    importers = defaultdict(set)
    for name, modules in inside.items():
        for module in modules:
            for other in graph.find_modules_that_directly_import(module) - modules:
                importers[name].add(owner.get(other, other))
    assert dict(importers) == {method: set(family) for method, family in BUILT_ON.items()}


@pytest.mark.papers
def test_the_whole_product_is_what_the_others_are_compared_with(found):
    whole = found[""]
    assert whole["methods"] == list(METHODS)
    assert whole["broken"] == []
    assert {f"{name}.md" for name in METHODS} < whole["pages"].keys()
    assert set(found) == {"", *METHODS}


@pytest.mark.papers
@pytest.mark.parametrize("method", METHODS)
def test_without_a_method_the_others_and_the_pages_stand(found, method):
    whole, left = found[""], found[method]
    assert "failed" not in left, left["failed"]
    gone = gone_with(method)
    assert left["methods"] == [name for name in METHODS if name not in gone]
    assert left["broken"] == []
    pages = {f"{name}.md" for name in gone}
    assert left["pages"] == {name: digest for name, digest in whole["pages"].items() if name not in pages}
    for before, now in zip(whole["chosen"], left["chosen"], strict=True):
        assert now not in gone
        assert now == before or before in gone


@pytest.mark.papers
@pytest.mark.slow
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("method", METHODS)
def test_without_a_method_the_others_keep_the_contract(method, tmp_path):
    root = copied(tmp_path)
    paths = method_paths(root)
    for path in outermost(paths[name] for name in gone_with(method)):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    checks = ("tests/contract/test_generators.py", "tests/contract/test_declared_facts.py")
    run(root, "-m", "pytest", "-n", "0", "-p", "no:cacheprovider", *checks, timeout=1700)
