"""Objects of an S3-compatible bucket, as files. Keys are read as AWS's own tools read them: ``AWS_*``."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from graphveil.errors import ClientError
from graphveil.sources.libraries import library
from graphveil.sources.parts import SUFFIX

SCHEME = "s3://"


def named(source: object) -> bool:
    """Whether the source is an address in a bucket."""
    return isinstance(source, str) and source.startswith(SCHEME)


def download(address: str, folder: Path) -> Path:
    """Download ``s3://bucket/key`` into the folder, piece by piece. ClientError where it cannot be read."""
    store, key = _store(address)
    if not key:
        raise ClientError(f"{address} names no object; s3://bucket/key does, s3://bucket/prefix/ a folder")
    path = folder / key.rpartition("/")[2]
    _fetch(store, key, path, address)
    return path


def download_parts(address: str, folder: Path) -> None:
    """Download every Parquet file below a prefix.

    They are ``*.parquet`` right below ``s3://bucket/prefix/``; ClientError as :func:`download`.
    """
    store, prefix = _store(address)
    obstore = library("obstore", "s3")
    try:
        found = obstore.list_with_delimiter(store, prefix=prefix)["objects"]
    except obstore.exceptions.BaseError as error:
        raise _unreadable(address, error) from None
    for each in found:
        key = str(each["path"])
        if key.endswith(SUFFIX) and key.rpartition("/")[0] == prefix:
            _fetch(store, key, folder / key.rpartition("/")[2], address)


def _store(address: str) -> tuple[Any, str]:
    place = urlsplit(address)
    if place.username is not None or place.query or place.fragment or not place.hostname:
        raise ClientError(
            f"an address is s3://bucket/key, without keys in it: those stand in {_VARIABLES}, or in the "
            "machine's role"
        )
    obstore = library("obstore", "s3")
    stores = library("obstore.store", "s3")
    try:
        # An endpoint without TLS is asked only where the caller's own AWS_ENDPOINT_URL names one.
        return stores.S3Store(place.netloc, client_options={"allow_http": True}), place.path.strip("/")
    except obstore.exceptions.BaseError as error:
        raise _unreadable(address, error) from None


_VARIABLES = "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY"


def _fetch(store: Any, key: str, path: Path, address: str) -> None:
    obstore = library("obstore", "s3")
    try:
        with path.open("wb") as file:
            for piece in obstore.get(store, key):
                file.write(piece)
    except (obstore.exceptions.BaseError, FileNotFoundError) as error:
        raise _unreadable(address, error) from None


def _unreadable(address: str, error: Exception) -> ClientError:
    """Name the kind of failure; what the bucket answered may quote what was sent."""
    return ClientError(f"{address} cannot be read ({type(error).__name__})")
