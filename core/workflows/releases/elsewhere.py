"""Tables of a release in parts that go to a folder that its job named, and not into the bundle.

They are copied there once a charge names their digests, each whole or not at all; :data:`DONE` is written
last, and says that all are there. Whoever copies them again writes the same bytes. The service's own rights
are used: a job has no credentials.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import NamedTuple

from core.errors import InvalidInput, StorageError
from core.graphs.counted.reference import lies_in, places_of
from core.publishing.spec import InParts, ReleaseSpec
from core.settings import Settings
from core.storage.store import ObjectStore

DONE = "_SUCCESS"
"""The name that engines know; its lines are digests and names, as ``sha256sum`` writes them."""
TABLE = ".parquet"


class Charged(NamedTuple):
    """A file whose digest a charge names. ``target``: the key where it is kept, or its address elsewhere."""

    name: str
    target: str
    sha256: str


def require_place(folder: str | None, tenant: str, settings: Settings) -> None:
    """Refuse a folder that the operator does not let this tenant's releases be written to. InvalidInput."""
    if folder is not None and not _allowed(folder, places_of(tenant, settings.release_places)):
        raise InvalidInput(
            "This service writes no release to that folder; leave write_to out, or ask its operator to add "
            "the place to GRAPHVEIL_RELEASE_PLACES.",
            field="write_to",
        )


def folder_of(release: ReleaseSpec) -> str | None:
    """Return the folder that a release's tables go to, one of its own. None where they stay in the bundle."""
    if not isinstance(release, InParts) or release.write_to is None:
        return None
    return f"{release.write_to.rstrip('/')}/{release.job_id}"


def address_of(release: ReleaseSpec, name: str) -> str | None:
    """Return where a released table goes. Each kind of table has a folder: None for what is no table."""
    folder = folder_of(release)
    if folder is None or "/" in name or not name.endswith(TABLE):
        return None
    return f"{folder}/{name.removesuffix(TABLE).partition('-')[0]}/{name}"


def is_address(key: str) -> bool:
    """Tell whether a file lies elsewhere. No key of the service's own storage looks so."""
    return key.startswith("/") or "://" in key


def try_place(release: ReleaseSpec, settings: Settings) -> None:
    """Try that the folder can be written to. It comes before anything is read and paid for. StorageError."""
    from core.graphs.counted import places  # the api plans without Arrow

    folder = folder_of(release)
    if folder is not None:
        with _answering(folder, settings):
            places.put_chunks([], f"{folder}/{places.UNFINISHED}")
            places.remove(folder)


def put(store: ObjectStore, staged: str, file: Charged, settings: Settings) -> None:
    """Copy a staged table to its address. StorageError where it has other bytes than were charged."""
    from core.graphs.counted import places

    with _answering(file.target, settings):
        if store.exists(staged):
            places.put_chunks(checked(store.get(staged), file.sha256), file.target)
        elif not places.exists(file.target):
            raise StorageError("a charged file is in neither place")


def finish(files: Sequence[Charged], settings: Settings) -> None:
    """Say that all tables of a release are there. What killed processes left of them is gone before."""
    from core.graphs.counted import places

    if files:
        folder = files[0].target.rsplit("/", 2)[0]
        lines = "".join(f"{each.sha256}  {each.target.removeprefix(folder + '/')}\n" for each in files)
        with _answering(folder, settings):
            places.tidy(folder)
            places.put_chunks([lines.encode()], f"{folder}/{DONE}")


def checked(chunks: Iterator[bytes], sha256: str) -> Iterator[bytes]:
    """Pass chunks on. StorageError at their end where they have another digest."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != sha256:
        raise StorageError("a file has other bytes than were told of it")


def _allowed(folder: str, places: Iterable[str]) -> bool:
    return any(lies_in(folder, each) for each in places)


@contextmanager
def _answering(address: str, settings: Settings) -> Iterator[None]:
    """Tell of a place that does not answer, or is no longer the operator's word, as of a storage."""
    if not _allowed(address, places_of(None, settings.release_places)):
        raise StorageError("the operator no longer lets releases be written there")
    try:
        yield
    except OSError as error:  # as Arrow tells of whatever a file system says
        raise StorageError("the folder that a release is written to does not answer") from error
