"""A downloaded stream, a zip with an index. The index names the digest of every snapshot in it."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterable
from pathlib import Path

from graphveil.errors import DigestMismatch
from graphveil.sdk import files

INDEX, EDGES = "index.json", "edges.parquet"


def save(pieces: Iterable[bytes], path: Path) -> Path:
    """Write the zip to ``path``, if it passes :func:`check`.

    Where that refuses it, DigestMismatch, and no file.
    """
    return files.save(pieces, path, check)


def check(path: Path) -> None:
    """Check that the zip holds its index's snapshots.

    Every one is in the zip, with that digest; else DigestMismatch.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            for listed in json.loads(archive.read(INDEX))["steps"]:
                name = f"edges/step-{listed['step']:06d}.parquet"
                _check_member(archive, name, listed["sha256"][EDGES])
    except (zipfile.BadZipFile, KeyError, TypeError, ValueError) as error:
        raise DigestMismatch("the download is no whole archive of a stream") from error


def _check_member(archive: zipfile.ZipFile, name: str, expected: str) -> None:
    with archive.open(name) as member:
        digest = files.digest_of(member)
    if digest != expected:
        raise DigestMismatch(f"{name} has SHA-256 {digest}, the index says {expected}")
