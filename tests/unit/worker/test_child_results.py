"""What a child leaves is read as what it may be, and anything else ends its work as its own failure."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from core.errors import InvalidInput
from core.publishing.sharded import TOLD
from worker.kinds import in_parts
from worker.kinds.base import read_result

WRONG = [b"", b"[" * 1_000, b"{", b"[]", b"7", b'{"other": 1}', b"\xff"]


@pytest.mark.parametrize("left", WRONG)
def test_a_result_that_is_none_is_the_childs_failure(left: bytes, tmp_path: Path):
    (tmp_path / "result.json").write_bytes(left)
    with pytest.raises(InvalidInput):
        read_result(tmp_path)


@pytest.mark.parametrize("left", [*WRONG, b'{"shards": 0}', b'{"shards": true}', b'{"shards": "2"}'])
def test_a_number_of_shards_that_is_none_is_the_fits_failure(left: bytes, tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / TOLD).write_bytes(left)
    held = SimpleNamespace(folder=tmp_path, services=SimpleNamespace(settings=SimpleNamespace(max_shards=9)))
    with pytest.raises(InvalidInput):
        in_parts.shards(cast(Any, held))


def test_the_number_of_shards_has_a_limit(tmp_path: Path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / TOLD).write_bytes(b'{"shards": 12}')
    held = SimpleNamespace(folder=tmp_path, services=SimpleNamespace(settings=SimpleNamespace(max_shards=9)))
    assert in_parts.shards(cast(Any, held)) == 9
