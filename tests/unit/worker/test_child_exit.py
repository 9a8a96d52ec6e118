"""A child whose work is done has done it, whatever the libraries that it loaded do as they are torn down."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path

import pytest

from core.graphs.uploads.files import IngestLimits
from tests.support import children


@pytest.mark.parametrize(("rows", "kept"), [("0,1\n1,2\n", "report"), ("0,1,2\n", "findings")])
def test_a_library_that_aborts_at_exit_undoes_no_work(tmp_path: Path, rows: str, kept: str):
    (tmp_path / "edges.csv").write_text("source,target\n" + rows)
    limits = IngestLimits(max_nodes=100, max_rows=100, max_findings=10)
    spec = {
        "files": {"edges": {"path": str(tmp_path / "edges.csv"), "format": "csv", "options": {}}},
        "schema": None,
        "limits": asdict(limits),
        "fingerprint_key": "00" * 32,
        "in_parts": False,
    }
    (tmp_path / "spec.json").write_text(json.dumps(spec))
    with children.served_by(
        "sandbox.KINDS['ingest'](folder, channel)", before="import atexit, os; atexit.register(os.abort)"
    ):
        done = children.ended(tmp_path)
    assert done.code == 0, done.output
    assert kept in json.loads((tmp_path / "result.json").read_text())
