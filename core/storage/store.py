"""Object storage of either kind. It is the same for a folder and for an S3 bucket.

A key is a path of plain names. A put is atomic: readers see the whole object or none, and a put that fails
part-way leaves nothing. Every failure of the storage is a :class:`StorageError`, which is safe to try again.
"""

from __future__ import annotations

import os
import queue
import re
from collections.abc import Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import unquote, urlsplit

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError
from obstore.store import LocalStore, S3Store

from core.errors import InvalidInput, StorageError
from core.storage.presigned import Credentials, Presigner

if TYPE_CHECKING:
    from obstore.store import ClientConfig, S3Config

CHUNK_BYTES = 8 * 2**20  # 10 000 parts of this size: objects up to 78 GiB on S3
CONCURRENT_CHUNKS = 2
SERVER_COPY_BYTES = 5 * 10**9  # what one S3 CopyObject takes
MAX_KEY_LENGTH = 256
_KEY = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*(/[A-Za-z0-9][A-Za-z0-9._-]*)*")


class StoredObject(NamedTuple):
    """One line of a listing."""

    key: str
    size_bytes: int
    modified_at: datetime


class ObjectStore:
    """Puts, gets, lists and deletes objects. It holds no connection state, and is safe to share between
    threads."""

    def __init__(
        self, backend: LocalStore | S3Store, folder: Path | None = None, presigner: Presigner | None = None
    ) -> None:
        self._backend = backend
        self._folder = folder
        self.presigner = presigner
        """Signs addresses of the bucket; None for a folder, whose bytes the service carries itself."""

    def put(self, key: str, chunks: Iterable[bytes]) -> None:
        """Store the chunks under the key, in constant memory. An error of the iterator passes through."""
        self._make_parents(checked_key(key))
        feed = _Feed()
        # The backend's event loop would drive the iterator in this thread, where no chunk could be read from
        # a store again. So the chunks are made here, and stored by a thread of their own.
        with ThreadPoolExecutor(max_workers=1) as pool:
            storing = pool.submit(self._store, key, feed)
            try:
                for chunk in chunks:
                    if not feed.give(chunk, storing):
                        break
                feed.give(None, storing)
            except BaseException:
                # The thread that stores must hear of it: else
                # what has come so far would be kept as the whole.
                feed.give(_Aborted(), storing)
                raise
            storing.result()

    def put_new(self, key: str, content: bytes) -> bool:
        """Store the content where there is no object. If there was one under the key already, it is
        unchanged: False."""
        self._make_parents(checked_key(key))
        try:
            with _failures():
                obstore.put(self._backend, key, content, mode="create", use_multipart=False)
        except StorageError as error:
            if isinstance(error.__cause__, AlreadyExistsError):
                return False
            raise
        return True

    def put_file(self, key: str, path: Path) -> None:
        """Store the bytes of the file."""
        with path.open("rb") as file:
            self.put(key, iter(lambda: file.read(CHUNK_BYTES), b""))

    def get(self, key: str) -> Iterator[bytes]:
        """Read the object's bytes in chunks. They have some MiB at least; StorageError at once if there is
        none."""
        with _failures():
            stream = obstore.get(self._backend, checked_key(key)).stream(min_chunk_size=CHUNK_BYTES)
        return _chunks_of(stream)

    def copy(self, source: str, target: str) -> None:
        """Copy ``source`` to ``target``."""
        # S3 copies objects up to a limit by itself; larger ones pass through here.
        if self._folder is None and self.size(source) > SERVER_COPY_BYTES:
            self.put(target, self.get(source))
            return
        self._make_parents(checked_key(target))
        with _failures():
            obstore.copy(self._backend, checked_key(source), target)

    def exists(self, key: str) -> bool:
        """Tell whether there is an object under the key."""
        try:
            with _failures(missing_too=False):
                obstore.head(self._backend, checked_key(key))
        except FileNotFoundError:
            return False
        return True

    def size(self, key: str) -> int:
        """Return the object's size in bytes; StorageError where there is none."""
        with _failures():
            return obstore.head(self._backend, checked_key(key))["size"]

    def delete(self, key: str) -> None:
        """Delete the object under the key. There may be one or not."""
        try:
            with _failures(missing_too=False):
                obstore.delete(self._backend, checked_key(key))
        except FileNotFoundError:
            return

    def delete_prefix(self, prefix: str) -> None:
        """Delete every object below the prefix. It ends where a name of the path ends."""
        for stored in self.list(prefix):
            self.delete(stored.key)

    def list(self, prefix: str) -> Iterator[StoredObject]:
        """List every object below the prefix, in no particular order."""
        with _failures():
            for page in obstore.list(self._backend, prefix=checked_key(prefix)):
                for meta in page:
                    yield StoredObject(meta["path"], meta["size"], meta["last_modified"])

    def _store(self, key: str, feed: _Feed) -> None:
        with _failures():
            obstore.put(
                self._backend,
                key,
                iter(feed),
                use_multipart=True,
                chunk_size=CHUNK_BYTES,
                max_concurrency=CONCURRENT_CHUNKS,
            )

    def _make_parents(self, key: str) -> None:
        if self._folder is not None:
            with _failures():
                make_private_folder((self._folder / key).parent)


class _Aborted(Exception):
    """Makes the backend give up a put."""


class _Feed:
    """Chunks on their way from the caller's thread to the one that stores them; a few at a time."""

    def __init__(self) -> None:
        self._queue: queue.Queue[bytes | BaseException | None] = queue.Queue(maxsize=4)

    def give(self, item: bytes | BaseException | None, taker: Future[None]) -> bool:
        """Hand the item over; False once the taker has ended. None is the end of the chunks."""
        # Looked at time and again: a taker that has failed takes
        # nothing more, and a full queue would wait for ever.
        while not taker.done():
            try:
                self._queue.put(item, timeout=0.1)
            except queue.Full:
                continue
            return True
        return False

    def __iter__(self) -> Iterator[bytes]:
        while (item := self._queue.get()) is not None:
            if isinstance(item, BaseException):
                raise item
            yield item


def open_store(
    url: str, public_endpoint: str | None = None, credentials: Credentials | None = None
) -> ObjectStore:
    """Open the store at its address. This is ``file:///folder`` (made when missing, for its owner only) or
    ``s3://bucket/prefix``.

    An S3 store takes its region, endpoint and, unless given, credentials from the ``AWS_*`` environment
    variables; addresses that it signs for callers begin with ``public_endpoint`` where there is one.
    """
    parts = urlsplit(url)
    if parts.scheme == "file" and parts.netloc in ("", "localhost") and parts.path not in ("", "/"):
        folder = Path(unquote(parts.path))
        make_private_folder(folder)
        return ObjectStore(LocalStore(prefix=folder, automatic_cleanup=True), folder)
    if parts.scheme == "s3" and parts.netloc:
        prefix = parts.path.strip("/")
        # The time limit spans a whole request, the body of a large object included. An endpoint without TLS
        # is used only where the operator's AWS_ENDPOINT_URL names one.
        options: ClientConfig = {"connect_timeout": "10 seconds", "timeout": "10 minutes", "allow_http": True}
        below = checked_key(prefix) if prefix else None
        keys: S3Config = {}
        if credentials is not None:
            keys = {
                "access_key_id": credentials.access_key_id or "",
                "secret_access_key": credentials.secret_access_key or "",
            }
        backend = S3Store(parts.netloc, prefix=below, config=keys, client_options=options)
        presigner = Presigner(parts.netloc, below, public_endpoint, credentials)
        return ObjectStore(backend, presigner=presigner)
    raise InvalidInput(
        "the storage address must be file:///folder or s3://bucket/prefix", field="storage_url"
    )


def checked_key(key: str) -> str:
    """Return the key. InvalidInput unless it is a path of plain names, so that no key leaves its prefix."""
    if len(key) > MAX_KEY_LENGTH or _KEY.fullmatch(key) is None:
        raise InvalidInput("an object key is a path of letters, digits, '.', '_' and '-'", field="key")
    return key


def make_private_folder(folder: Path) -> None:
    """Make the folder private. Every folder that has to be made is only its owner's (0700)."""
    missing = [folder]
    while not missing[-1].exists():
        missing.append(missing[-1].parent)
    for path in reversed(missing[:-1]):
        try:
            os.mkdir(path, 0o700)
        except FileExistsError:  # another process was faster
            continue


def _chunks_of(stream: Iterable[bytes]) -> Iterator[bytes]:
    with _failures():
        for chunk in stream:
            yield bytes(chunk)


@contextmanager
def _failures(*, missing_too: bool = True) -> Iterator[None]:
    """Turn errors of the backend into StorageError; a missing object only where ``missing_too``."""
    try:
        yield
    except FileNotFoundError as error:
        if "<Code>NoSuchBucket</Code>" in str(error):  # an object of no bucket is not one that is deleted
            raise StorageError("object storage has no such bucket") from error
        if not missing_too:
            raise
        raise StorageError("the stored object is missing") from error
    except (BaseError, OSError) as error:
        raise StorageError("object storage failed; try again") from error
