"""The pages that the code writes are those in the repository."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(scope="module")
def build() -> ModuleType:
    spec = importlib.util.spec_from_file_location("docs_build", ROOT / "docs" / "build.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_generated_pages_are_up_to_date(build: ModuleType) -> None:
    pages = build.pages()
    assert pages
    for path, text in pages.items():
        assert path.exists(), f"run python docs/build.py: {path.name} is missing"
        assert path.read_text(encoding="utf-8") == text, f"run python docs/build.py: {path.name} is stale"


def test_every_setting_and_parameter_is_explained(build: ModuleType) -> None:
    for path, text in build.pages().items():
        unexplained = [line for line in text.splitlines() if line.startswith("| `") and line.endswith("|  |")]
        assert unexplained == [], path.name


def test_every_method_says_what_to_expect_of_it(build: ModuleType) -> None:
    methods = {path: text for path, text in build.pages().items() if path.parent.name == "generators"}
    assert methods
    assert [path.name for path, text in methods.items() if "what to expect" not in text.lower()] == []
