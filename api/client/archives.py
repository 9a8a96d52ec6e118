"""A downloaded stream: a zip whose index names the digest of every snapshot in it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from collections.abc import Iterable
from pathlib import Path

from api.client.errors import DigestMismatch
from api.client.files import CHUNK_BYTES

INDEX, EDGES = "index.json", "edges.parquet"


def save(pieces: Iterable[bytes], path: Path) -> Path:
    """The pieces are the zip at ``path``, whole and checked, or nothing is there.

    DigestMismatch when it is no zip, or a file in it is not the one that its index names.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    descriptor, partial = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(descriptor, "wb") as file:
            for piece in pieces:
                file.write(piece)
        check(Path(partial))
        os.replace(partial, path)
    except BaseException:
        os.unlink(partial)
        raise
    return path


def check(path: Path) -> None:
    """Every snapshot that the zip's index names is in it, with that digest; DigestMismatch otherwise."""
    try:
        with zipfile.ZipFile(path) as archive:
            for listed in json.loads(archive.read(INDEX))["steps"]:
                name = f"edges/step-{listed['step']:06d}.parquet"
                _check_member(archive, name, listed["sha256"][EDGES])
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise DigestMismatch("the download is no whole archive of a stream") from error


def _check_member(archive: zipfile.ZipFile, name: str, expected: str) -> None:
    digest = hashlib.sha256()
    with archive.open(name) as member:
        while piece := member.read(CHUNK_BYTES):
            digest.update(piece)
    if digest.hexdigest() != expected:
        raise DigestMismatch(f"{name} has SHA-256 {digest.hexdigest()}, the index says {expected}")
