"""A downloaded stream: a zip whose index names the digest of every snapshot in it."""

from __future__ import annotations

import hashlib
import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

from api.client import files
from api.client.errors import DigestMismatch

INDEX, EDGES = "index.json", "edges.parquet"


def save(pieces: Iterable[bytes], path: Path) -> Path:
    """Write the zip to ``path``; DigestMismatch, and no file, where :func:`check` refuses it."""
    return files.save(pieces, path, check)


def check(path: Path) -> None:
    """Check that every snapshot in the zip's index is in the zip, with that digest; else DigestMismatch."""
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
        while piece := member.read(files.CHUNK_BYTES):
            digest.update(piece)
    if digest.hexdigest() != expected:
        raise DigestMismatch(f"{name} has SHA-256 {digest.hexdigest()}, the index says {expected}")
