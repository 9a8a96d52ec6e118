"""Parts of a graph's edges: what is written is read, and what was altered is found."""

from dataclasses import replace

import numpy as np
import pytest

from core.graphs.schema.partable import Slots, inside
from core.graphs.stored.parts import checked_part, read_part, require_apart, write_part

GROUPS = [
    (np.array([0, 0, 2], dtype=np.int32), np.array([1, 4, 3], dtype=np.int32)),
    (np.array([], dtype=np.int32), np.array([], dtype=np.int32)),
    (np.array([3, 5], dtype=np.int32), np.array([9, 6], dtype=np.int32)),
]


def joined(groups):
    return [np.concatenate(ends).tolist() for ends in zip(*groups, strict=True)]


def test_a_part_gives_back_its_groups(tmp_path):
    part = write_part(GROUPS, tmp_path / "a.parquet", 10)
    assert (part.rows, part.first_source, part.last_source) == (5, 0, 5)
    assert len(list(read_part(tmp_path / "a.parquet"))) == 2  # one for each group that has rows
    assert joined(read_part(tmp_path / "a.parquet")) == joined(GROUPS)
    assert joined(checked_part(tmp_path, part, inside(10))) == joined(GROUPS)


def test_a_part_is_there_when_it_is_whole(tmp_path):
    whole = write_part(GROUPS, tmp_path / "a.parquet", 10)

    def dying():
        yield GROUPS[0]
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write_part(dying(), tmp_path / "a.parquet", 10)
    assert joined(checked_part(tmp_path, whole, inside(10))) == joined(GROUPS)
    assert [path.name for path in tmp_path.iterdir()] == ["a.parquet"]
    assert write_part(GROUPS, tmp_path / "a.parquet", 10) == whole


def test_a_part_may_be_empty(tmp_path):
    part = write_part([], tmp_path / "a.parquet", 10)
    assert (part.rows, part.first_source, part.last_source) == (0, -1, -1)
    assert not list(checked_part(tmp_path, part, inside(10)))


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ([0, 0], [1, 1]),  # twice
        ([0, 0], [2, 1]),  # not sorted
        ([1], [1]),  # a loop
        ([2], [1]),  # the larger end first
        ([1], [10]),  # no such node
        ([-1], [1]),
    ],
)
def test_pairs_that_are_not_canonical_are_found(tmp_path, source, target):
    part = write_part([(np.array(source), np.array(target))], tmp_path / "a.parquet", 10)
    with pytest.raises(ValueError, match="pairs"):
        list(checked_part(tmp_path, part, inside(10)))


DIRECTED, BETWEEN = Slots(9, 6, mirrored=False), Slots(9, 6, mirrored=False, loops=True)


@pytest.mark.parametrize(
    ("slots", "source", "target", "taken"),
    [
        (DIRECTED, [2, 5], [1, 0], True),
        (BETWEEN, [2, 2], [1, 2], True),
        (DIRECTED, [2], [2], False),
        (DIRECTED, [3, 2], [1, 1], False),
        (BETWEEN, [2, 2], [1, 1], False),
        (BETWEEN, [9], [1], False),
        (BETWEEN, [8], [6], False),
        (BETWEEN, [1], [-1], False),
    ],
)
def test_pairs_with_sides_are_canonical_in_their_own_way(tmp_path, slots, source, target, taken):
    part = write_part([(np.array(source), np.array(target))], tmp_path / "a.parquet", 10)
    if taken:
        assert joined(checked_part(tmp_path, part, slots)) == [source, target]
        return
    with pytest.raises(ValueError, match="pairs"):
        list(checked_part(tmp_path, part, slots))


def test_altered_bytes_rows_and_ranges_are_found(tmp_path):
    path = tmp_path / "a.parquet"
    part = write_part(GROUPS, path, 10)
    for wrong in (replace(part, rows=4), replace(part, last_source=6), replace(part, first_source=1)):
        with pytest.raises(ValueError, match=r"a\.parquet"):
            list(checked_part(tmp_path, wrong, inside(10)))
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(content)
    with pytest.raises(ValueError, match="bytes"):
        list(checked_part(tmp_path, part, inside(10)))


def test_parts_whose_sources_meet_are_refused(tmp_path):
    part = write_part(GROUPS, tmp_path / "a.parquet", 10)
    empty = write_part([], tmp_path / "b.parquet", 10)
    require_apart([part, empty, replace(part, first_source=6, last_source=9)])
    with pytest.raises(ValueError, match="another part's"):
        require_apart([part, replace(part, first_source=5, last_source=9)])
