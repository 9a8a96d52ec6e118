"""The notebooks run, as they are committed, and their outputs tell nothing of the machine that ran them."""

from __future__ import annotations

import re
from pathlib import Path

import nbformat
import pytest
from nbclient import NotebookClient

from deploy.local.servers import free_port

pytestmark = pytest.mark.extras

EXAMPLES = Path(__file__).parents[3] / "examples"
NOTEBOOKS = ("first_release", "choosing_epsilon", "gnn", "live_stream")
OF_A_MACHINE = re.compile(r"/(home|root|tmp|work|usr|var|Users)/|site-packages|gv_[0-9a-z]{8}")


def notebook(name: str) -> nbformat.NotebookNode:
    return nbformat.read(EXAMPLES / f"{name}.ipynb", as_version=4)


def test_all_of_them_are_here() -> None:
    assert {path.stem for path in EXAMPLES.glob("*.ipynb")} == set(NOTEBOOKS)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_committed_outputs_are_whole_and_of_no_machine(name: str) -> None:
    made = notebook(name)
    nbformat.validate(made)
    code = [cell for cell in made.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell.outputs]
    assert outputs
    assert not [each for each in outputs if each.output_type == "error" or each.get("name") == "stderr"]
    assert not OF_A_MACHINE.search(str(outputs))


@pytest.mark.parametrize(
    "name",
    [
        "first_release",
        pytest.param("choosing_epsilon", marks=pytest.mark.slow),
        pytest.param("gnn", marks=pytest.mark.slow),
        pytest.param("live_stream", marks=[pytest.mark.slow, pytest.mark.timeout(1200)]),
    ],
)
def test_a_notebook_runs(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("GRAPHVEIL_PORT", "GRAPHVEIL_METRICS_PORT", "GRAPHVEIL_EXPORTER_PORT"):
        monkeypatch.setenv(variable, str(free_port()))
    for variable in ("HOME", "IPYTHONDIR", "JUPYTER_RUNTIME_DIR"):
        monkeypatch.setenv(variable, str(tmp_path))
    made = notebook(name)
    outputs = sum(len(cell.outputs) > 0 for cell in made.cells if cell.cell_type == "code")
    where = {"metadata": {"path": str(EXAMPLES)}}
    NotebookClient(made, timeout=1000, kernel_name="python3", resources=where).execute()
    assert sum(len(cell.outputs) > 0 for cell in made.cells if cell.cell_type == "code") >= outputs
