"""Time grids: what a w-event account keeps its steps by, and what was read off the data."""

from __future__ import annotations

from typing import Any

import pytest

from core.datasets.models import Dataset, DatasetVersion
from core.errors import Conflict
from core.graphs.schema import EdgeType, GraphSchema, NodeType, TimeGrid
from core.identity.service import Principal
from core.workflows.common.context import Services
from core.workflows.datasets import queries
from core.workflows.datasets.register import confirm_schema
from core.workflows.operations.archive import archive_dataset
from tests.integration.datasets.conftest import Curator
from tests.support.releases import job_row, queued_job
from tests.support.streams import open_stream, send

STREAM = b"source,target,time\n0,1,14\n1,2,15\n2,0,27\n"


def on(start: int = 0, width: int = 7, count: int = 4) -> GraphSchema:
    return GraphSchema(
        node_types=(NodeType(count=6),),
        edge_types=(EdgeType(temporal=True),),
        time=TimeGrid(start=start, width=width, count=count),
    )


def stream(curator: Curator, name: str, schema: GraphSchema | None, **changes: Any) -> Dataset:
    terms = {"unit": "w-event", "window": 2, "protection_domain": "ward"} | changes
    return curator.register(name=name, graph_schema=schema, **terms)


def marks(curator: Curator, version: DatasetVersion) -> list[str]:
    with curator.services.db.transaction() as session:
        return session.get_one(DatasetVersion, version.id).derived


@pytest.mark.parametrize("other", [on(start=1), on(width=14)])
def test_another_grid_is_refused_at_registration_with_the_accounts_own(
    curator: Curator, other: GraphSchema
) -> None:
    stream(curator, "first", on())
    with pytest.raises(Conflict, match="start 0, width 7") as caught:
        stream(curator, "second", other)
    assert caught.value.members["field"] == "graph_schema.time"
    stream(curator, "longer", on(count=52))
    stream(curator, "elsewhere", other, protection_domain="ward 8")


def test_another_grid_is_refused_at_confirmation(curator: Curator) -> None:
    stream(curator, "first", on())
    second = stream(curator, "second", None)
    with pytest.raises(Conflict, match="start 0, width 7"):
        confirm_schema(curator.services, curator.principal, second.id, on(start=14))
    confirm_schema(curator.services, curator.principal, second.id, on(count=9))


def test_a_dataset_may_correct_its_own_grid_while_it_is_alone(curator: Curator) -> None:
    first = stream(curator, "first", on(width=6))
    confirm_schema(curator.services, curator.principal, first.id, on())
    stream(curator, "second", on())


def test_content_of_another_account_is_refused_on_another_grid(curator: Curator) -> None:
    first = stream(curator, "first", on(start=14, width=7, count=2))
    assert curator.validate(curator.send(first, STREAM)).state == "ready"
    # Other steps of the same numbers: the content looks the same.
    other = stream(curator, "second", on(start=114, width=7, count=2), protection_domain="ward 8")
    shifted = STREAM.replace(b",14", b",114").replace(b",15", b",115").replace(b",27", b",127")
    rejected = curator.validate(curator.send(other, shifted))
    assert rejected.state == "rejected"
    assert rejected.ingest_report is not None
    assert "time grid start 14, width 7 instead of start 114, width 7" in rejected.ingest_report["message"]


def test_a_grid_outlives_the_archiving_of_what_was_ready_on_it(curator: Curator) -> None:
    never_ready = stream(curator, "typo", on(width=6))
    archive_dataset(curator.services, curator.principal, never_ready.id)
    first = stream(curator, "first", on())
    assert curator.validate(curator.send(first, STREAM)).state == "ready"
    archive_dataset(curator.services, curator.principal, first.id)
    with pytest.raises(Conflict, match="start 0, width 7"):
        stream(curator, "second", on(width=14))


def test_other_units_keep_no_steps(curator: Curator) -> None:
    stream(curator, "first", on(), unit="event", window=None)
    stream(curator, "second", on(start=1), unit="event", window=None)


def test_what_was_read_off_the_data_is_marked_for_good(
    curator: Curator, services: Services, principal: Principal
) -> None:
    dataset = stream(curator, "first", None)
    version = curator.send(dataset, STREAM)
    assert curator.validate(version).state == "proposed"
    assert marks(curator, version) == ["node_list", "time_grid"]
    view = queries.get_dataset(services, principal, dataset.id)
    confirm_schema(services, principal, dataset.id, GraphSchema.model_validate(view.proposed_schema))
    assert curator.validate(version).state == "ready"
    job = queued_job(services, principal, dataset.id, epsilon="0.1")
    assert job.spec["release"]["derived"] == ["node_list", "time_grid"]

    nodes = curator.send(dataset, b"id\n0\n1\n2\n3\n", part="nodes")
    assert curator.validate(curator.send(dataset, STREAM)).state == "ready"
    assert marks(curator, nodes) == [
        "time_grid"
    ]  # the list is the curator's now, the grid the first upload's


def test_what_the_curator_declared_instead_is_not_marked(curator: Curator) -> None:
    dataset = stream(curator, "first", None)
    version = curator.send(dataset, STREAM)
    curator.validate(version)
    confirm_schema(curator.services, curator.principal, dataset.id, on(count=5))
    assert curator.validate(version).state == "ready"
    assert marks(curator, version) == []


def test_a_declared_schema_is_not_marked(curator: Curator) -> None:
    dataset = stream(curator, "first", on())
    version = curator.send(dataset, STREAM)
    assert curator.validate(version).state == "ready"
    assert marks(curator, version) == []


def test_a_documents_nodes_are_marked_until_a_list_takes_their_place(curator: Curator) -> None:
    dataset = curator.register(name="document", graph_schema=GraphSchema(), unit="edge")
    document = b'{"nodes": [{"id": "0"}, {"id": "1"}], "links": [{"source": "0", "target": "1"}]}'
    alone = curator.send(dataset, document, format="node_link")
    assert curator.validate(alone).state == "ready"
    assert marks(curator, alone) == ["node_list"]
    curator.send(dataset, b"id\n2\n1\n0\n", part="nodes")
    listed = curator.validate(curator.send(dataset, document, format="node_link"))
    assert listed.state == "ready"
    assert listed.node_counts == {"node": 3}
    assert marks(curator, listed) == []


def as_before_marks(curator: Curator, dataset: Dataset, document: bytes) -> None:
    """A document that was accepted when the nodes that it lists were not marked yet."""
    version = curator.send(dataset, document, format="node_link")
    assert curator.validate(version).state == "ready"
    with curator.services.db.transaction() as session:
        row = session.get_one(DatasetVersion, version.id)
        row.derived, row.ingest_report = [], {k: v for k, v in row.ingest_report.items() if k != "readings"}


def test_a_document_that_was_accepted_before_marks_is_marked_all_the_same(
    curator: Curator, services: Services, principal: Principal
) -> None:
    dataset = curator.register(name="document", graph_schema=GraphSchema(), unit="edge")
    document = b'{"nodes": [{"id": "0"}, {"id": "1"}], "links": [{"source": "0", "target": "1"}]}'
    as_before_marks(curator, dataset, document)
    shown = queries.get_dataset(services, principal, dataset.id).version
    assert shown is not None
    assert [each.part for each in shown.read_off] == ["node_list"]
    assert queued_job(services, principal, dataset.id).spec["release"]["derived"] == ["node_list"]


def test_the_snapshots_of_a_stream_on_such_a_document_are_marked_too(
    curator: Curator, services: Services, principal: Principal
) -> None:
    listed = on().model_copy(update={"node_types": (NodeType(),)})
    dataset = stream(curator, "document", listed)
    document = b"""{"nodes": [{"id": "0"}, {"id": "1"}, {"id": "2"}],
        "links": [{"source": "0", "target": "1", "time": 14}]}"""
    as_before_marks(curator, dataset, document)
    opened = open_stream(services, principal, dataset.id, epsilon="1")
    view, _ = send(services, principal, opened, 0, b"source,target\n0,1\n")
    assert job_row(services, view.job_id).spec["release"]["derived"] == ["node_list"]
