"""The archive of a pack, a deterministic zip.

Its every byte follows from the names and bytes of its members. Members are stored as they are, sorted by
name, dated 1980-01-01. So a reader makes the archive anew from what it read in it, and any byte that differs,
of a member or between them, can be named.
"""

from __future__ import annotations

import re
import struct
import zlib
from collections.abc import Mapping
from dataclasses import dataclass

from graphveil.errors import EvidenceRefused

MAX_BYTES = 256 * 2**20
MAX_MEMBERS = 64
NAME = re.compile(r"[a-z0-9][a-z0-9_-]*(\.[a-z0-9]+)+", re.ASCII)

_LOCAL, _CENTRAL, _END = b"PK\x03\x04", b"PK\x01\x02", b"PK\x05\x06"
_HEADER = struct.Struct("<4s5H3I2H")
_ENTRY = struct.Struct("<4s6H3I5H2I")
_TAIL = struct.Struct("<4s4H2IH")
_VERSION, _UNIX, _STORED, _DATE, _PLAIN_FILE = 20, 3 << 8 | 20, 0, 0x21, 0o100644 << 16


@dataclass(frozen=True)
class _Region:
    """Where a part of an archive ends, and what it is."""

    end: int
    label: str


def packed(files: Mapping[str, bytes]) -> bytes:
    """Write the archive of the files, deterministically.

    It has the same bytes for the same files, on every machine.
    """
    if len(files) > MAX_MEMBERS or sum(map(len, files.values())) > MAX_BYTES:
        raise EvidenceRefused("archive", f"a pack has {MAX_MEMBERS} files and {MAX_BYTES} bytes at most")
    return _written(files)[0]


def unpacked(raw: bytes) -> dict[str, bytes]:
    """Read the members of an archive of :func:`packed`.

    They are read whatever bytes they have now. EvidenceRefused, with the place, for an archive that is no
    such one: cut off, added to, or changed anywhere but inside a member.
    """
    files = _members(raw)
    expected, regions = _written(files)
    if expected != raw:
        at = next((i for i, pair in enumerate(zip(raw, expected, strict=False)) if pair[0] != pair[1]), None)
        if at is None:
            at = min(len(raw), len(expected))
            what = "it is cut off" if len(raw) < len(expected) else "bytes follow its end"
        else:
            what = "a byte was changed"
        label = next((region.label for region in regions if at < region.end), "the archive's end")
        raise EvidenceRefused(label, f"{what}, at byte {at} of the archive")
    return files


def _members(raw: bytes) -> dict[str, bytes]:
    """Walk the members from the first byte on, believing nothing but their lengths."""
    if len(raw) > 2 * MAX_BYTES:
        raise EvidenceRefused("archive", "it is larger than any pack")
    files: dict[str, bytes] = {}
    at, last = 0, "the archive's beginning"
    while raw[at : at + 4] == _LOCAL:
        if len(raw) < at + _HEADER.size:
            raise EvidenceRefused(f"after {last}", "the archive is cut off there")
        *_, size, _, name_length, more = _HEADER.unpack_from(raw, at)
        start = at + _HEADER.size + name_length
        name = raw[at + _HEADER.size : start].decode("ascii", "replace")
        if not NAME.fullmatch(name) or more or name in files:
            raise EvidenceRefused(f"after {last}", f"no member of a pack begins at byte {at} of the archive")
        if start + size > len(raw):
            raise EvidenceRefused(name, "the archive is cut off inside it, or its length was changed")
        files[name] = raw[start : start + size]
        at, last = start + size, name
        if len(files) > MAX_MEMBERS:
            raise EvidenceRefused("archive", f"it has more members than the {MAX_MEMBERS} of any pack")
    if not files:
        raise EvidenceRefused("archive", "this is no evidence pack: it does not begin as one")
    if len(raw) > at and raw[at : at + 4] != _CENTRAL:
        raise EvidenceRefused(
            f"after {last}", f"neither a member nor the list of members begins at byte {at} of the archive"
        )
    return files


def _written(files: Mapping[str, bytes]) -> tuple[bytes, list[_Region]]:
    """Write the archive, and say what each part of it is."""
    body, listed = bytearray(), bytearray()
    regions = []
    for name in sorted(files):
        data, encoded = files[name], name.encode("ascii")
        checksum = zlib.crc32(data)
        told = (checksum, len(data), len(data), len(encoded), 0)
        listed += _ENTRY.pack(
            *(_CENTRAL, _UNIX, _VERSION, 0, _STORED, 0, _DATE, *told), 0, 0, 0, _PLAIN_FILE, len(body)
        )
        listed += encoded
        body += _HEADER.pack(_LOCAL, _VERSION, 0, _STORED, 0, _DATE, *told) + encoded
        # The checksum stands before the bytes: where it differs, either of them was changed.
        regions.append(_Region(len(body), f"{name}, or its header"))
        body += data
        regions.append(_Region(len(body), name))
    tail = _TAIL.pack(_END, 0, 0, len(files), len(files), len(listed), len(body), 0)
    regions.append(_Region(len(body) + len(listed) + len(tail), "the archive's list of members"))
    return bytes(body + listed + tail), regions
