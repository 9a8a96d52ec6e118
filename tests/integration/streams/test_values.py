"""Snapshots that carry values, from the dry run to the download; and streams that leave them out."""

from __future__ import annotations

import io
import json
import zipfile

import pyarrow.parquet as pq
import pytest

from core.errors import NotAccepted
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.identity.service import Principal
from core.outbox.models import Topic
from core.workflows.common.context import Services
from core.workflows.releases.queries import get_report, open_artifact
from core.workflows.streams.lifecycle import plan_stream
from core.workflows.streams.queries import combined
from core.workflows.streams.report import stream_report
from core.workflows.streams.requests import StreamRequest
from tests.support.streams import NODES, open_stream, publish, seen, send, stream_dataset

STARS = EdgeAttribute(name="stars", kind="integer", bounds=(1, 5), aggregate="max")
HOUR = EdgeAttribute(name="hour", kind="time_of_day", aggregate="first", from_time=True)
SCHEMA = GraphSchema(
    node_types=(NodeType(name="node", count=NODES),),
    edge_types=(EdgeType(name="contact", temporal=True, attributes=(STARS, HOUR)),),
    time=TimeGrid(start=0, width=86_400, count=4),
)
KNOWN = b"source,target,time,stars\n0,1,100,3\n"
ASKED = {"method": "keyframe", "parameters": {"attribute_share": 0.5}}


def rated(step: int, stars: str = "5") -> bytes:
    start = step * 86_400
    rows = [f"{n},{(n + hop) % NODES},{stars},{start + 3600 * n}" for n in range(NODES) for hop in (1, 2)]
    return ("source,target,stars,time\n" + "\n".join(rows) + "\n").encode()


def test_snapshots_carry_values_where_the_stream_pays_for_them(
    services: Services, principal: Principal
) -> None:
    dataset = stream_dataset(services, principal, content=KNOWN, graph_schema=SCHEMA, epsilon="300")
    planned = plan_stream(services, principal, StreamRequest(dataset_id=dataset.id, epsilon="300", **ASKED))
    assert planned.window_epsilon in ("300", "299.999999999")  # thirds are rounded down
    assert any("synthesised: stars, hour of contact" in text for text in planned.warnings)
    assert any("covered at epsilon 300, twice what" in text for text in planned.warnings)
    assert {"value_histogram", "values_by_classes"} <= {each.query for each in planned.precision}
    stream = open_stream(services, principal, dataset.id, epsilon="300", **ASKED)
    for step in range(3):
        view, _ = send(services, principal, stream, step, b"" if step == 1 else rated(step))
        assert publish(services, view.job_id)
        assert seen(services, principal, stream, step).state == "published"
    last = seen(services, principal, stream, 2).job_id
    table = pq.read_table(io.BytesIO(b"".join(open_artifact(services, principal, last, "edges.parquet")[1])))
    stars = table["stars"].to_pylist()
    assert sum(each == 5 for each in stars) > 0.8 * len(stars) > 20
    assert table["hour"].null_count == 0
    assert publish(services, last, Topic.EVALUATE)
    report = get_report(services, principal, last)
    assert [each["attribute"] for each in report["public"]["carried"]] == ["stars", "hour"]
    assert "edge_values_synthesised" in {each["code"] for each in report["public"]["caveats"]}
    assert "edge_attributes_left_out" not in {each["code"] for each in report["public"]["caveats"]}
    distances = report["curator"]["comparison"]["edge_types"][0]["values"][0]["row"]["distances"]
    assert distances["value_distance"] < 0.1
    rows = stream_report(services, principal, stream.id).rows
    assert [None if row.comparison is None else "value_distance" in row.comparison for row in rows] == [
        None,
        None,
        True,
    ]
    archive = zipfile.ZipFile(io.BytesIO(b"".join(combined(services, principal, stream.id))))
    for step in range(3):
        held = pq.read_table(io.BytesIO(archive.read(f"edges/step-{step:06d}.parquet")))
        assert {"stars", "hour"} <= set(held.column_names)
    schema = GraphSchema.model_validate(json.loads(archive.read("schema.json")))
    assert schema.edge_types[0].attributes == (STARS, HOUR)


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"source,target,time\n0,1,5\n", "'stars' is missing"),
        (b"source,target,stars\n0,1,5\n", "carry a time; add it"),
        (b"source,target,stars,time\n0,1,9,5\n", "outside 1 to 5"),
    ],
)
def test_a_snapshot_without_what_it_should_carry_is_refused_for_curators(
    services: Services, principal: Principal, content: bytes, said: str
) -> None:
    dataset = stream_dataset(services, principal, content=KNOWN, graph_schema=SCHEMA, epsilon="3")
    stream = open_stream(services, principal, dataset.id, **ASKED)
    view, _ = send(services, principal, stream, 0, content)
    publish(services, view.job_id)
    refused = seen(services, principal, stream, 0)
    assert refused.state == "refused"
    assert said in refused.findings[0]["message"]


def test_a_stream_without_a_share_takes_snapshots_that_carry_nothing(
    services: Services, principal: Principal
) -> None:
    dataset = stream_dataset(services, principal, content=KNOWN, graph_schema=SCHEMA, epsilon="3")
    request = StreamRequest(dataset_id=dataset.id, epsilon="3", method="keyframe")
    planned = plan_stream(services, principal, request)
    assert any("not synthesised" in text and "stars" in text for text in planned.warnings)
    stream = open_stream(services, principal, dataset.id, method="keyframe")
    view, _ = send(services, principal, stream, 0)
    assert publish(services, view.job_id)
    _, chunks = open_artifact(services, principal, view.job_id, "edges.parquet")
    assert "stars" not in pq.read_table(io.BytesIO(b"".join(chunks))).column_names


def test_by_auto_values_are_carried_and_rows_are_not(services: Services, principal: Principal) -> None:
    town = Attribute(name="town", protection="protected", categories=("x", "y"))
    schema = SCHEMA.model_copy(
        update={"node_types": (NodeType(name="node", count=NODES, attributes=(town,)),)}
    )
    nodes = "\n".join(["id,town", *(f"{n},{'xy'[n % 2]}" for n in range(NODES))]).encode()
    dataset = stream_dataset(services, principal, content=KNOWN, nodes=nodes, graph_schema=schema)
    planned = plan_stream(services, principal, StreamRequest(dataset_id=dataset.id, epsilon="3"))
    assert "0.25 of epsilon for what edges carry" in (planned.chosen_because or "")
    assert "in a live stream none are released" in (planned.chosen_because or "")
    assert any("synthesised: stars, hour of contact" in text for text in planned.warnings)
    rows = {"method": "auto", "parameters": {"node_attribute_share": 0.1}}
    with pytest.raises(NotAccepted, match=r"same row in every step.*publish the finished graph"):
        open_stream(services, principal, dataset.id, **rows)


def test_a_share_where_no_edge_carries_anything_is_refused(services: Services, principal: Principal) -> None:
    dataset = stream_dataset(services, principal)
    with pytest.raises(NotAccepted) as refused:
        open_stream(services, principal, dataset.id, **ASKED)
    assert "attribute_share" in refused.value.members["field"]
