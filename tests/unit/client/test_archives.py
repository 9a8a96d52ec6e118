"""A downloaded archive is whole and as its index says, or it is not kept."""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from pathlib import Path

import pytest

from graphveil.errors import DigestMismatch
from graphveil.sdk.archives import save

EDGES = "edges/step-000003.parquet"


def archive(*, named: str | None = None, kept: bool = True) -> bytes:
    """A zip with one snapshot; ``named`` is the digest that its index gives."""
    content = b"edges of step 3"
    digest = named or hashlib.sha256(content).hexdigest()
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        listed = {"step": 3, "job_id": "job_1", "epsilon": "0.5", "sha256": {"edges.parquet": digest}}
        file.writestr("index.json", json.dumps({"steps": [listed]}))
        if kept:
            file.writestr(EDGES, content)
    return buffer.getvalue()


def test_a_whole_archive_is_kept(tmp_path: Path):
    path = save([archive()], tmp_path / "new" / "stream.zip")
    assert path.read_bytes() == archive()


@pytest.mark.parametrize(
    "content",
    [
        archive(named="0" * 64),
        archive(kept=False),
        archive()[:-10],
        b"",
        b"<html>a proxy in between</html>",
    ],
    ids=["other digest", "missing file", "cut short", "nothing", "no zip"],
)
def test_a_broken_archive_leaves_nothing(tmp_path: Path, content: bytes):
    with pytest.raises(DigestMismatch):
        save([content], tmp_path / "stream.zip")
    assert list(tmp_path.iterdir()) == []


def test_an_archive_without_an_index_leaves_nothing(tmp_path: Path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as file:
        file.writestr(EDGES, b"edges")
    with pytest.raises(DigestMismatch):
        save([buffer.getvalue()], tmp_path / "stream.zip")
    assert list(tmp_path.iterdir()) == []
