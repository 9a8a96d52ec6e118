"""Files on their way in and out. Streamed, never held whole."""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import IO

from graphveil.errors import ClientError, DigestMismatch

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
    """Guess the format from the file's name. ClientError when the name suggests none."""
    suffix = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    try:
        return FORMATS[suffix.lower()]
    except KeyError:
        known = ", ".join(sorted(set(FORMATS.values())))
        raise ClientError(f"the name {path.name} suggests no format; say which: {known}") from None


def chunks(path: Path, total: int, on_progress: Callable[[int, int], None] | None) -> Iterator[bytes]:
    """Read the file in pieces of ``CHUNK_BYTES``. ``on_progress(sent, total)`` is called after each."""
    sent = 0
    with path.open("rb") as file:
        while piece := file.read(CHUNK_BYTES):
            yield piece
            sent += len(piece)
            if on_progress:
                on_progress(sent, total)


def save(pieces: Iterable[bytes], path: Path, check: Callable[[Path], None]) -> Path:
    """Write the pieces to ``path``, checked, or nothing.

    It is whole and passed by ``check``, or nothing is there.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.writelines(pieces)
        check(Path(partial))
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
    return path


def digest_of(file: IO[bytes]) -> str:
    """Compute the SHA-256 of the file's rest, hex."""
    digest = hashlib.sha256()
    while piece := file.read(CHUNK_BYTES):
        digest.update(piece)
    return digest.hexdigest()


def save_released(pieces: Iterable[bytes], path: Path, sha256: str) -> Path:
    """Write the pieces to ``path``, checking their digest.

    Where it is another, DigestMismatch, and no file.
    """

    def check(partial: Path) -> None:
        with partial.open("rb") as file:
            digest = digest_of(file)
        if digest != sha256:
            raise DigestMismatch(f"{path.name} has SHA-256 {digest}, the release says {sha256}")

    return save(pieces, path, check)
