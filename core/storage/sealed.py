"""Authenticated encryption of byte streams in constant memory.

The construction is STREAM (Hoang, Reyhanitabar, Rogaway and Vizár, "Online Authenticated-Encryption and its
Nonce-Reuse Misuse-Resistance", CRYPTO 2015) over AES-256-GCM: the plaintext is cut into frames, and the nonce
of a frame holds its number and whether it is the last. Dropping, repeating, reordering or cutting off frames
therefore fails as surely as changing a bit. Each stream has its own key, derived with HKDF-SHA256 from the
given key, a random salt and the stream's context, so that no nonce is ever used twice under one key.

Layout: ``GVS1`` | salt (32 bytes) | frames: ciphertext (1 MiB, the last one 0 to 1 MiB) and tag (16 bytes).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from itertools import chain

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from core.errors import StorageError

MAGIC = b"GVS1"
SALT_BYTES = 32
FRAME_BYTES = 2**20
TAG_BYTES = 16
KEY_BYTES = 32


def seal(chunks: Iterable[bytes], key: bytes, *, context: str = "") -> Iterator[bytes]:
    """Seal the chunks; O(1) memory. :func:`unseal` needs the same key and context."""
    salt = os.urandom(SALT_BYTES)
    cipher = _cipher(key, salt, context)
    yield MAGIC + salt
    for number, (frame, last) in enumerate(_frames(chunks, FRAME_BYTES)):
        yield cipher.encrypt(_nonce(number, last), frame, None)


def unseal(chunks: Iterable[bytes], key: bytes, *, context: str = "") -> Iterator[bytes]:
    """Open what was sealed, frame by frame. Each frame is authentic when it is yielded. O(1) memory.

    StorageError where the bytes are damaged, incomplete, reordered, or sealed under another key or context.
    Only the end of the iteration says that nothing is missing: until then nothing may be concluded from it.
    """
    source = iter(chunks)
    header, rest = _take(source, len(MAGIC) + SALT_BYTES)
    if not header.startswith(MAGIC) or len(header) < len(MAGIC) + SALT_BYTES:
        raise StorageError("the stored object is not a sealed stream")
    cipher = _cipher(key, header[len(MAGIC) :], context)
    for number, (frame, last) in enumerate(_frames(chain((rest,), source), FRAME_BYTES + TAG_BYTES)):
        try:
            yield cipher.decrypt(_nonce(number, last), frame, None)
        except InvalidTag as error:
            raise StorageError("the stored object is damaged or sealed under another key") from error


def _cipher(key: bytes, salt: bytes, context: str) -> AESGCM:
    if len(key) != KEY_BYTES:
        raise ValueError(f"a content key has {KEY_BYTES} bytes")
    info = b"graphveil sealed stream v1\0" + context.encode()
    return AESGCM(HKDF(algorithm=SHA256(), length=KEY_BYTES, salt=salt, info=info).derive(key))


def _nonce(number: int, last: bool) -> bytes:
    # GCM's 12 bytes: 11 for the frame's number, one for whether it is the last.
    return number.to_bytes(11) + bytes([last])


def _frames(chunks: Iterable[bytes], size: int) -> Iterator[tuple[bytes, bool]]:
    """Cut frames of ``size`` bytes, each with whether it is the last: that is shorter, or empty for no bytes.

    A full frame is held back until a further byte shows that it is not the last.
    """
    held = bytearray()
    for chunk in chunks:
        view = memoryview(chunk)
        for start in range(0, len(view), size):
            held += view[start : start + size]
            while len(held) > size:
                yield bytes(held[:size]), False
                del held[:size]
    yield bytes(held), True


def _take(source: Iterator[bytes], count: int) -> tuple[bytes, bytes]:
    """Read the first ``count`` bytes (fewer where the source ends), and what comes with them beyond."""
    held = b""
    for chunk in source:
        held += chunk
        if len(held) >= count:
            break
    return held[:count], held[count:]
