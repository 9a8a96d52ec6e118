"""Files on their way in and out: streamed, never held whole."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from api.client.errors import ClientError, DigestMismatch

CHUNK_BYTES = 2**20

FORMATS = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".txt": "csv",
    ".edges": "csv",
    ".parquet": "parquet",
    ".graphml": "graphml",
    ".gml": "gml",
    ".json": "node_link",
    ".mtx": "matrix_market",
    ".npz": "npz",
}


def format_of(path: Path) -> str:
    """The format that the file's name suggests; ClientError when it suggests none."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    try:
        return FORMATS[suffix.lower()]
    except KeyError:
        known = ", ".join(sorted(set(FORMATS.values())))
        raise ClientError(f"the name {path.name} suggests no format; say which: {known}") from None


def chunks(path: Path, total: int, on_progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
    """The file's bytes in pieces of ``CHUNK_BYTES``."""
    sent = 0
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            yield piece
            sent += len(piece)
            if on_progress:
                on_progress(sent, total)


def save(pieces: Iterable[bytes], path: Path, sha256: str) -> Path:
    """The pieces are the file at ``path``, all of them or none: they are checked before it gets its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    digest = hashlib.sha256()
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                digest.update(piece)
                file.write(piece)
        if digest.hexdigest() != sha256:
            raise DigestMismatch(f"{path.name} has SHA-256 {digest.hexdigest()}, the release says {sha256}")
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
    return path
