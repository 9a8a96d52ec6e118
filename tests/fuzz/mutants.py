"""Files of every format, damaged at random: what a parser may meet.

``python -m tests.fuzz.mutants FORMAT FIRST COUNT FOLDER`` ingests COUNT mutants of a format from FIRST
on, prints a JSON line for each that raised what an upload may not raise. Before each it writes the mutant's
number to FOLDER/now, so that a crash names it. Mutant i of a format is the same bytes each time.
"""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import sys
import tempfile
import traceback
import zipfile
from collections.abc import Iterator
from functools import cache
from io import BytesIO
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp

from core.errors import IngestRejected, InvalidInput
from core.graphs import formats
from core.graphs.graph import EdgeTable, EdgeValues, Graph
from core.graphs.ingest.uploaded import canonicalise
from core.graphs.schema import EdgeType, GraphSchema, NodeType
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.uploads.files import IngestLimits, UploadedFile
from tests.support.spreadsheets import xlsx

DECLARED = GraphSchema(node_types=(NodeType(count=12),))
VALUED = "+values"
"""Behind a format's name: its files' edges carry values."""
_AMOUNT = EdgeAttribute(name="amount", kind="number", bounds=(-10, 10), aggregate="sum")
_WEIGHT = _AMOUNT.model_copy(update={"name": "weight"})
_OTHERS = (
    EdgeAttribute(name="sign", kind="category", categories=("minus", "=1+1", "p,lus"), aggregate="max"),
    EdgeAttribute(name="stars", kind="integer", bounds=(0, 5), clip=True, aggregate="mean"),
    EdgeAttribute(name="hour", kind="time_of_day", aggregate="min"),
)
LIMITS = IngestLimits(max_bytes=1 << 24, max_document_bytes=1 << 22, max_rows=10**5, max_nodes=10**4)
TOKENS = (
    *(b"\x00", b"\xff\xfe", b"\xed\xa0\x80", b"-1", b"0", b"9" * 19, b"9" * 5000, b"1e309", b"nan", b"inf"),
    *(
        b'"',
        b"'",
        b",",
        b"\t",
        b"\r",
        b"\n",
        b"[",
        b"]",
        b"{",
        b"}",
        b"<",
        b"/>",
        b"&#0;",
        b"]]>",
        b"%",
        b"#",
    ),
    *(b"null", b"true", b"[" * 3000, b'{"a":' * 3000, b"<node>" * 3000, b"\xef\xbb\xbf", b"=1+1", b"0x1F"),
    *(b"2024-02-30", b"1970-01-01T00:00:00Z", b"99999-01-01", b" ", b"  " * 500),
)


def declared(name: str) -> GraphSchema:
    """The schema of a format's files: a matrix holds one number for each edge."""
    if not name.endswith(VALUED):
        return DECLARED
    matrix = name.startswith(("npz", "matrix_market"))
    held = (_AMOUNT,) if matrix else (_AMOUNT, *_OTHERS)
    only = {"pajek": (_WEIGHT,), "metis": (_OTHERS[1],)}
    kind = EdgeType(attributes=only.get(name.removesuffix(VALUED), held))
    return GraphSchema(node_types=DECLARED.node_types, edge_types=(kind,))


@cache
def seeds(name: str) -> tuple[bytes, ...]:
    """Whole files of a format, as this project and as others write them."""
    chosen = formats.get(name.removesuffix(VALUED))
    ends = EdgeTable(np.array([0, 1, 2, 3, 4]), np.array([1, 2, 3, 4, 5]))
    graph = Graph.build(DECLARED, {}, {"edge": ends})
    if name.endswith(VALUED):
        codes = np.array([0, 1, 2, 0, 1], dtype=np.int32)
        held = {"amount": codes / 4, "weight": codes / 4, "sign": codes, "stars": codes, "hour": codes * 3601}
        schema = declared(name)
        names = [attribute.name for attribute in schema.edge_types[0].attributes]
        values = EdgeValues({each: held[each] for each in names})
        graph = Graph.build(schema, {}, {"edge": EdgeTable(ends.source, ends.target, None, values)})
    with tempfile.TemporaryDirectory() as folder:
        chosen.write(graph, Path(folder) / "file")
        written = (Path(folder) / "file").read_bytes()
    found = [written, *OTHERS.get(name, lambda: ())()]
    if not name.startswith(("npz", "parquet")):
        found += [gzip.compress(each, mtime=0) for each in found]
    return tuple(found)


def _matrices() -> Iterator[bytes]:
    dense = np.arange(24).reshape(4, 6) % 5
    for layout in ("csr", "csc", "coo", "bsr", "dia"):
        held = BytesIO()
        sp.save_npz(held, sp.coo_array(dense).asformat(layout), compressed=layout != "coo")
        yield held.getvalue()


def _tables() -> Iterator[bytes]:
    columns = {"source": pa.array(["0", "1", "2"]), "target": pa.array(["3", "4", "5"])}
    for kinds in (columns, {name: each.dictionary_encode() for name, each in columns.items()}):
        for packing in ("none", "snappy", "zstd"):
            held = BytesIO()
            pq.write_table(pa.table(kinds), held, compression=packing)
            yield held.getvalue()


OTHERS = {
    "npz": _matrices,
    "parquet": _tables,
    "csv": lambda: (
        xlsx([["from", "to"], [0, 1], ["2", 3]]),
        b"# a comment\nfrom,to\n0,1\n\n2,3\r\n",
        b'"0","1"\n4,5',
        b"0 1\n1 2\n",
    ),
    "tsv": lambda: (b"source\ttarget\n0\t1\n",),
    "matrix_market": lambda: (
        b"%%MatrixMarket matrix coordinate real symmetric\n% c\n3 3 2\n2 1 .5\n3 3 1e1\n",
        b"%%MatrixMarket matrix coordinate complex hermitian\n3 3 1\n2 1 .5 1\n",
    ),
    "metis": lambda: (b"% c\n4 2 011\n1 2 5 3 4\n1 1 5\n1 1 4\n1\n",),
    "gexf": lambda: (
        b'<gexf xmlns="http://www.gexf.net/1.2draft"><graph mode="dynamic"><nodes><node id="0"/>'
        b'<node id="1"/></nodes><edges><edge source="0" target="1" start="0" end="2024-03-01"/>'
        b"</edges></graph></gexf>",
    ),
    "node_link": lambda: (b'{"nodes":[{"id":0},{"id":1}],"links":[{"source":0,"target":1}]}',),
}


def mutant(name: str, number: int) -> bytes:
    """The bytes of one mutant: a seed file, damaged one to six times."""
    draw = random.Random(f"{name} {number}")
    given = bytearray(draw.choice(seeds(name)))
    for _ in range(draw.randint(1, 6)):
        given = _damaged(given, name, draw)
    return bytes(given)


def _damaged(given: bytearray, name: str, draw: random.Random) -> bytearray:
    if not given:
        return bytearray(draw.choice(TOKENS))
    start = draw.randrange(len(given))
    end = min(len(given), start + draw.randint(1, 16))
    kind = draw.randrange(8)
    if kind == 0:
        given[start] ^= 1 << draw.randrange(8)
    elif kind == 1:
        given[start] = draw.choice((0, 1, 0x7F, 0x80, 0xFF))
    elif kind == 2:
        del given[start:end]
    elif kind == 3:
        given[start:start] = given[start:end] * draw.randint(1, 40)
    elif kind == 4:
        given[start:end] = draw.choice(TOKENS)
    elif kind == 5:
        del given[start:]
    elif kind == 6:
        other = draw.choice(seeds(name))
        given[start:end] = other[draw.randrange(len(other)) :][:200]
    else:
        given = _inside(given, draw)
    return given


def _inside(given: bytearray, draw: random.Random) -> bytearray:
    """What a compressed file holds is damaged, and packed again."""
    if given[:2] == b"\x1f\x8b":
        try:
            held = bytearray(gzip.decompress(bytes(given)))
        except (OSError, EOFError, ValueError, gzip.zlib.error):
            return given
        return bytearray(gzip.compress(bytes(_damaged(held, "csv", draw)), mtime=0))
    if given[:2] == b"PK":
        return _member(given, draw)
    return given


def _member(given: bytearray, draw: random.Random) -> bytearray:
    try:
        with zipfile.ZipFile(BytesIO(bytes(given))) as archive:
            members = {each: archive.read(each) for each in archive.namelist()}
    except (
        zipfile.BadZipFile,
        OSError,
        EOFError,
        ValueError,
        RuntimeError,
        NotImplementedError,
        gzip.zlib.error,
    ):
        return given
    if not members:
        return given
    hurt = draw.choice(sorted(members))
    members[hurt] = bytes(_damaged(bytearray(members[hurt]), "npz", draw))
    made = BytesIO()
    with zipfile.ZipFile(made, "w") as archive:
        for each, content in members.items():
            archive.writestr(zipfile.ZipInfo(each), content)
    return bytearray(made.getvalue())


def ingest(name: str, content: bytes, folder: Path, number: int) -> None:
    """Ingests the bytes as an upload, with or without a declared schema. What is no refusal is raised."""
    (folder / "upload").write_bytes(content)
    out = folder / "out"
    try:
        canonicalise(
            {"edges": UploadedFile(folder / "upload", name.removesuffix(VALUED))},
            declared(name) if number % 2 else None,
            out,
            LIMITS,
            fingerprint_key=bytes(32),
        )
    except (IngestRejected, InvalidInput):
        return
    finally:
        shutil.rmtree(out, ignore_errors=True)


def main(name: str, first: int, count: int, folder: Path) -> None:
    """Ingests the mutants one after another; a line for each that raised what it may not."""
    now = folder / "now"
    for number in range(first, first + count):
        now.write_text(str(number))
        try:
            ingest(name, mutant(name, number), folder, number)
        except Exception as error:  # whatever it is, it is the finding
            told = traceback.format_exception(error)[-3:]
            print(
                json.dumps({"format": name, "mutant": number, "error": repr(error), "at": told}), flush=True
            )


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), Path(sys.argv[4]))
    sys.stdout.flush()
    os._exit(0)  # as the worker's child: what native threads do when they are torn down is not the parsers'
