"""The folder of a release, as a pack's own list of files is looked up in it."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from graphveil.errors import EvidenceRefused
from graphveil.evidence.verify import _check_release

pytestmark = pytest.mark.default


def _listed(name: str, path: Path) -> dict[str, list[dict[str, str]]]:
    return {"items": [{"name": name, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}]}


def test_a_release_is_found_in_a_folder_that_is_named_from_below(tmp_path, monkeypatch):
    (tmp_path / "below").mkdir()
    (tmp_path / "edges.parquet").write_bytes(b"edges")
    monkeypatch.chdir(tmp_path / "below")
    assert _check_release(Path(".."), _listed("edges.parquet", tmp_path / "edges.parquet")) == 1


@pytest.mark.parametrize("absolute", [True, False])
def test_no_file_outside_the_folder_is_taken_for_one_of_the_release(tmp_path, absolute):
    release, other = tmp_path / "release", tmp_path / "other"
    release.mkdir()
    other.write_bytes(b"other")
    with pytest.raises(EvidenceRefused, match="it is not in"):
        _check_release(release, _listed(str(other) if absolute else "../other", other))
