"""Every test belongs to one of five groups, by its marker, its folder or its parameters; no list names it."""

from __future__ import annotations

import subprocess
import sys
import textwrap
from collections import Counter
from pathlib import Path

import pytest

from tests.support.groups import DEFAULT, GROUPS

pytestmark = pytest.mark.extras
ROOT = Path(__file__).resolve().parents[2]
TREE = {
    "papers/told/tests/test_method.py": "def test_of_a_folder(): ...",
    "tests/audit/test_large.py": "def test_of_a_folder(): ...",
    "tests/audit/test_mixed.py": """
        import pytest
        def test_of_a_folder(): ...
        @pytest.mark.default
        def test_of_a_marker(): ...
    """,
    "tests/unit/deploy/test_chart.py": "def test_of_a_folder(): ...",
    "tests/fault/test_killed.py": "def test_of_a_folder(): ...",
    "tests/unit/test_mixed.py": """
        import pytest
        def test_of_no_other(): ...
        @pytest.mark.parametrize("name", ["dcsbm", "psgraph", pytest.param("none", marks=pytest.mark.audits)])
        def test_of_a_method(name): ...
    """,
    "tests/unit/test_declared.py": """
        import pytest
        pytestmark = pytest.mark.faults
        def test_of_a_file(): ...
    """,
}
MIXED = "tests/unit/test_mixed.py::"
HELD = {
    DEFAULT: {
        "tests/audit/test_mixed.py::test_of_a_marker",
        f"{MIXED}test_of_no_other",
        f"{MIXED}test_of_a_method[dcsbm]",
    },
    "papers": {"papers/told/tests/test_method.py::test_of_a_folder", f"{MIXED}test_of_a_method[psgraph]"},
    "audits": {
        "tests/audit/test_large.py::test_of_a_folder",
        "tests/audit/test_mixed.py::test_of_a_folder",
        f"{MIXED}test_of_a_method[none]",
    },
    "extras": {"tests/unit/deploy/test_chart.py::test_of_a_folder"},
    "faults": {"tests/fault/test_killed.py::test_of_a_folder", "tests/unit/test_declared.py::test_of_a_file"},
}


def collected(folder: Path, *options: str) -> list[str]:
    """Return the tests that pytest finds in a folder."""
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-n",
        "0",
        "-p",
        "no:cacheprovider",
        *options,
    ]
    ended = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    return [line for line in ended.stdout.splitlines() if "::" in line and not line.startswith(" ")]


@pytest.fixture
def tree(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A small suite that takes groups from the plugin."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    for name, text in TREE.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(textwrap.dedent(text))
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\naddopts = -q -p tests.support.groups --strict-markers --import-mode=importlib\n"
    )
    return tmp_path


@pytest.mark.parametrize("group", GROUPS)
def test_a_marker_goes_before_a_folder_and_a_folder_before_a_parameter(group: str, tree: Path):
    assert set(collected(tree, "--group", group)) == HELD[group]


def test_two_groups_at_one_place_are_refused(tree: Path):
    text = "import pytest\n@pytest.mark.audits\n@pytest.mark.faults\ndef test_of_two(): ...\n"
    (tree / "tests/unit/test_two.py").write_text(text)
    with pytest.raises(AssertionError, match=r"marked for \['audits', 'faults'\]: leave one marker"):
        collected(tree, "--group", DEFAULT)


@pytest.mark.timeout(1800)
def test_the_groups_have_every_test_once():
    """What each command collects, together, is what pytest collects; properties have a large form besides."""
    everything = Counter(collected(ROOT))
    of_groups = Counter(each for group in GROUPS for each in collected(ROOT, "--group", group))
    both_forms = collected(ROOT, "--group", DEFAULT, "-m", "hypothesis and not slow")
    assert len(everything) > 10_000
    assert len(both_forms) > 100
    assert of_groups == everything + Counter(both_forms)
