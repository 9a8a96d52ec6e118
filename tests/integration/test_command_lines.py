"""Every ``python -m`` program of the service tells what it is for, and ignores no argument."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.patience import PATIENCE_SECONDS

ROOT = Path(__file__).resolve().parents[2]
HEAD = 'if __name__ == "__main__":'


def programs() -> list[str]:
    """Every module of api and worker that runs as a program, by the name that ``python -m`` takes."""
    files = [file for folder in ("api", "worker") for file in sorted((ROOT / folder).rglob("*.py"))]
    found = (file.relative_to(ROOT).with_suffix("") for file in files if HEAD in file.read_text())
    return [".".join(path.parts).removesuffix(".__main__") for path in found]


RUN = """
import contextlib, io, json, runpy, sys
for program in sys.argv[1:]:
    for argument in ("--help", "--nonsense"):
        sys.argv, said, code = [program, argument], io.StringIO(), "it went on"
        with contextlib.redirect_stdout(said), contextlib.redirect_stderr(said):
            try:
                runpy.run_module(program, run_name="__main__", alter_sys=True)
            except SystemExit as end:
                code = end.code
        print(json.dumps([program, argument, code, said.getvalue()]), flush=True)
"""


@pytest.fixture(scope="module")
def ended() -> dict[tuple[str, str], tuple[object, str]]:
    """Exit code and words of each program for each argument, where there is nothing that it could serve.

    One process runs them all: most of a start is what all of them import. One that serves holds it up.
    """
    nowhere = {
        "GRAPHVEIL_DATABASE_URL": "postgresql+psycopg://nobody@127.0.0.1:1/none",
        "GRAPHVEIL_REDIS_URL": "redis://127.0.0.1:1/0",
        "COLUMNS": "200",
    }
    process = subprocess.Popen(
        [sys.executable, "-c", RUN, *programs()],
        cwd=ROOT,
        env={**os.environ, **nowhere},
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    try:
        said, _ = process.communicate(timeout=PATIENCE_SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        said, _ = process.communicate()
    found = (json.loads(line) for line in said.splitlines())
    return {(program, argument): (code, words) for program, argument, code, words in found}


@pytest.mark.parametrize("program", programs())
def test_help_prints_and_an_unknown_argument_is_refused(
    program: str, ended: dict[tuple[str, str], tuple[object, str]]
) -> None:
    code, said = ended[program, "--help"]
    assert not code, said
    assert f"python -m {program}" in said
    code, said = ended[program, "--nonsense"]
    assert code == 2, said


def test_the_programs_are_found() -> None:
    assert {"api", "api.admin.keys", "worker.relay", "worker.preflight", "worker.fork_server"} <= set(
        programs()
    )
