"""``graphveil reproduce PAPER`` reaches the experiment of each paper that has one."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAPERS = sorted(path.parent.name for path in (ROOT / "papers").glob("*/__main__.py"))


@pytest.mark.parametrize("paper", PAPERS)
def test_every_experiment_has_its_command(paper: str):
    command = [sys.executable, "-m", "graphveil.cli.app", "reproduce", paper, "--help"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    assert "--quick" in done.stdout
    assert "--data" in done.stdout
