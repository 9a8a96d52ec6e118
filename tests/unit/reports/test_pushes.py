"""What catalogues are sent: every emitter, from every kind of release, by its specification's fields.

`make check-catalogues` holds the same payloads against what the catalogues' own packages publish.
"""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest

from core.errors import InvalidInput
from core.reports import pushes
from core.reports.model import PublicPart
from core.workflows.webhooks.deliveries import MAX_CALLS
from tests.support import reports
from tests.support.pushed import HERE, IDS, PARTS, RELEASE_ID, sent, served
from tests.unit.reports.test_catalogues import RUN_EVENT

parts = pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)


def test_emitters_are_found_by_name():
    assert pushes.catalogues() == ("datahub", "openlineage", "openmetadata")
    with pytest.raises(InvalidInput):
        pushes.calls("collibra", reports.static(), HERE)


@pytest.mark.parametrize("catalogue", pushes.catalogues())
@parts
def test_nothing_but_the_public_part_is_sent_and_always_the_same(catalogue: str, part: PublicPart):
    calls = sent(catalogue, served(part))
    assert 1 <= len(calls) <= MAX_CALLS
    assert calls == sent(catalogue, served(part))
    text = json.dumps([call.content for call in calls], allow_nan=False)
    assert not [figure for figure in reports.CURATORS_ONLY if str(figure) in text]
    assert str(reports.charge().charged_at) not in text  # an exact time can depend on the data
    assert part.provenance.job_id in text
    if catalogue == "openlineage" and part.guarantee.kind == "unread":
        assert part.provenance.dataset_id not in text  # it has no input
        return
    for name in (part.provenance.dataset_id, reports.charge().remaining_epsilon):
        assert str(name) in text
    assert "12.345" in json.dumps(
        [call.content for call in sent(catalogue, served(part, remaining_epsilon="12.345"))]
    )


@parts
def test_openlineage_is_posted_to_the_transports_endpoint(part: PublicPart):
    (call,) = sent("openlineage", served(part))
    assert (call.method, call.path) == ("POST", "/api/v1/lineage")
    jsonschema.Draft202012Validator(RUN_EVENT).validate(call.content)
    if part.guarantee.kind == "unread":
        assert call.content["inputs"] == []
        return
    (read,) = call.content["inputs"]
    left = read["facets"]["graphveil_budget"]
    assert left["remaining_epsilon"] == reports.charge().remaining_epsilon


TEXT = {"type": "string"}
PROPOSAL = {
    "type": "object",
    "required": ["entityType", "entityUrn", "changeType", "aspectName", "aspect"],
    "additionalProperties": False,
    "properties": {
        "entityType": {"const": "dataset"},
        "entityUrn": {
            "type": "string",
            "pattern": r"^urn:li:dataset:\(urn:li:dataPlatform:[a-z]+,[^,()]+,PROD\)$",
        },
        "changeType": {"const": "UPSERT"},
        "aspectName": {"enum": ["datasetProperties", "subTypes", "upstreamLineage"]},
        "aspect": {
            "type": "object",
            "required": ["value", "contentType"],
            "additionalProperties": False,
            "properties": {"value": TEXT, "contentType": {"const": "application/json"}},
        },
    },
}
ASPECTS = {
    "datasetProperties": {
        "additionalProperties": False,
        "properties": {
            **dict.fromkeys(("name", "description", "externalUrl"), TEXT),
            "customProperties": {"type": "object", "additionalProperties": TEXT},
        },
    },
    "subTypes": {
        "required": ["typeNames"],
        "additionalProperties": False,
        "properties": {"typeNames": {"type": "array", "items": TEXT}},
    },
    "upstreamLineage": {
        "required": ["upstreams"],
        "additionalProperties": False,
        "properties": {
            "upstreams": {
                "type": "array",
                "items": {
                    "required": ["auditStamp", "dataset", "type"],
                    "additionalProperties": False,
                    "properties": {
                        "dataset": TEXT,
                        "type": {"enum": ["COPY", "TRANSFORMED", "VIEW"]},
                        "auditStamp": {
                            "required": ["time", "actor"],
                            "additionalProperties": False,
                            "properties": {"time": {"type": "integer"}, "actor": TEXT},
                        },
                    },
                },
            }
        },
    },
}


@parts
def test_datahub_takes_one_batch_of_upserts(part: PublicPart):
    (call,) = sent("datahub", served(part))
    assert (call.method, call.path) == ("POST", "/aspects?action=ingestProposalBatch")
    assert set(call.content) == {"proposals", "async"}
    values: dict[tuple[str, str], Any] = {}
    for proposal in call.content["proposals"]:
        jsonschema.Draft202012Validator(PROPOSAL).validate(proposal)
        value = json.loads(proposal["aspect"]["value"])
        jsonschema.Draft202012Validator(ASPECTS[proposal["aspectName"]]).validate(value)
        values[proposal["entityUrn"], proposal["aspectName"]] = value
    assert len(values) == len(call.content["proposals"])
    made = part.provenance
    original, release = (
        f"urn:li:dataset:(urn:li:dataPlatform:graphveil,{name},PROD)"
        for name in (f"datasets/{made.dataset_id}", f"jobs/{made.job_id}")
    )
    upstreams = values[release, "upstreamLineage"]["upstreams"]
    read = [] if part.guarantee.kind == "unread" else [original]
    assert [each["dataset"] for each in upstreams] == read
    assert {each["auditStamp"]["time"] for each in upstreams} <= {1772582400000}  # 4 March 2026, midnight UTC
    properties = values[release, "datasetProperties"]["customProperties"]
    assert (properties.get("epsilon"), properties["guarantee"]) == (
        part.guarantee.epsilon,
        part.guarantee.kind,
    )


@parts
def test_openmetadata_is_put_entities_before_the_lineage_that_names_their_ids(part: PublicPart):
    calls = sent("openmetadata", served(part))
    made = part.provenance
    original = IDS[made.dataset_id]
    lineage = [] if part.guarantee.kind == "unread" else [("PUT", "/api/v1/lineage")]
    assert [(call.method, call.path) for call in calls] == [
        ("PUT", "/api/v1/services/storageServices"),
        ("PUT", "/api/v1/containers"),
        ("PATCH", f"/api/v1/containers/{original}"),
        ("PUT", "/api/v1/containers"),
        *lineage,
    ]
    assert [call.content["name"] for call in (calls[1], calls[3])] == [made.dataset_id, made.job_id]
    assert "description" not in calls[1].content  # a person's own words are not put away; the patch is ours
    assert calls[2].headers == {"Content-Type": "application/json-patch+json"}
    for call in calls[4:]:
        edge = call.content["edge"]
        assert (edge["fromEntity"]["id"], edge["toEntity"]["id"]) == (original, RELEASE_ID)


@pytest.mark.parametrize("answer", [None, {}, [], {"id": None}, {"id": "../../users"}])
def test_openmetadata_takes_no_answer_for_an_id_that_is_none(answer: Any):
    left = pushes.calls("openmetadata", served(reports.static()), HERE)
    next(left)
    left.send({"id": RELEASE_ID})
    with pytest.raises(ValueError, match="UUID"):
        left.send(answer)


def test_an_exposed_account_is_said_to_be_one():
    shown = json.dumps(
        [call.content for call in sent("openmetadata", served(reports.static(), exposed=True))]
    )
    assert "no epsilon can be claimed" in shown
