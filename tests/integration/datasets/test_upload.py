"""Receiving files: sealed, limited, one at a time, and nothing left of what failed."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
from sqlalchemy import func, select, update

from core.datasets.models import DatasetPart, DatasetVersion
from core.errors import Conflict, InvalidInput, InvalidTransition, LeaseLost, PayloadTooLarge, UnknownFormat
from core.outbox.models import OutboxMessage
from core.workflows.datasets import queries
from core.workflows.datasets.upload import recover_uploads
from core.workflows.operations.archive import archive_dataset
from graphveil.models.datasets import Version
from tests.integration.datasets.conftest import EDGES, Curator
from tests.support.patience import PATIENCE_SECONDS


def stored_bytes(curator: Curator) -> bytes:
    root = Path(curator.services.settings.storage_url.removeprefix("file://"))
    return b"".join(path.read_bytes() for path in root.rglob("*") if path.is_file())


def newest(curator: Curator, dataset_id: str) -> Version | None:
    return queries.get_dataset(curator.services, curator.principal, dataset_id).version


def state(curator: Curator, dataset_id: str) -> str:
    return queries.get_dataset(curator.services, curator.principal, dataset_id).state


def test_nodes_then_edges_complete_a_version(curator: Curator) -> None:
    dataset = curator.register()
    first = curator.send(dataset, b"id\n0\n", part="nodes", options={"header": "true"})
    assert (first.state, state(curator, dataset.id)) == ("uploading", "uploading")
    second = curator.send(dataset, EDGES, length=len(EDGES))
    assert (second.id, second.state, state(curator, dataset.id)) == (first.id, "queued", "validating")
    view = newest(curator, dataset.id)
    assert view is not None
    parts = {part.part: part for part in view.parts}
    assert parts["edges"].sha256 == hashlib.sha256(EDGES).hexdigest()
    assert parts["edges"].size_bytes == len(EDGES)
    assert b"source,target" not in stored_bytes(curator)
    with curator.services.db.transaction() as session:
        rung = session.scalars(select(OutboxMessage)).all()
        assert [(message.topic, message.subject_id) for message in rung] == [("ingest", first.id)]


def test_a_part_sent_again_replaces_the_one_before(curator: Curator) -> None:
    dataset = curator.register()
    curator.send(dataset, b"id\n0\n", part="nodes")
    before = curator.objects()
    curator.send(dataset, b"id\n0\n1\n", part="nodes")
    assert len(curator.objects()) == 1
    assert curator.objects() != before


def test_a_file_of_no_bytes_is_refused_and_leaves_nothing(curator: Curator) -> None:
    dataset = curator.register()
    with pytest.raises(InvalidInput, match="no bytes arrived") as refused:
        curator.send(dataset, b"")
    assert refused.value.members["field"] == "body"
    assert (newest(curator, dataset.id), curator.objects()) == (None, [])


def test_over_the_limit_leaves_nothing(curator: Curator) -> None:
    settings = curator.services.settings.model_copy(update={"max_upload_bytes": 3_000_000})
    small = Curator(replace(curator.services, settings=settings), curator.principal)
    dataset = small.register()
    sent = 0

    def endless() -> Iterator[bytes]:
        nonlocal sent
        while True:
            sent += 1
            yield bytes(500_000)

    with pytest.raises(PayloadTooLarge):
        small.send(dataset, endless())
    assert sent == 7  # the first chunk beyond the limit ends it
    with pytest.raises(PayloadTooLarge):
        small.send(dataset, b"x", length=3_000_001)
    assert small.objects() == []
    assert newest(small, dataset.id) is None
    assert state(small, dataset.id) == "registered"
    assert small.send(dataset, bytes(3_000_000)).number == 1


def test_a_broken_upload_leaves_the_version_as_it_was(curator: Curator) -> None:
    dataset = curator.register()
    version = curator.send(dataset, b"id\n0\n", part="nodes")
    kept = curator.objects()

    def broken() -> Iterator[bytes]:
        yield bytes(2_000_000)
        raise ConnectionError("the sender is gone")

    for part in ("edges", "nodes"):
        with pytest.raises(ConnectionError):
            curator.send(dataset, broken(), part=part)
    with pytest.raises(InvalidInput, match="announced"):
        curator.send(dataset, EDGES, length=len(EDGES) + 1)
    assert curator.objects() == kept
    view = newest(curator, dataset.id)
    assert view is not None
    assert (view.id, view.state, [part.part for part in view.parts]) == (version.id, "uploading", ["nodes"])
    assert curator.send(dataset).id == version.id


def test_the_second_of_two_concurrent_uploads_is_refused(curator: Curator) -> None:
    dataset = curator.register()
    begun, go_on = threading.Event(), threading.Event()
    versions: list[DatasetVersion] = []

    def slow() -> Iterator[bytes]:
        yield EDGES[:10]
        begun.set()
        assert go_on.wait(PATIENCE_SECONDS)
        yield EDGES[10:]

    sender = threading.Thread(target=lambda: versions.append(curator.send(dataset, slow())))
    sender.start()
    assert begun.wait(PATIENCE_SECONDS)
    for part in ("edges", "nodes"):
        with pytest.raises(Conflict, match="under way"):
            curator.send(dataset, part=part)
    go_on.set()
    sender.join(PATIENCE_SECONDS)
    assert [version.state for version in versions] == ["queued"]
    assert len(curator.objects()) == 1
    with pytest.raises(InvalidTransition):  # and now its validation is awaited
        curator.send(dataset)


def test_a_stale_upload_is_swept_and_its_sender_told(curator: Curator) -> None:
    dataset = curator.register()

    def overtaken() -> Iterator[bytes]:
        yield EDGES[:10]
        with curator.services.db.transaction() as session:
            gone = func.now() - timedelta(seconds=1)
            session.execute(update(DatasetVersion).values(upload_expires_at=gone))
        assert recover_uploads(curator.services, 10) == 1
        yield EDGES[10:]

    with pytest.raises(LeaseLost):
        curator.send(dataset, overtaken())
    assert curator.objects() == []
    assert newest(curator, dataset.id) is None
    assert state(curator, dataset.id) == "registered"
    assert recover_uploads(curator.services, 10) == 0


def test_an_upload_outlives_its_lease_while_bytes_arrive(curator: Curator) -> None:
    settings = curator.services.settings.model_copy(
        update={"lease_seconds": PATIENCE_SECONDS, "heartbeat_seconds": 1e-9}
    )
    hasty = Curator(replace(curator.services, settings=settings), curator.principal)
    dataset = hasty.register()

    def slow() -> Iterator[bytes]:
        for byte in EDGES:
            with hasty.services.db.transaction() as session:  # more than half of the lease goes by
                left = DatasetVersion.upload_expires_at - timedelta(seconds=0.6 * PATIENCE_SECONDS)
                session.execute(update(DatasetVersion).values(upload_expires_at=left))
            assert recover_uploads(hasty.services, 10) == 0
            yield bytes([byte])

    assert hasty.send(dataset, slow()).state == "queued"


def test_archiving_ends_an_upload(curator: Curator) -> None:
    dataset = curator.register()

    def archived() -> Iterator[bytes]:
        yield EDGES[:10]
        archive_dataset(curator.services, curator.principal, dataset.id)
        yield EDGES[10:]

    with pytest.raises(LeaseLost):
        curator.send(dataset, archived())
    assert curator.objects() == []
    with curator.services.db.transaction() as session:
        assert session.scalars(select(DatasetPart)).all() == []


def test_what_is_not_known_is_refused_before_anything_is_stored(curator: Curator) -> None:
    dataset = curator.register()
    for error, change in (
        (InvalidInput, {"part": "labels"}),
        (UnknownFormat, {"format": "xlsx"}),
        (UnknownFormat, {"format": "_base"}),
        (InvalidInput, {"options": {"a": float("nan")}}),
        (InvalidInput, {"options": {"a": "x" * 20_000}}),
    ):
        with pytest.raises(error):
            curator.send(dataset, **change)
    assert curator.objects() == []
    assert state(curator, dataset.id) == "registered"
