"""A folder of files, and of folders of files, as one stream of bytes.

It is POSIX tar, and goes back; constant memory both ways.
"""

from __future__ import annotations

import io
import tarfile
from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

from core.errors import StorageError

READ_BYTES = 2**20
MOST_DEPTH = 2


def pack(folder: Path) -> Iterator[bytes]:
    """Write the folder's files as a tar stream. They go by name: same files, same bytes (no times or
    owners)."""
    for path in _files(folder, MOST_DEPTH):
        # Not from the file system: no times and no owners, so that equal files give equal bytes.
        header = tarfile.TarInfo(path.relative_to(folder).as_posix())
        header.size = path.stat().st_size
        header.mode = 0o600
        yield header.tobuf(tarfile.PAX_FORMAT)
        yield from chunks_of(path)
        # Contents fill up blocks of 512 bytes, and two empty blocks end the archive (POSIX ustar).
        yield bytes(-header.size % tarfile.BLOCKSIZE)
    yield bytes(2 * tarfile.BLOCKSIZE)


def chunks_of(path: Path) -> Iterator[bytes]:
    """Read a file in pieces."""
    with path.open("rb") as file:
        yield from iter(lambda: file.read(READ_BYTES), b"")


def unpack(chunks: Iterable[bytes], folder: Path, *, only: Collection[str] | None = None) -> None:
    """Write the packed files to the folder. They are all, or those of the names in ``only``.

    StorageError where the stream is not what :func:`pack` makes. The stream is read to its end, so that a
    sealed stream has shown that nothing is missing.
    """
    stream = _Reader(chunks)
    try:
        # As a stream: nothing is sought in, so that little is held.
        with tarfile.open(fileobj=io.BufferedReader(stream, READ_BYTES), mode="r|") as archive:
            for member in archive:
                names = member.name.split("/")
                if not member.isreg() or len(names) > MOST_DEPTH or {"", ".", ".."} & {*names}:
                    raise StorageError("the stored folder holds something other than files")
                if only is None or member.name in only:
                    archive.extract(member, folder, filter="data")
    except tarfile.TarError as error:
        raise StorageError("the stored folder is damaged") from error
    stream.drain()


def _files(folder: Path, depth: int) -> Iterator[Path]:
    for path in sorted(folder.iterdir()):
        # Links first: whether it is a file would be asked of what a link leads to.
        if path.is_symlink() or not (path.is_file() or (path.is_dir() and depth > 1)):
            raise ValueError("only regular files are packed, and folders of them")
        if path.is_dir():
            yield from _files(path, depth - 1)
        else:
            yield path


class _Reader(io.RawIOBase):
    """Chunks as a raw stream."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._chunks = iter(chunks)
        self._held = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, target: memoryview) -> int:  # type: ignore[override]  # as BufferedReader calls it
        while not self._held:
            chunk = next(self._chunks, None)
            if chunk is None:
                return 0
            self._held = memoryview(chunk)
        count = min(len(target), len(self._held))
        target[:count] = self._held[:count]
        self._held = self._held[count:]
        return count

    def drain(self) -> None:
        for _ in self._chunks:
            continue
