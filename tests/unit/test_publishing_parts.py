"""A release in parts is told of by what each part's own task tells."""

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from core.graphs.schema.partable import inside
from core.methods._shared.blocks.whole import Blocks
from core.methods._shared.shards.draw import strips, write_shard
from core.methods._shared.shards.law import sided_law, strip_law
from core.publishing.parts import degrees_of, placed, write_degrees


def law():
    rng = np.random.default_rng(4)
    zero = np.zeros(1, dtype=np.int64)
    weights = rng.integers(0, 20, 500)
    return strip_law(weights, zero.repeat(500), Blocks(zero, zero, np.array([4000])), bytes(32), rng, 300)


def drawn(made, shards, folder):
    parts = [write_shard(made, number, shards, folder) for number in reversed(range(shards))]
    for part in parts:
        write_degrees(folder, part, made.slots, folder / "degrees" / part.name)
    return parts


@pytest.mark.parametrize("shards", [1, 4])
def test_degrees_are_those_of_the_whole(tmp_path, shards):
    made = law()
    parts = drawn(made, shards, tmp_path)
    whole = np.concatenate([np.stack(ends, axis=1) for ends in strips(made, range(made.strips))])
    (found,) = degrees_of(tmp_path / "degrees", parts, inside(500))
    assert np.array_equal(found, np.bincount(whole.ravel(), minlength=500))


def test_a_part_that_is_another_is_found_by_its_task(tmp_path):
    made = law()
    parts = drawn(made, 3, tmp_path)
    content = bytearray((tmp_path / parts[1].name).read_bytes())
    content[100] ^= 1
    (tmp_path / parts[1].name).write_bytes(content)
    with pytest.raises(ValueError, match="bytes"):
        write_degrees(tmp_path, parts[1], made.slots, tmp_path / "again")


@pytest.mark.parametrize(("targets", "loops"), [(300, True), (500, False)])
def test_degrees_of_two_sides_are_those_of_the_whole(tmp_path, targets, loops):
    rng = np.random.default_rng(5)
    weights = rng.integers(0, 20, 500), rng.integers(0, 20, targets)
    made = sided_law(*weights, 4000, bytes(32), rng, 300, loops=loops)
    parts = drawn(made, 4, tmp_path)
    whole = np.concatenate([np.stack(ends, axis=1) for ends in strips(made, range(made.strips))])
    found = degrees_of(tmp_path / "degrees", parts, made.slots)
    for side, (degrees, nodes) in enumerate(zip(found, (500, targets), strict=True)):
        assert np.array_equal(degrees, np.bincount(whole[:, side], minlength=nodes))
    with pytest.raises(ValueError, match="of such a relation"):
        degrees_of(tmp_path / "degrees", parts, inside(500))
    with pytest.raises(ValueError, match="nodes that there are"):
        degrees_of(tmp_path / "degrees", parts, replace(made.slots, targets=10))


@pytest.mark.parametrize("flaw", ["another part's", "more", "beyond", "negative"])
def test_degrees_that_are_not_the_parts_are_found(tmp_path, flaw):
    parts = drawn(law(), 3, tmp_path)
    paths = [tmp_path / "degrees" / part.name for part in parts]
    degrees = pq.read_table(paths[0])["degree"].to_numpy().copy()
    if flaw == "another part's":
        degrees = pq.read_table(paths[1])["degree"].to_numpy()
    elif flaw == "more":
        degrees[3] += 1
    elif flaw == "beyond":
        degrees = np.pad(degrees, (0, 501 - len(degrees)))
    else:
        degrees[:2] = -1, degrees[:2].sum() + 1
    pq.write_table(pa.table({"degree": degrees}), paths[0])
    with pytest.raises(ValueError, match="not the degrees of"):
        degrees_of(tmp_path / "degrees", parts, inside(500))


def test_a_release_lacks_no_part_and_has_none_twice(tmp_path):
    parts = sorted(drawn(law(), 3, tmp_path), key=lambda part: part.name)
    for wrong in (parts[:2], [*parts, parts[0]], [*parts[:2], replace(parts[2], name="another.parquet")]):
        with pytest.raises(ValueError, match="all parts"):
            placed(wrong, [(900, 3)])
    shared = [parts[0], parts[1], replace(parts[2], first_source=parts[1].last_source)]
    with pytest.raises(ValueError, match="another part's"):
        degrees_of(tmp_path / "degrees", shared, inside(500))
