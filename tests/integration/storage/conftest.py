"""One server for the session; each test has a prefix of its own in its bucket."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from deploy.local.storage import EmbeddedStorage
from tests.support import seaweed


@pytest.fixture(scope="session")
def storage() -> Iterator[EmbeddedStorage]:
    with seaweed.server() as running:
        yield running


@pytest.fixture
def prefix(storage: EmbeddedStorage, monkeypatch: pytest.MonkeyPatch) -> str:
    """Every store of the test reaches the server; what its own part of the bucket is called."""
    seaweed.reached_by(monkeypatch, storage)
    return f"test-{uuid.uuid4().hex}"


@pytest.fixture
def seen(storage: EmbeddedStorage, prefix: str) -> seaweed.Seen:
    return seaweed.Seen(storage, prefix)
