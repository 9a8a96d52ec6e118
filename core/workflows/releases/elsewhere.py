"""Tables of a release in parts that go to a folder that its job named, and not into the bundle.

They are copied there once a charge names their digests, each whole or not at all; :data:`DONE` is written
last, and says that all are there. Whoever copies them again writes the same bytes. The service's own rights
are used: a job has no credentials. Where a job names a place of the engine's catalogue (``table:lake.out``),
the operator says which folder that has, and each folder of files gets an Iceberg table beside it: a catalogue
makes a name once, and a table whole or not at all.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from core.errors import InvalidInput, StorageError
from core.graphs.counted.reference import lies_in, places_of
from core.publishing.spec import InParts, ReleaseSpec
from core.settings import Settings
from core.storage.store import ObjectStore

if TYPE_CHECKING:
    from core.graphs.counted.spark import Spark

DONE = "_SUCCESS"
"""The name that engines know; its lines are digests and names, as ``sha256sum`` writes them."""
TABLE = ".parquet"
CATALOGUE, ICEBERG = "table:", "iceberg"
"""How a place of the catalogue begins; the folder below a release's that its tables have."""


class Charged(NamedTuple):
    """A file whose digest a charge names. ``target``: the key where it is kept, or its address elsewhere."""

    name: str
    target: str
    sha256: str


def place_of(asked: str | None, tenant: str, settings: Settings) -> str | None:
    """Find where a release is written to, of the catalogue with its folder: ``table:lake.out=s3://lake/out``.

    InvalidInput for what the operator does not let this tenant's releases be written to.
    """
    if asked is None:
        return None
    for place in places_of(tenant, settings.release_places):
        if not asked.startswith(CATALOGUE) and lies_in(asked, place):
            return asked
        if asked.startswith(CATALOGUE) and place.startswith(f"{asked}="):
            return place
    raise InvalidInput(
        "This service writes no release to that place; leave write_to out, or ask its operator to add "
        "it to GRAPHVEIL_RELEASE_PLACES (tables where the engine's catalogue has Iceberg).",
        field="write_to",
    )


def folder_of(release: ReleaseSpec) -> str | None:
    """Return the folder that a release's tables go to, one of its own. None where they stay in the bundle."""
    if not isinstance(release, InParts) or release.write_to is None:
        return None
    return f"{_folder(release.write_to).rstrip('/')}/{release.job_id}"


def table_of(release: ReleaseSpec) -> str | None:
    """Return how the names of a release's tables in the catalogue begin. None where it has none."""
    if not isinstance(release, InParts) or release.write_to is None:
        return None
    namespace = release.write_to.partition("=")[0]
    named = namespace.startswith(CATALOGUE)
    return f"{namespace.removeprefix(CATALOGUE)}.{release.job_id}" if named else None


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
    """Try that the folder can be written to. It comes before anything is read and paid for. StorageError;
    InvalidInput where the catalogue makes no Iceberg table."""
    from core.graphs.counted import places  # the api plans without Arrow

    folder, table = folder_of(release), table_of(release)
    if folder is not None:
        with _answering(folder, settings):
            # Only writing shows that one may write; what was tried is removed again.
            places.put_chunks([], f"{folder}/{places.UNFINISHED}")
            try:
                if table is not None:
                    with _engine(table, settings) as engine:
                        engine.try_table(f"{table}_tried", f"{folder}/{ICEBERG}")
            finally:
                places.remove(folder)


def put(store: ObjectStore, staged: str, file: Charged, settings: Settings) -> None:
    """Copy a staged table to its address. StorageError where it has other bytes than were charged."""
    from core.graphs.counted import places

    with _answering(file.target, settings):
        if store.exists(staged):
            places.put_chunks(checked(store.get(staged), file.sha256), file.target)
        elif not places.exists(file.target):
            raise StorageError("a charged file is in neither place")


def finish(files: Sequence[Charged], table: str | None, settings: Settings) -> Mapping[str, int]:
    """Say that all tables of a release are there, with their snapshots in the catalogue, if it has any; those
    are returned, by name. What killed processes left of them is gone before."""
    from core.graphs.counted import places

    made: Mapping[str, int] = {}
    if files:
        folder = files[0].target.rsplit("/", 2)[0]
        lines = "".join(f"{each.sha256}  {each.target.removeprefix(folder + '/')}\n" for each in files)
        with _answering(folder, settings):
            places.tidy(folder)
            if table is not None:
                made = _in_catalogue(folder, files, table, settings)
                lines += "".join(f"# {name} snapshot {number}\n" for name, number in made.items())
            # Last: whoever sees this file finds all that it names.
            places.put_chunks([lines.encode()], f"{folder}/{DONE}")
    return made


def checked(chunks: Iterator[bytes], sha256: str) -> Iterator[bytes]:
    """Pass chunks on. StorageError at their end where they have another digest."""
    digest = hashlib.sha256()
    for chunk in chunks:
        digest.update(chunk)
        yield chunk
    if digest.hexdigest() != sha256:
        raise StorageError("a file has other bytes than were told of it")


def _in_catalogue(folder: str, files: Iterable[Charged], table: str, settings: Settings) -> dict[str, int]:
    """Make a table of each folder of files; their snapshots, by name."""
    kinds, made = {each.target.removeprefix(f"{folder}/").partition("/")[0] for each in files}, {}
    try:
        with _engine(table, settings) as engine:
            for kind in sorted(kinds):
                name, below = f"{table}_{kind}", f"{folder}/{ICEBERG}/{kind}"
                made[name] = engine.table(name, f"{folder}/{kind}", below)
    except InvalidInput as error:  # it was tried before anything was paid for
        raise StorageError("the engine's catalogue refuses a table") from error
    return made


@contextmanager
def _engine(table: str, settings: Settings) -> Iterator[Spark]:
    """Open the service's engine. StorageError where it does not answer, InvalidInput where it refuses."""
    from core.graphs.counted.spark import REFUSALS, Spark, connect

    place = f"{CATALOGUE}{table.rpartition('.')[0]}="
    if not any(each.startswith(place) for each in places_of(None, settings.release_places)):
        raise StorageError("the operator no longer lets tables be made there")
    if not (address := settings.engine_url.get_secret_value()):
        raise InvalidInput("this service has no engine; ask its operator to set GRAPHVEIL_ENGINE_URL")
    try:
        engine = Spark(connect(address), "")
        try:
            yield engine
        finally:
            engine.stop()
    except (InvalidInput, StorageError):
        raise
    except Exception as error:
        if type(error).__name__ in REFUSALS:
            raise InvalidInput("the engine's catalogue makes no Iceberg table there") from error
        raise StorageError("the engine whose catalogue has the tables does not answer") from error


def _folder(place: str) -> str:
    return place.partition("=")[2] if place.startswith(CATALOGUE) else place


def _allowed(folder: str, places: Iterable[str]) -> bool:
    return any(lies_in(folder, _folder(each)) for each in places)


@contextmanager
def _answering(address: str, settings: Settings) -> Iterator[None]:
    """Tell of a place that does not answer, or is no longer the operator's word, as of a storage."""
    if not _allowed(address, places_of(None, settings.release_places)):
        raise StorageError("the operator no longer lets releases be written there")
    try:
        yield
    except OSError as error:  # as Arrow tells of whatever a file system says
        raise StorageError("the folder that a release is written to does not answer") from error
