"""One file in a container. It is gzip, bzip2, Zstandard, or a zip archive that holds one file."""

from __future__ import annotations

import bz2
import gzip
import io
import zipfile
import zlib
from pathlib import Path
from typing import IO, cast

from core.late import late

PACKED = (".gz", ".bz2", ".zst", ".zip")
"""How the names of containers end."""
_ZIP, _BZ2, _ZSTD, _GZIP = b"PK\x03\x04", b"BZh", b"\x28\xb5\x2f\xfd", b"\x1f\x8b"
_NAMES = {_ZIP: "zip archive", _BZ2: "bzip2 file", _ZSTD: "Zstandard file", _GZIP: "gzip file"}
_METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2)
DAMAGED = (EOFError, OSError, zlib.error, zipfile.BadZipFile)
"""What a container raises whose bytes are broken; Arrow's errors of Zstandard are OSError too."""
_WORKBOOK = "xl/workbook.xml"  # the entry that tells a spreadsheet from other archives
_first_sheet = late("core.graphs.uploads.sheets:first_sheet")
_input_stream = late("pyarrow:input_stream")
_TOLD = 3  # names of files that a message says


def container_of(path: Path) -> str:
    """Name what holds the file, by its first bytes."""
    with path.open("rb") as file:
        head = file.read(4)
    return next((name for mark, name in _NAMES.items() if head.startswith(mark)), "file")


class NotOne(ValueError):
    """The container is none of one file; the message says what it is, and what to send."""


def open_packed(path: Path, most: int) -> IO[bytes]:
    """Open the file's bytes, unpacked. They are unpacked where they begin as a container's do; the name does
    not matter.

    What it unpacks to is read as a stream, so that whoever reads can count and stop; of a spreadsheet comes
    the first sheet as CSV, where it unpacks to ``most`` bytes at most. Raises NotOne for a zip archive of no
    file or several, or that cannot be read.
    """
    with path.open("rb") as file:
        head = file.read(4)
    if head.startswith(_GZIP):
        return cast("IO[bytes]", gzip.open(path, "rb"))
    if head.startswith(_BZ2):
        return cast("IO[bytes]", bz2.open(path, "rb"))
    if head == _ZSTD:
        return cast("IO[bytes]", _input_stream(str(path), compression="zstd"))
    return _only_file(path, most) if head == _ZIP else path.open("rb")


def _only_file(path: Path, most: int) -> IO[bytes]:
    archive = zipfile.ZipFile(path)
    files = [each for each in archive.infolist() if not each.is_dir() and not _of_a_mac(each.filename)]
    names = {each.filename for each in files}
    if _WORKBOOK in names:
        return io.BytesIO(_first_sheet(path, most))
    if files and all(each.endswith(".npy") for each in names):
        raise NotOne("this is a matrix of NumPy or SciPy (.npz); send a sparse one with the format npz")
    if len(files) != 1:
        held = ", ".join(sorted(names)[:_TOLD]) + (", ..." if len(names) > _TOLD else "")
        raise NotOne(
            f"this is a zip archive of {len(files)} files ({held}); send one by itself, or an archive of one"
        )
    # Bit 0 says that the entry is encrypted (PKWARE's APPNOTE, section 4.4.4).
    if files[0].flag_bits & 1:
        raise NotOne("this zip archive is encrypted; send the file inside it, or pack it without a password")
    if files[0].compress_type not in _METHODS:
        raise NotOne(
            "this zip archive is compressed in a way that is not read; pack it with deflate, or gzip"
        )
    return archive.open(files[0])


def _of_a_mac(name: str) -> bool:
    """Tell whether a Mac put the entry beside the file."""
    return name.startswith("__MACOSX/") or name.endswith("/.DS_Store") or name == ".DS_Store"
