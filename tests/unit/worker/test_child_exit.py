"""A child whose work is done has done it, whatever the libraries that it loaded do as they are torn down."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import asdict
from pathlib import Path

import pytest

from core.graphs.uploads import IngestLimits

ENDS_BADLY = (
    "import atexit, os, runpy, sys; atexit.register(os.abort); "
    "runpy.run_module('worker.sandbox', run_name='__main__', alter_sys=True)"
)


@pytest.mark.parametrize(("rows", "kept"), [("0,1\n1,2\n", "report"), ("0,1,2\n", "findings")])
def test_a_library_that_aborts_at_exit_undoes_no_work(tmp_path: Path, rows: str, kept: str):
    (tmp_path / "edges.csv").write_text("source,target\n" + rows)
    limits = IngestLimits(max_nodes=100, max_rows=100, max_findings=10)
    spec = {
        "files": {"edges": {"path": str(tmp_path / "edges.csv"), "format": "csv", "options": {}}},
        "schema": None,
        "limits": asdict(limits),
        "fingerprint_key": "00" * 32,
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    null = os.open(os.devnull, os.O_RDWR)
    arguments = ["--events", str(null), "--answers", str(null), "--parent", str(os.getpid())]
    ended = subprocess.run(
        [sys.executable, "-c", ENDS_BADLY, "ingest", str(tmp_path), *arguments],
        pass_fds=(null,),
        capture_output=True,
        text=True,
        timeout=120,
    )
    os.close(null)
    assert ended.returncode == 0, ended.stderr
    assert kept in json.loads((tmp_path / "result.json").read_text())
