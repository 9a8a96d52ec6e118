"""A release in parts is told of by its parts."""

from dataclasses import replace

import numpy as np
import pytest

from core.methods._shared.blocks.reconstruct import Blocks
from core.methods._shared.shards.draw import strips, write_shard
from core.methods._shared.shards.law import strip_law
from core.publishing.parts import described


def law():
    rng = np.random.default_rng(4)
    zero = np.zeros(1, dtype=np.int64)
    weights = rng.integers(0, 20, 500)
    return strip_law(weights, zero.repeat(500), Blocks(zero, zero, np.array([4000])), bytes(32), rng, 300)


@pytest.mark.parametrize("shards", [1, 4])
def test_statistics_are_those_of_the_whole(tmp_path, shards):
    made = law()
    parts = [write_shard(made, number, shards, tmp_path) for number in reversed(range(shards))]
    found = described(tmp_path, parts, 500)
    whole = np.concatenate([np.stack(ends, axis=1) for ends in strips(made, range(made.strips))])
    assert found.edges == len(whole) == found.to_json()["edges"]
    assert np.array_equal(found.degrees, np.bincount(whole.ravel(), minlength=500))
    assert [part.name for part in found.parts] == sorted(part.name for part in parts)
    assert found.to_json()["degrees"]["bins"]


def test_a_part_that_is_another_is_found(tmp_path):
    made = law()
    parts = [write_shard(made, number, 3, tmp_path) for number in range(3)]
    (tmp_path / parts[1].name).write_bytes((tmp_path / parts[2].name).read_bytes())
    with pytest.raises(ValueError, match="bytes"):
        described(tmp_path, parts, 500)


def test_a_release_lacks_no_part_and_has_none_twice(tmp_path):
    made = law()
    parts = [write_shard(made, number, 3, tmp_path) for number in range(3)]
    for wrong in (parts[:2], [*parts, parts[0]], [*parts[:2], replace(parts[2], name="another.parquet")]):
        with pytest.raises(ValueError, match="all parts"):
            described(tmp_path, wrong, 500)
    with pytest.raises(ValueError, match="another part's"):
        described(tmp_path, [parts[0], parts[1], replace(parts[2], first_source=parts[1].last_source)], 500)
