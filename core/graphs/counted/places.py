"""Files at addresses, as tasks of an engine reach them: ``file://``, ``s3://``, all that PyArrow opens."""

from __future__ import annotations

import hashlib
import itertools
import json
import secrets
from collections.abc import Iterable, Iterator, Mapping
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.fs
import pyarrow.parquet as pq

from core.errors import InvalidInput

CHUNK = 1 << 24
UNFINISHED = ".unfinished-"
"""How names of files begin that are not whole yet. Readers of folders leave names with a dot out."""


def opened(address: str) -> tuple[pyarrow.fs.FileSystem, str]:
    """Find the file system of an address, and the path there. A path without a scheme is this machine's."""
    found: tuple[pyarrow.fs.FileSystem, str] = pyarrow.fs.FileSystem.from_uri(
        address if "://" in address else Path(address).absolute().as_uri()
    )
    return found


def below(place: str, name: str) -> str:
    """Name what lies below a place."""
    return f"{place.rstrip('/')}/{name}"


def put(path: Path, address: str) -> None:
    """Copy a file to an address, as :func:`put_chunks` does."""
    put_chunks(pieces(path), address)


def pieces(path: Path) -> Iterator[bytes]:
    """Read a file of this machine, some MB at a time."""
    with path.open("rb") as file:
        yield from iter(lambda: file.read(CHUNK), b"")


def put_chunks(chunks: Iterable[bytes], address: str) -> None:
    """Write chunks to an address. There they are whole, or what was there before: a task may run twice.

    What a killed process leaves is hidden from readers, and goes with :func:`tidy`. An error of the
    iterator passes through.
    """
    files, target = opened(address)
    folder, _, name = target.rpartition("/")
    files.create_dir(folder, recursive=True)
    unfinished = f"{folder}/{UNFINISHED}{secrets.token_hex(8)}-{name}"
    with files.open_output_stream(unfinished) as out:
        for chunk in chunks:
            out.write(chunk)
    files.move(unfinished, target)


def tidy(place: str) -> None:
    """Delete what killed processes left unfinished below a place."""
    files, root = opened(place)
    for each in files.get_file_info(pyarrow.fs.FileSelector(root, recursive=True, allow_not_found=True)):
        if each.is_file and each.base_name.startswith(UNFINISHED):
            files.delete_file(each.path)


def put_table(columns: Mapping[str, Any], address: str) -> None:
    """Write columns to a Parquet file at an address."""
    files, target = opened(address)
    files.create_dir(target.rsplit("/", 1)[0], recursive=True)
    pq.write_table(pa.table(columns), target, filesystem=files)


def chunks(address: str) -> Iterator[bytes]:
    """Read a file, some MB at a time."""
    files, path = opened(address)
    with files.open_input_stream(path) as stream:
        while chunk := stream.read(CHUNK):
            yield chunk


def exists(address: str) -> bool:
    """Tell whether there is a file or folder at an address."""
    files, path = opened(address)
    return bool(files.get_file_info(path).type != pyarrow.fs.FileType.NotFound)


def fetch(address: str, path: Path, most: int) -> int:
    """Copy the file at an address to ``path``; its bytes. InvalidInput for more than ``most``."""
    size = 0
    with path.open("wb") as out:
        for chunk in chunks(address):
            size += len(chunk)
            if size > most:
                raise InvalidInput("the files are larger than this service takes; count them by an engine")
            out.write(chunk)
    return size


def listed(place: str) -> list[str]:
    """List the Parquet files below a place, in the order of their names.

    A place with ``*`` is a glob: of files, or of folders that all is taken of; a star matches inside a name.
    """
    # What stands before the first * is listed, and the rest of the names compared.
    fixed = [*itertools.takewhile(lambda name: "*" not in name, place.split("/"))]
    pattern = [name for name in place.split("/")[len(fixed) :] if name]
    files, root = opened("/".join(fixed))
    info = files.get_file_info(pyarrow.fs.FileSelector(root, recursive=True))
    scheme = place.partition("://")[0] + "://" if "://" in place else ""
    found = ((each.path, each.path[len(root) :].strip("/")) for each in info if each.is_file)
    return sorted(scheme + path for path, name in found if _data(name) and _matches(name, pattern))


def remove(place: str) -> None:
    """Delete a place and all below it."""
    if exists(place):
        files, root = opened(place)
        files.delete_dir(root)


def only_table(table: str, below: str) -> int:
    """Read the number of an Iceberg table's first snapshot, and delete all else that is ``below``.

    InvalidInput where it lies elsewhere: whoever made it has taken the name.
    """
    (files, root), inside = opened(table), opened(below)[1]
    if root.rpartition("/")[0] != inside:
        raise InvalidInput("another table has that name")
    for each in files.get_file_info(pyarrow.fs.FileSelector(inside)):
        if each.path != root:
            files.delete_dir(each.path)
    held = files.get_file_info(pyarrow.fs.FileSelector(f"{root}/metadata"))
    # Metadata files begin with their version's number: the first in order is the first that was.
    first = min(each.path for each in held if each.path.endswith(".metadata.json"))
    with files.open_input_stream(first) as stream:
        return int(json.loads(stream.read())["snapshots"][0]["snapshot-id"])


def digest(address: str) -> str:
    """Compute the SHA-256 of a file."""
    hashed = hashlib.sha256()
    for chunk in chunks(address):
        hashed.update(chunk)
    return hashed.hexdigest()


def joint(told: Iterable[Mapping[str, Any]]) -> str:
    """Join the digests of files to one, whatever the files are called."""
    # Sorted: neither names nor order of the files are a part of what they hold.
    digests = sorted(str(each["sha256"]) for each in told)
    return hashlib.sha256("".join(digests).encode()).hexdigest()


def _data(relative: str) -> bool:
    hidden = any(part.startswith((".", "_")) for part in relative.split("/"))
    return relative.endswith(".parquet") and not hidden


def _matches(relative: str, pattern: list[str]) -> bool:
    """Tell whether the first names of a path are as those of the pattern say."""
    names = relative.split("/")
    return len(names) >= len(pattern) and all(map(fnmatchcase, names, pattern))
