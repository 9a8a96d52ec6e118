"""Files made to be read past their ends: refused with a finding, before compiled code sees them.

They are read in a process of their own: memory written out of bounds kills later, or somebody else.
"""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import scipy.sparse as sp

from core.errors import IngestRejected
from core.graphs import formats
from core.graphs.uploads.batches import Batch, ReadLimits, ReadRequest

ROOT = Path(__file__).resolve().parents[3]
READ = """
import sys
from pathlib import Path
from core.errors import IngestRejected
from core.graphs import formats
from core.graphs.uploads.batches import ReadRequest
for line in sys.stdin:
    name, path = line.split()
    chosen = formats.get(name)
    columns = ("source", "target")
    asked = ReadRequest(Path(path), "edges", chosen.OptionsModel(), columns, columns)
    try:
        for batch in chosen.read(asked).edges:
            list(batch.carefully())
    except IngestRejected as error:
        print(error.members["findings"][0]["message"], flush=True)
    else:
        print("read", flush=True)
"""


@pytest.fixture(scope="module")
def reader():
    """A process that reads one file after another."""
    started = subprocess.Popen(
        [sys.executable, "-c", READ], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    with started:
        yield started


def outcome(reader: subprocess.Popen, name: str, path: Path) -> str:
    """What the finding says, or "read"; the process must still be alive."""
    reader.stdin.write(f"{name} {path}\n")
    reader.stdin.flush()
    said = reader.stdout.readline().strip()
    assert said, f"the reader died with {reader.wait()}"
    return said


def npz(path: Path, **arrays: object) -> Path:
    np.savez_compressed(path, **{name: np.asarray(value) for name, value in arrays.items()})
    return path


CSR = {"format": b"csr", "shape": (3, 3), "indices": [0, 1], "indptr": [0, 1, 2, 2], "data": [1, 1]}
WILD = {
    "pointers that go back where nothing is stored": CSR
    | {"indptr": [0, 10**6, -(10**6), 0], "indices": np.zeros(0, int), "data": np.zeros(0)},
    "a wild pointer": CSR | {"indptr": [0, 2**40, 1, 2]},
    "a pointer beyond": CSR | {"indptr": [0, 1, 2, 9]},
    "a negative index": CSR | {"indices": [0, -7]},
    "an index beyond the shape": CSR | {"indices": [0, 3]},
    "too few pointers": CSR | {"indptr": [0, 1]},
    "data that end early": CSR | {"data": [1]},
    "floating indices": CSR | {"indices": [0.0, 1.0]},
    "three dimensions": CSR | {"shape": (3, 3, 3)},
    "a negative shape": CSR | {"shape": (-3, 3)},
    "no pointers": {name: value for name, value in CSR.items() if name != "indptr"},
    "text for data": CSR | {"data": ["a", "b"]},
    "an unknown layout": CSR | {"format": b"dok"},
    "a coordinate beyond": {"format": b"coo", "shape": (3, 3), "row": [0], "col": [2**40], "data": [1]},
    "blocks of no size": CSR | {"format": b"bsr", "data": np.zeros((2, 0, 0)), "shape": (3, 3)},
    "a block beyond": CSR | {"format": b"bsr", "indices": [0, 2**40], "data": np.ones((2, 1, 1))},
    "diagonals of another number": {
        "format": b"dia",
        "shape": (3, 3),
        "offsets": [0, 1],
        "data": [[1, 1, 1]],
    },
}


@pytest.mark.parametrize("arrays", WILD.values(), ids=WILD)
def test_arrays_that_a_compiled_reader_would_follow_out_of_its_memory_are_refused(reader, arrays, tmp_path):
    assert "no sparse matrix" in outcome(reader, "npz", npz(tmp_path / "m.npz", **arrays))


def header(count: int) -> bytes:
    written = io.BytesIO()
    np.lib.format.write_array_header_1_0(written, {"shape": (count,), "fortran_order": False, "descr": "<i8"})
    return b"\x93NUMPY\x01\x00" + written.getvalue().removeprefix(b"\x93NUMPY\x01\x00")


def test_an_array_that_promises_more_than_it_holds_takes_no_memory(reader, tmp_path):
    path = npz(tmp_path / "m.npz", **{name: value for name, value in CSR.items() if name != "indices"})
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("indices.npy", header(10**12))
    assert "cut off" in outcome(reader, "npz", path)


@pytest.mark.parametrize("symmetry", ["general", "symmetric", "skew-symmetric"])
@pytest.mark.parametrize("field", ["pattern", "real", "integer", "complex"])
def test_matrix_market_means_what_scipy_says(field, symmetry, tmp_path):
    lower = "2 1" if symmetry == "skew-symmetric" else "2 2"
    value = {"pattern": "", "real": " -1.5e0", "integer": " 3", "complex": " 0 1"}[field]
    zero = {"pattern": "", "real": " 0.0", "integer": " 0", "complex": " 0 0"}[field]
    lines = [f"3 1{value}", f"{lower}{value}", f"3 2{zero}"]
    text = f"%%MatrixMarket matrix coordinate {field} {symmetry}\n% c\n3 3 3\n" + "\n".join(lines)
    (tmp_path / "m.mtx").write_text(text)
    (batch,) = read("matrix_market", tmp_path / "m.mtx")
    wanted = scipy.io.mmread(tmp_path / "m.mtx", spmatrix=False).toarray() != 0
    found = np.zeros((3, 3), bool)
    found[batch.table["source"], batch.table["target"]] = True
    assert np.array_equal(found, wanted)


def read(name: str, path: Path) -> list[Batch]:
    chosen = formats.get(name)
    columns = ("source", "target")
    return list(chosen.read(ReadRequest(path, "edges", chosen.OptionsModel(), columns, columns)).edges)


@pytest.mark.parametrize("layout", ["csr", "csc", "coo", "bsr", "dia"])
@pytest.mark.parametrize("seed", range(5))
def test_every_layout_means_what_scipy_says(layout, seed, tmp_path):
    rng = np.random.default_rng(seed)
    dense = rng.integers(-2, 3, (6, 4)) * (rng.random((6, 4)) < 0.4)
    sp.save_npz(tmp_path / "m.npz", sp.coo_array(dense).asformat(layout))
    (batch,) = read("npz", tmp_path / "m.npz")
    found = np.zeros_like(dense)
    found[batch.table["source"], batch.table["target"]] = 1
    assert np.array_equal(found, (dense != 0).astype(found.dtype))


BANNER = b"%%MatrixMarket matrix coordinate real general\n"
DAMAGED = {
    "a NUL byte": (BANNER + b"3 3 1\n1 \x002 1\n", "the line is not row, column and 1 values"),
    "a NUL byte in the banner": (b"%%MatrixMarket\x00" + BANNER, "banner"),
    "a dense matrix of any size": (BANNER.replace(b"coordinate", b"array") + b"1000000 1000000\n", "dense"),
    "entries without end": (BANNER + b"3 3 99999999999999999\n1 2 1\n", "promises"),
    "a size line of text": (BANNER + b"% a\n%\nthree 3 1\n", "rows columns entries"),
    "an index beyond": (BANNER + b"3 3 1\n1 4 1\n", "not in 1 to 3 (1 such)"),
    "an index of 0": (BANNER + b"3 3 1\n0 1 1\n", "not in 1 to 3 (1 such)"),
    "a number cut off at the end of the file": (BANNER + b"3 3 1\n1 2 1e", "the line is not row, column"),
    "an entry too few": (BANNER + b"3 3 2\n1 2 1\n", "promises 2"),
    "an entry too many": (BANNER + b"3 3 1\n1 2 1\n1 3 1\n", "promises 1"),
    "a value too many": (BANNER + b"3 3 1\n1 2 1 4\n", "the line is not row, column"),
    "a vector": (BANNER.replace(b"matrix coordinate", b"vector coordinate") + b"3 3 1\n", "banner"),
    "comments without end": (BANNER + b"%" + b" " * 200_000, "rows columns entries"),
}


@pytest.mark.parametrize(("content", "says"), DAMAGED.values(), ids=DAMAGED)
def test_a_damaged_matrix_market_file_is_a_finding(reader, content, says, tmp_path):
    (tmp_path / "m.mtx").write_bytes(content)
    assert says in outcome(reader, "matrix_market", tmp_path / "m.mtx")


def test_a_comment_and_blank_lines_before_the_sizes_are_read_over(reader, tmp_path):
    (tmp_path / "m.mtx").write_bytes(BANNER + b"% made by hand  \n%\n\n3 3 1\n1 2 1e0\n")
    assert outcome(reader, "matrix_market", tmp_path / "m.mtx") == "read"


def test_what_unpacks_a_thousandfold_is_refused(tmp_path):
    path = npz(
        tmp_path / "m.npz", **CSR | {"format": b"dia", "data": np.zeros((3, 10**7)), "offsets": [0, 1, 2]}
    )
    assert path.stat().st_size < 300_000
    chosen = formats.get("npz")
    asked = ReadRequest(path, "edges", chosen.OptionsModel(), (), (), limits=ReadLimits())
    with pytest.raises(IngestRejected, match="unpacked"):
        chosen.read(asked)
