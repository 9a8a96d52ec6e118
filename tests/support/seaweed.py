"""A bucket on the server that docker-compose.yml runs, which others wrote: it checks every signature."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from deploy.local.storage import BUCKET, EmbeddedStorage


@contextmanager
def server() -> Iterator[EmbeddedStorage]:
    """A running server, whose folder goes with it."""
    with (
        tempfile.TemporaryDirectory(prefix="gv-s3-", dir="/tmp") as folder,
        EmbeddedStorage(Path(folder), log=Path(folder) / "log") as storage,
    ):
        yield storage


def reached_by(monkeypatch: pytest.MonkeyPatch, storage: EmbeddedStorage) -> None:
    """The environment leads to the server."""
    for name, value in storage.environment.items():
        if name.startswith("AWS_"):
            monkeypatch.setenv(name, value)


class Seen:
    """What lies below a prefix of the bucket, asked by another client than the service's."""

    def __init__(self, storage: EmbeddedStorage, prefix: str) -> None:
        import botocore.session

        told, self._prefix = storage.environment, prefix
        self._client: Any = botocore.session.Session().create_client(
            "s3",
            endpoint_url=storage.endpoint,
            region_name=told["AWS_REGION"],
            aws_access_key_id=told["AWS_ACCESS_KEY_ID"],
            aws_secret_access_key=told["AWS_SECRET_ACCESS_KEY"],
        )

    def objects(self) -> dict[str, bytes]:
        """Every object, by its key below the prefix."""
        pages = self._client.get_paginator("list_objects_v2").paginate(
            Bucket=BUCKET, Prefix=f"{self._prefix}/"
        )
        keys = [line["Key"] for page in pages for line in page.get("Contents", [])]
        found = {key: self._client.get_object(Bucket=BUCKET, Key=key)["Body"].read() for key in keys}
        return {key.removeprefix(f"{self._prefix}/"): data for key, data in found.items()}

    def put(self, key: str, data: bytes) -> None:
        self._client.put_object(Bucket=BUCKET, Key=f"{self._prefix}/{key}", Body=data)

    def unfinished(self) -> list[str]:
        """Keys of multipart uploads that were begun and neither completed nor aborted."""
        told = self._client.list_multipart_uploads(Bucket=BUCKET, Prefix=f"{self._prefix}/")
        return [line["Key"].removeprefix(f"{self._prefix}/") for line in told.get("Uploads", [])]
