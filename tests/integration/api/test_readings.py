"""How an upload was read: one mapping through every face, answers first, and no word to others."""

from __future__ import annotations

import html
import json
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from structlog.testing import capture_logs

from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import EDGES, Tenant
from tests.support.console import Steward, csrf_in

SECRET = "Zauberlehrling"
CONFIRM = '<button class="main">Confirm the schema'


def people(seed: int, header: str = "blip,crux,dorn,fend") -> str:
    """Which columns are the ends cannot be told: three hold the same people."""
    made = random.Random(seed)
    names = [f"{SECRET}{number}" for number in range(30)]
    rows = [",".join([*(made.choice(names) for _ in range(3)), str(made.randrange(50))]) for _ in range(200)]
    return "\n".join([header, *rows]) + "\n"


def proposed(tenant: Tenant, content: str, query: str = "") -> tuple[str, dict[str, Any]]:
    """A dataset whose upload a worker has read; nobody has confirmed anything."""
    dataset_id = tenant.register(graph_schema=None)["id"]
    received = tenant.upload(dataset_id, content, f"part=edges&format=csv{query}")
    assert received.status_code == 200, received.text
    tenant.work(Topic.INGEST, received.json()["id"])
    return dataset_id, tenant.call("GET", f"/datasets/{dataset_id}").json()


def roles(dataset: dict[str, Any]) -> dict[str, str]:
    (reading,) = dataset["version"]["readings"]
    return {each["name"]: each["role"] for each in reading["columns"]}


@pytest.mark.parametrize(
    "said",
    [
        "columns=source%3Ddorn,target%3Dcrux,-%3Dblip,value%3Dfend",
        "columns=-,target,source,value",
        "columns=-&columns=target&columns=source&columns=value",
        'columns={"source":"dorn","target":2,"-":1,"value":["fend"]}',
    ],
)
def test_columns_are_said_in_the_query_of_an_upload(tenant: Tenant, said: str):
    _, dataset = proposed(tenant, people(1), f"&{said}&header=true&delimiter=,")
    assert roles(dataset) == {"blip": "left alone", "crux": "target", "dorn": "source", "fend": "value"}
    (reading,) = dataset["version"]["readings"]
    assert reading["questions"] == []
    assert reading["dialect"]["header"] is True
    assert "readings" not in dataset["version"]["ingest_report"]


def test_a_mapping_that_no_file_has_is_refused_before_the_file_is_read(tenant: Tenant):
    dataset_id = tenant.register(graph_schema=None)["id"]
    for query, words in (
        ("columns=source%3Da,source%3Db", "two columns"),
        ("delimiter=ab", "separates no fields"),
        ("encoding=klingon", "is not read"),
    ):
        answer = tenant.upload(dataset_id, people(2), f"part=edges&format=csv&{query}")
        assert answer.status_code == 422, answer.text
        assert words in answer.text


def test_a_kept_file_is_read_again_as_its_curator_says(tenant: Tenant):
    dataset_id, dataset = proposed(tenant, people(3))
    said = {"columns": {"source": "fend", "target": "blip", "-": ["crux", "dorn"]}, "header": True}
    answer = tenant.call("POST", f"/datasets/{dataset_id}/reading", json=said)
    assert answer.status_code == 200, answer.text
    assert answer.json()["state"] == "queued"
    tenant.work(Topic.INGEST, answer.json()["id"])
    again = tenant.call("GET", f"/datasets/{dataset_id}").json()
    assert roles(again) == {"blip": "target", "crux": "left alone", "dorn": "left alone", "fend": "source"}
    confirmed = tenant.call("PUT", f"/datasets/{dataset_id}/schema", json=again["proposed_schema"])
    assert confirmed.status_code == 200, confirmed.text
    tenant.work(Topic.INGEST, dataset["version"]["id"])
    ready = tenant.call("GET", f"/datasets/{dataset_id}").json()
    assert ready["state"] == "ready"
    assert roles(ready) == roles(again)
    late = tenant.call("POST", f"/datasets/{dataset_id}/reading", json=said)
    assert late.status_code == 409


def test_what_would_make_another_graph_is_answered_before_anything_is_confirmed(tenant: Tenant):
    dataset_id, dataset = proposed(tenant, people(4))
    (reading,) = dataset["version"]["readings"]
    asked = [each for each in reading["questions"] if each["must_be_answered"]]
    assert [each["about"] for each in asked] == ["ends"]
    refused = tenant.call("PUT", f"/datasets/{dataset_id}/schema", json=dataset["proposed_schema"])
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "reading"
    mapping = asked[0]["answers"][-1]["mapping"]
    answer = tenant.call("POST", f"/datasets/{dataset_id}/reading", json=mapping)
    assert answer.status_code == 200, answer.text
    tenant.work(Topic.INGEST, answer.json()["id"])
    again = tenant.call("GET", f"/datasets/{dataset_id}").json()
    ends = {column for _, column in json.loads(mapping["columns"])}
    assert {each for each, role in roles(again).items() if role in ("source", "target")} == ends
    confirmed = tenant.call("PUT", f"/datasets/{dataset_id}/schema", json=again["proposed_schema"])
    assert confirmed.status_code == 200, confirmed.text


def test_the_console_asks_and_reads_again(tenant: Tenant, at_console: Callable[..., Steward]):
    dataset_id, _ = proposed(tenant, people(5))
    steward = at_console(tenant)
    page = steward.get(f"/console/datasets/{dataset_id}/schema")
    assert page.status_code == 200
    assert "To be answered" in page.text
    assert CONFIRM not in page.text
    chosen = {"role-1": "-", "role-2": "source", "role-3": "target", "role-4": "value"}
    unanswered = steward.post(f"/console/datasets/{dataset_id}/reading", part="edges", **chosen)
    assert unanswered.status_code == 422
    sent = steward.post(
        f"/console/datasets/{dataset_id}/reading", part="edges", **chosen, **{"answer-0": "table"}
    )
    assert sent.status_code == 303, sent.text
    version = tenant.call("GET", f"/datasets/{dataset_id}").json()["version"]["id"]
    tenant.work(Topic.INGEST, version)
    assert CONFIRM in steward.get(f"/console/datasets/{dataset_id}/schema").text


def test_every_warning_of_a_reading_is_ticked_before_its_schema_is_confirmed_and_kept(
    tenant: Tenant, at_console: Callable[..., Steward]
):
    rows = "".join(f"{number % 7},{number % 5 + 10},{number}.5\n" for number in range(60))
    dataset_id, dataset = proposed(tenant, rows)
    (reading,) = dataset["version"]["readings"]
    told = dataset["version"]["ingest_report"]["warnings"]
    warnings = [*dict.fromkeys([*told, *reading["warnings"]])]
    read_off = [each["part"] for each in dataset["version"]["read_off"]]
    for word in ("has no header", "Direction cannot be read off", "No node list was uploaded"):
        assert any(word in text for text in warnings), word
    steward, at = at_console(tenant), f"/console/datasets/{dataset_id}/schema"
    page = html.unescape(steward.get(at).text)
    assert page.index(warnings[0]) < page.index(CONFIRM)
    sent = {"schema": json.dumps(dataset["proposed_schema"]), "read_off": read_off}
    refused = steward.post(at, **sent, noted=warnings[1:])
    assert (refused.status_code, f"not ticked: {warnings[0]}" in html.unescape(refused.text)) == (422, True)
    assert steward.post(at, **sent, noted=warnings).status_code == 303
    kept = {"person": "t", "read_off": sorted(read_off), "warnings": warnings}
    for work in (False, True):
        if work:
            tenant.work(Topic.INGEST, dataset["version"]["id"])
        version = tenant.call("GET", f"/datasets/{dataset_id}").json()["version"]
        assert version["ingest_report"]["confirmed"] == kept
    shown = html.unescape(steward.get(f"/console/datasets/{dataset_id}").text)
    assert "Its schema was confirmed by t." in shown
    assert warnings[0] in shown


def test_what_a_reading_saw_is_told_to_curators_alone(
    tenant: Tenant, stranger: Tenant, at_console: Callable[..., Steward]
):
    with capture_logs() as lines:
        dataset_id, dataset = proposed(tenant, people(6))
        assert SECRET in json.dumps(dataset["version"]["readings"])
        mapping = {"columns": "source=blip,target=dorn"}
        answer = tenant.call("POST", f"/datasets/{dataset_id}/reading", json=mapping)
        tenant.work(Topic.INGEST, answer.json()["id"])
        told = [
            tenant.call(method, path, role, **options).text
            for role in (Role.REQUESTER, Role.AUDITOR, Role.OPERATOR)
            for method, path, options in every_question(dataset_id, dataset["proposed_schema"])
        ]
        told += [
            stranger.call(method, path, **options).text
            for method, path, options in every_question(dataset_id, dataset["proposed_schema"])
        ]
        for role in (Role.REQUESTER, Role.AUDITOR):
            theirs = at_console(tenant, role)
            for page in ("", "/schema", "/upload"):
                told.append(theirs.get(f"/console/datasets/{dataset_id}{page}").text)
            told.append(theirs.post(f"/console/datasets/{dataset_id}/reading", part="edges").text)
    for text in [*told, json.dumps(lines, default=str)]:
        assert not words_in(text), text


def test_what_is_refused_names_no_cell_in_the_log(tenant: Tenant):
    with capture_logs() as lines:
        dataset_id = tenant.register()["id"]  # its schema has 60 numbered persons, and no more columns
        received = tenant.upload(dataset_id, people(7))
        tenant.work(Topic.INGEST, received.json()["id"])
        assert tenant.call("GET", f"/datasets/{dataset_id}").json()["state"] == "rejected"
        seen = tenant.call("GET", f"/datasets/{dataset_id}", Role.REQUESTER).text
    assert not words_in(seen)
    assert not words_in(json.dumps(lines, default=str))


def every_question(dataset_id: str, schema: dict[str, Any] | None) -> list[tuple[str, str, dict[str, Any]]]:
    """Whatever somebody may ask of a dataset."""
    job = {"dataset_id": dataset_id, "epsilon": "0.5"}
    return [
        ("GET", "/datasets", {}),
        ("GET", f"/datasets/{dataset_id}", {}),
        ("GET", f"/datasets/{dataset_id}/budget", {}),
        ("GET", f"/datasets/{dataset_id}/ledger", {}),
        ("GET", f"/datasets/{dataset_id}/policy", {}),
        ("POST", f"/datasets/{dataset_id}/reading", {"json": {"header": False}}),
        ("PUT", f"/datasets/{dataset_id}/schema", {"json": {"node_types": [{"name": "p", "count": 3}]}}),
        ("POST", "/jobs?dry_run=true", {"json": job}),
        ("POST", "/jobs", {"json": job, "headers": {"Idempotency-Key": "asked"}}),
    ]


def words_in(text: str) -> list[str]:
    """What only the file says: a cell, or a column's name."""
    return [word for word in (SECRET, "blip", "crux", "dorn", "fend") if word in text]


def test_the_console_says_how_a_file_is_written(tenant: Tenant, at_console: Callable[..., Steward]):
    """Letters, delimiter, decimal mark, the order of dates: as it is sent, and once it was read."""
    dataset_id = tenant.register(graph_schema=None)["id"]
    steward, at = at_console(tenant), f"/console/datasets/{dataset_id}/upload"
    days = [f"0{number % 9 + 1}/0{number % 8 + 1}/2024" for number in range(40)]
    rows = "".join(f"José{number % 5};Zoë{number % 7};{number},5;{day}\n" for number, day in enumerate(days))
    content = ("source;target;weight;time\n" + rows).encode("latin-1")
    page = steward.get(at).text
    for name in ("encoding", "delimiter", "header", "decimal", "dates"):
        assert f'<select id="f-{name}" name="{name}"><option value="">' in page
    fields = {"part": "edges", "format": "csv", "encoding": "latin-1", "delimiter": "", "dates": "mdy"}
    sent = steward.client.post(
        at, data={"csrf": csrf_in(page), **fields}, files={"file": ("edges.csv", content)}
    )
    assert sent.status_code == 303, sent.text
    version = tenant.call("GET", f"/datasets/{dataset_id}").json()["version"]["id"]
    tenant.work(Topic.INGEST, version)

    def dialect() -> dict[str, Any]:
        (reading,) = tenant.call("GET", f"/datasets/{dataset_id}").json()["version"]["readings"]
        return dict(reading["dialect"])

    assert dialect() == dialect() | {"encoding": "latin-1", "delimiter": ";", "decimal": ","}
    page = steward.get(f"/console/datasets/{dataset_id}/schema").text
    assert "<option selected>latin-1</option>" in page
    assert '<option value="mdy" selected>the month</option>' in page
    chosen = {f"role-{place}": role for place, role in enumerate(("source", "target", "value", "time"), 1)}
    again = steward.post(
        f"/console/datasets/{dataset_id}/reading",
        **{"part": "edges", "encoding": "windows-1252", "dates": "dmy", "decimal": ",", **chosen},
    )
    assert again.status_code == 303, again.text
    tenant.work(Topic.INGEST, version)
    assert dialect()["encoding"] == "windows-1252"
    assert (
        '<option value="dmy" selected>the day</option>'
        in steward.get(f"/console/datasets/{dataset_id}/schema").text
    )


@pytest.mark.parametrize(
    ("form", "letters", "content"),
    [
        ("csv", "latin-1", "source,target\nJos\u00e9,Ana\nAna,Zo\u00eb\n"),
        ("pajek", "latin-1", '*Vertices 3\n1 "Jos\u00e9"\n2 "Ana"\n3 "Zo\u00eb"\n*Edges\n1 2\n2 3\n'),
    ],
)
def test_letters_are_said_by_name(tenant: Tenant, form: str, letters: str, content: str):
    dataset_id = tenant.register(graph_schema=None)["id"]
    query = f"part=edges&format={form}&encoding={letters}"
    received = tenant.upload(dataset_id, content.encode(letters), query)
    assert received.status_code == 200, received.text
    tenant.work(Topic.INGEST, received.json()["id"])
    dataset = tenant.call("GET", f"/datasets/{dataset_id}").json()
    assert dataset["state"] == "proposed", dataset["version"]["findings"]
    assert dataset["version"]["ingest_report"]["nodes"] == {"node": 3}


def test_before_the_first_version_another_unit_is_a_new_dataset_with_the_rest_filled_in(
    tenant: Tenant, at_console: Callable[..., Steward]
):
    steward = at_console(tenant, Role.CURATOR, Role.REQUESTER)
    declared = steward.post(
        "/console/register", name="calls", unit="edge", epsilon="2.5", approval_above_epsilon="0.75"
    )
    at = declared.headers["Location"]
    fields = {"csrf": csrf_in(steward.get(at).text), "part": "edges", "format": "csv"}
    steward.client.post(at, data=fields, files={"file": ("edges.csv", EDGES)})
    dataset = at.removesuffix("/upload")
    version = tenant.call("GET", dataset.removeprefix("/console")).json()["version"]["id"]
    tenant.work(Topic.INGEST, version)
    (again,) = re.findall(r'href="(/console/register\?like=[^"]*)"', steward.get(f"{dataset}/schema").text)
    form = steward.get(again).text
    filled = dict(re.findall(r'<input[^>]*name="(\w+)"[^>]*value="([^"]*)"(?! checked)', form))
    assert filled["name"] == "calls 2"
    assert (filled["epsilon"], filled["approval_above_epsilon"]) == ("2.5", "0.75")
    assert 'value="edge" checked' in form
    other = steward.post(
        "/console/register", **{**filled, "unit": "pair", "public": "", "csrf": csrf_in(form)}
    )
    assert other.status_code == 303, other.text
    units = {each["name"]: each["unit"] for each in tenant.call("GET", "/datasets").json()["items"]}
    assert units == {"calls": "edge", "calls 2": "pair"}
    ready = tenant.ready()
    assert "register?like=" not in steward.get(f"/console/datasets/{ready}/schema").text
    assert steward.get("/console/register?like=ds_none").status_code == 404
