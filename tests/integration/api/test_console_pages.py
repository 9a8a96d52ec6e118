"""What pages show whom, what their forms do, and how little they ask of the database."""

from __future__ import annotations

import html
import json
import re
import secrets
from collections.abc import Callable
from html.parser import HTMLParser
from typing import Any

import pytest

from core.identity.models import Role
from core.outbox.models import Topic
from core.reports.pushes import catalogues
from core.workflows.common.context import Services
from graphveil.pages.numbers import at_most
from graphveil.risk import rows
from tests.integration.api.conftest import EDGES, Tenant
from tests.integration.api.test_round_trips import statements
from tests.support.console import Steward, csrf_in, routes

SignedIn = Callable[..., Steward]
C, R, A, O = Role.CURATOR, Role.REQUESTER, Role.AUDITOR, Role.OPERATOR  # noqa: E741

SECRET = "eyJhbGciOi.secret-of-the-catalogue"
ALLOWED = {
    "GET /console": {C, R, A, O},
    "POST /console/sign-out": {C, R, A, O},
    "GET /console/register": {C},
    "POST /console/register": {C},
    "GET /console/datasets": {C, R, A},
    "GET /console/datasets/{dataset_id}": {C, R, A},
    "POST /console/datasets/{dataset_id}/grants": {C},
    "POST /console/datasets/{dataset_id}/policy": {C},
    "GET /console/datasets/{dataset_id}/upload": {C},
    "POST /console/datasets/{dataset_id}/upload": {C},
    "GET /console/datasets/{dataset_id}/schema": {C},
    "POST /console/datasets/{dataset_id}/schema": {C},
    "POST /console/datasets/{dataset_id}/reading": {C},
    "GET /console/datasets/{dataset_id}/release": {C, R},
    "GET /console/datasets/{dataset_id}/verify": {C, A},
    "GET /console/datasets/{dataset_id}/stream": {C, R},
    "POST /console/datasets/{dataset_id}/unblock": {C},
    "POST /console/jobs": {C, R},
    "GET /console/jobs": {C, R},
    "GET /console/jobs/{job_id}": {C, R},
    "GET /console/jobs/{job_id}/stages": {C, R},
    "GET /console/jobs/{job_id}/events": {C, R},
    "POST /console/jobs/{job_id}/cancel": {C, R},
    "POST /console/jobs/{job_id}/samples": {C, R},
    "POST /console/jobs/{job_id}/approve": {C},
    "POST /console/jobs/{job_id}/reject": {C},
    "GET /console/jobs/{job_id}/files/{name}": {C, R},
    "GET /console/jobs/{job_id}/report.json": {C, R},
    "GET /console/jobs/{job_id}/release.zip": {C, R},
    "GET /console/jobs/{job_id}/evidence.zip": {C, R},
    "GET /console/approvals": {C, A},
    "POST /console/proposals/{proposal_id}/approve": {C},
    "POST /console/proposals/{proposal_id}/reject": {C},
    "POST /console/proposals/{proposal_id}/withdraw": {C},
    "GET /console/streams": {C, R, A},
    "POST /console/streams": {C, R},
    "GET /console/streams/{stream_id}": {C, R, A},
    "POST /console/streams/{stream_id}/close": {C, R},
    "GET /console/ledger": {C, A, O},
    "GET /console/keys": {O},
    "POST /console/keys": {O},
    "POST /console/keys/{key_id}/revoke": {O},
    "POST /console/sessions/{session_id}/end": {O},
    "GET /console/audits": {C, R, A},
    "POST /console/audits": {C, R, A},
    "GET /console/audits/{audit_id}": {C, R, A},
    "GET /console/webhooks": {C, O},
    "POST /console/webhooks": {C, O},
    "GET /console/webhooks/{webhook_id}": {C, O},
    "POST /console/webhooks/{webhook_id}/rotate": {C, O},
    "POST /console/webhooks/{webhook_id}/delete": {C, O},
    "POST /console/webhooks/{webhook_id}/enable": {C, O},
    "POST /console/webhooks/{webhook_id}/test": {C, O},
}
OPEN = {
    "GET /console/static/{digest}/{name}",
    "GET /console/sign-in",
    "POST /console/sign-in",
    "GET /console/sign-in/issuer",
    "GET /console/sign-in/callback",
    "GET /console/{path:path}",
}
PLACES = ("", "/datasets", "/jobs", "/approvals", "/streams", "/audits", "/ledger", "/webhooks", "/keys")


def test_the_table_of_who_may_what_names_every_page():
    assert {f"{method} {path}" for method, path in routes()} == {*ALLOWED, *OPEN}


def test_every_page_leads_to_the_sign_in_whoever_is_not_signed_in(app: Any):
    stranger = Steward(app)
    for each in ALLOWED:
        method, path = each.split(" ", 1)
        answer = stranger.client.request(method, re.sub(r"\{\w+\}", "x", path))
        assert answer.status_code == 303, each
        assert answer.headers["Location"].startswith("/console/sign-in"), each


@pytest.mark.parametrize("role", list(Role))
def test_every_page_refuses_a_role_that_may_not_as_the_api_does(
    tenant: Tenant, at_console: SignedIn, role: Role
):
    steward = at_console(tenant, role)
    token = csrf_in(steward.get("/console").text)
    for each, roles in ALLOWED.items():
        method, path = each.split(" ", 1)
        if role in roles or path.endswith(("/events", "sign-out")):
            continue
        answer = steward.client.request(
            method, re.sub(r"\{\w+\}", "x", path), data={"csrf": token} if method == "POST" else None
        )
        assert (answer.status_code, "/problems/forbidden" in answer.text) == (403, True), each
    for each, roles in ALLOWED.items():
        method, path = each.split(" ", 1)
        if method == "GET" and role in roles and "{" not in path:
            assert steward.get(path).status_code == 200, each


def test_another_tenants_objects_have_no_page(
    house: Tenant,
    stranger: Tenant,
    ready_dataset: str,
    published_job: str,
    published_stream: str,
    at_console: SignedIn,
):
    steward = at_console(stranger, *Role)
    token = csrf_in(steward.get("/console").text)
    names = {"dataset_id": ready_dataset, "job_id": published_job, "stream_id": published_stream}
    for each in ALLOWED:
        method, path = each.split(" ", 1)
        if "{" not in path or path.startswith("/console/sessions"):
            continue
        theirs, nowhere = (
            path.format(
                **{**dict.fromkeys(("name", "proposal_id", "key_id", "audit_id", "webhook_id"), "x"), **ids}
            )
            for ids in (names, dict.fromkeys(names, "x_1"))
        )
        fields = {"csrf": token, "reason": "r", "epsilon": "1", "schema": "{}", "version": "1"}
        answers = [
            steward.client.request(method, at, data=fields if method == "POST" else None)
            if not at.endswith("/upload") or method == "GET"
            else steward.client.post(at, data=fields, files={"file": ("e.csv", EDGES)})
            for at in (theirs, nowhere)
        ]
        assert [answer.status_code for answer in answers] == [404, 404], each


class _Links(HTMLParser):
    """What a page names: where it leads, what it loads, and what it would run by itself."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []
        self.inline: list[str] = []
        self.ids: list[str] = []
        self._open = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        self._open = tag
        if "id" in given:
            self.ids.append(str(given["id"]))
        if tag in ("script", "img", "iframe") and given.get("src"):
            self.loaded.append(str(given["src"]))
        if tag == "link":
            self.loaded.append(str(given["href"]))
        self.inline += [name for name in given if name.startswith("on") or name == "style"]
        if str(given.get("href", "")).startswith("javascript:"):
            self.inline.append(str(given["href"]))

    def handle_data(self, data: str) -> None:
        if self._open in ("script", "style") and data.strip():
            self.inline.append(data)


def test_every_page_runs_and_loads_nothing_but_the_services_own_files(
    house: Tenant, ready_dataset: str, published_job: str, published_stream: str, at_console: SignedIn
):
    steward = at_console(house, *Role)
    paths = [
        *(f"/console{place}" for place in PLACES),
        "/console/register",
        f"/console/datasets/{ready_dataset}",
        f"/console/datasets/{ready_dataset}/release",
        f"/console/datasets/{ready_dataset}/upload",
        f"/console/datasets/{ready_dataset}/schema",
        f"/console/datasets/{ready_dataset}/verify",
        f"/console/jobs/{published_job}",
        f"/console/streams/{published_stream}",
        "/console/nothing-is-here",
    ]
    for path in paths:
        answer = steward.get(path)
        assert answer.status_code == (404 if path.endswith("here") else 200), (path, answer.text[-2000:])
        policy = answer.headers["Content-Security-Policy"]
        assert "script-src 'self'" in policy
        assert "unsafe" not in policy
        assert "frame-ancestors 'none'" in policy
        assert answer.headers["X-Frame-Options"] == "DENY"
        assert answer.headers["Cache-Control"] == "no-store"
        page = _Links()
        page.feed(answer.text)
        assert page.inline == [], path
        assert [each for each in page.loaded if not each.startswith(("/console/static/", "data:"))] == []
        assert len(page.ids) == len(set(page.ids)), (
            path,
            sorted(i for i in page.ids if page.ids.count(i) > 1),
        )
        for each in page.loaded:
            if each.startswith("/"):
                served = steward.get(each)
                assert served.status_code == 200
                assert "immutable" in served.headers["Cache-Control"]


def test_names_and_labels_are_shown_as_they_are_and_never_run(tenant: Tenant, at_console: SignedIn):
    hostile = '"><script>alert(1)</script><img src=x onerror=alert(2)>'
    dataset_id = tenant.ready()
    submitted = tenant.submit(dataset_id, "0.1", label=hostile)
    job_id = submitted.json()["id"]
    key = tenant.call("POST", "/keys", O, json={"name": hostile, "person": hostile, "roles": ["curator"]})
    steward = at_console(tenant, *Role)
    mine = Steward(steward.client.app, key.json()["token"])
    shown = [
        steward.get(path).text
        for path in (f"/console/jobs/{job_id}", "/console/jobs", "/console", "/console/keys")
    ]
    shown += [
        steward.get(f"/console/jobs?state={'x' * 30}&dataset_id=%22%3E%3Cscript%3E").text,
        steward.get(f"/console/datasets/{dataset_id}/release?epsilon=%22%3E%3Cscript%3E&edges=%3Cb%3E").text,
        steward.get("/console?done=%3Cscript%3Ealert(1)%3C/script%3E").text,
        steward.post("/console/keys", name=hostile).text,
        mine.get("/console").text,
    ]
    for text in shown:
        page = _Links()
        page.feed(text)
        assert page.inline == []
        assert "<script>" not in text
        assert "<img" not in text
    assert shown[0].count("&lt;script&gt;") >= 1


def test_a_steward_registers_uploads_plans_submits_and_a_second_person_approves(
    tenant: Tenant, at_console: SignedIn
):
    steward = at_console(tenant, C, R)
    declared = steward.post(
        "/console/register", name="contacts", unit="edge", epsilon="3", approval_above_epsilon="1"
    )
    assert declared.status_code == 303, declared.text
    at = declared.headers["Location"]
    dataset = at.removesuffix("/upload")

    def upload(content: str) -> Any:
        token = csrf_in(steward.get(at).text)
        fields = {"csrf": token, "part": "edges", "format": "csv", "delimiter": ""}
        return steward.client.post(at, data=fields, files={"file": ("edges.csv", content)})

    assert upload(EDGES).headers["Location"].endswith("?done=edges")
    work(tenant, dataset)
    assert "A schema was read off the upload" in steward.get(at).text
    listed = {
        state: dataset in steward.get(f"/console/datasets?state={state}").text
        for state in ("", "proposed", "registered", "ready")
    }
    assert listed == {"": True, "proposed": True, "registered": False, "ready": False}
    assert "/console/datasets?state=proposed" in steward.get("/console").text
    assert steward.get("/console/datasets?state=lost").status_code == 422
    page = steward.get(f"{dataset}/schema").text
    written = re.search(r"<textarea[^>]*>(.*?)</textarea>", page, re.DOTALL)
    assert written is not None
    broken = steward.post(f"{dataset}/schema", schema='{"node_types": 3}')
    assert broken.status_code == 422
    assert "node_types" in broken.text
    noted = [html.unescape(text) for text in re.findall(r'name="noted" value="([^"]*)"', page)]
    assert len(noted) == 3
    unnamed = steward.post(f"{dataset}/schema", schema=html.unescape(written[1]), noted=noted)
    assert unnamed.status_code == 422
    assert "read off the rows, and about to be public: the list of nodes" in html.unescape(unnamed.text)
    read_off = re.findall(r'name="read_off" value="(\w+)"', page)
    assert "node_list" in read_off
    looked = steward.post(f"{dataset}/schema", schema=html.unescape(written[1]), look="yes")
    assert looked.status_code == 200
    assert 'name="edge_types.0.directed"' in looked.text
    wrong = steward.post(f"{dataset}/schema", schema=html.unescape(written[1]), **{BOUND: "many"})
    assert (wrong.status_code, "is no number" in wrong.text) == (422, True)
    sent = {"schema": html.unescape(written[1]), "read_off": read_off, "noted": noted, BOUND: "9000"}
    confirmed = steward.post(f"{dataset}/schema", **sent)
    assert (
        tenant.call("GET", f"/datasets/{dataset.rpartition('/')[2]}").json()["graph_schema"]["edge_types"][0][
            "edge_bound"
        ]
        == 9000
    )
    assert confirmed.headers["Location"].endswith("?done=schema")
    work(tenant, dataset)
    assert "The dataset is ready" in steward.get(at).text

    menu = steward.get(f"{dataset}/release?epsilon=1.5&edges=170").text
    assert "Above the policy" in menu
    assert "Ask a second person for ε 1.5" in menu
    told = re.findall(r"<tr>.*?</tr>", menu.partition('id="risk"')[2].partition("</table>")[0], re.DOTALL)
    assert [re.findall(r'class="num">([^<]+)<', row) for row in told[1:]] == [
        [at_most(share) for share in row.after] for row in rows([("", "1.5", "0"), ("", "3", "0")])
    ]
    assert "What you get for ε 1.5" in menu
    asking = menu.partition('id="declared"')[0].partition('action="/console/jobs"')[2]
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', asking))
    answers = [steward.client.post("/console/jobs", data={**sent, "label": "spring"}) for _ in range(2)]
    assert len({answer.headers["Location"] for answer in answers}) == 1  # sent twice, made once
    job = answers[0].headers["Location"].partition("?")[0]
    job_id = job.rpartition("/")[2]

    own = steward.get("/console/approvals").text
    assert "Another curator decides" in own
    alone = steward.post(f"/console/jobs/{job_id}/approve", reason="mine")
    assert (alone.status_code, "/problems/second-person-needed" in alone.text) == (403, True)
    second = at_second(tenant, steward)
    assert second.post(f"/console/jobs/{job_id}/approve", reason=" ").status_code == 422
    assert second.post(f"/console/jobs/{job_id}/approve", reason="agreed").status_code == 303
    assert "Decided by curator-b: agreed" in steward.get(job).text
    tenant.work(Topic.RUN, job_id)
    shown = steward.get(job).text
    assert "The guarantee" in shown or 'id="guarantee"' in shown
    for name in re.findall(rf'href="{job}/files/([^"]+)"', shown):
        whole = steward.get(f"{job}/files/{name}").content
        assert whole
        rest = steward.get(f"{job}/files/{name}", headers={"Range": "bytes=1-"})
        assert (rest.status_code, rest.content) == (206, whole[1:])
    drawn = steward.post(f"{job}/samples", idempotency_key=secrets.token_hex(8), label="again")
    assert drawn.status_code == 303
    assert "A further sample of" in steward.get(drawn.headers["Location"]).text


BOUND = "edge_types.0.edge_bound"
"""A field of the schema's form."""


def test_a_catalogue_is_added_with_its_token_which_no_page_shows_again(tenant: Tenant, at_console: SignedIn):
    steward = at_console(tenant, C)
    form, asked = steward.get("/console/webhooks").text, {"url": "https://catalogue.example.org/api/"}
    for name in catalogues():
        assert f"<option>{name}</option>" in form
    refused = steward.post("/console/webhooks", **asked, catalogue="paper", token=SECRET)
    assert refused.status_code == 422
    assert SECRET not in refused.text
    added = steward.post("/console/webhooks", **asked, catalogue="openmetadata", token=SECRET)
    assert added.status_code == 200, added.text
    (path,) = set(re.findall(r'"(/console/webhooks/[^"/]+)"', added.text))
    shown = steward.get(path).text
    assert "<dd>openmetadata</dd>" in shown
    assert f"{path}/test" not in shown  # a catalogue has no place for a trial
    for page in (added.text, shown, steward.get("/console/webhooks").text):
        assert SECRET not in page
    (hook,) = tenant.call("GET", "/webhooks").json()["items"]
    assert (hook["catalogue"], hook["events"]) == ("openmetadata", ["job.published"])


def test_findings_are_shown_with_row_and_mend_to_curators_alone(tenant: Tenant, at_console: SignedIn):
    dataset_id = tenant.register()["id"]
    steward = at_console(tenant, C)
    at = f"/console/datasets/{dataset_id}/upload"
    token = csrf_in(steward.get(at).text)
    steward.client.post(
        at,
        data={"csrf": token, "part": "edges", "format": "csv"},
        files={"file": ("edges.csv", "source,target\n1,2\n3,9999\n")},
    )
    work(tenant, f"/console/datasets/{dataset_id}")
    page = steward.get(at).text
    assert "What is to be mended: 1" in page
    assert "9999" in page
    assert "9999" not in at_console(tenant, R).get(f"/console/datasets/{dataset_id}").text


@pytest.mark.parametrize(
    ("content_type", "body", "problem"),
    [
        ("text/plain", b"x", "invalid-input"),
        ("multipart/form-data", b"x", "invalid-input"),
        ("multipart/form-data; boundary=b", b"--b\r\nbroken", "invalid-input"),
        ("multipart/form-data; boundary=b", b"", "invalid-input"),
    ],
)
def test_what_is_no_form_with_a_file_uploads_nothing(
    house: Tenant, at_console: SignedIn, content_type: str, body: bytes, problem: str
):
    steward = at_console(house, C)
    dataset_id = house.register()["id"]
    answer = steward.client.post(
        f"/console/datasets/{dataset_id}/upload", content=body, headers={"Content-Type": content_type}
    )
    assert answer.status_code == 422
    assert f"/problems/{problem}" in answer.text
    assert house.call("GET", f"/datasets/{dataset_id}").json()["state"] == "registered"


def test_a_file_that_breaks_off_leaves_nothing_behind(house: Tenant, at_console: SignedIn):
    steward = at_console(house, C)
    dataset_id = house.register()["id"]
    at = f"/console/datasets/{dataset_id}/upload"
    token = csrf_in(steward.get(at).text)
    body = (
        f'--b\r\nContent-Disposition: form-data; name="csrf"\r\n\r\n{token}\r\n'
        '--b\r\nContent-Disposition: form-data; name="file"; filename="e.csv"\r\n\r\nsource,target\n1,2\n'
    ).encode()
    answer = steward.client.post(
        at, content=body, headers={"Content-Type": "multipart/form-data; boundary=b"}
    )
    assert answer.status_code == 422
    dataset = house.call("GET", f"/datasets/{dataset_id}").json()
    assert dataset["state"] == "registered"


def test_pages_take_few_statements_however_many_rows_there_are(
    house: Tenant, ready_dataset: str, published_job: str, at_console: SignedIn, api_services: Services
):
    steward = at_console(house, *Role)
    for path, most in (  # of which two ask again who is signed in, where that was seconds ago
        ("/console", 24),
        ("/console/datasets", 9),
        ("/console/datasets?sort=name", 9),
        ("/console/jobs", 6),
        ("/console/jobs?sort=created", 6),
        ("/console/approvals", 12),
        (f"/console/datasets/{ready_dataset}", 20),
        (f"/console/datasets/{ready_dataset}/release", 40),
        (f"/console/jobs/{published_job}", 25),
        ("/console/streams", 4),
        ("/console/ledger", 4),
        ("/console/webhooks", 4),
        ("/console/keys", 6),
    ):
        with statements(api_services) as sent:
            assert steward.get(path).status_code == 200
        assert len(sent) <= most, (path, len(sent))


def work(tenant: Tenant, dataset: str) -> None:
    """The worker validates the newest upload."""
    version = tenant.call("GET", f"/datasets/{dataset.rpartition('/')[2]}").json()["version"]
    tenant.work(Topic.INGEST, version["id"])


def at_second(tenant: Tenant, steward: Steward) -> Steward:
    """Another curator of the tenant."""
    key = tenant.call("POST", "/keys", O, json={"name": "b", "person": "curator-b", "roles": ["curator"]})
    return Steward(steward.client.app, key.json()["token"])


def test_the_page_of_a_schema_names_what_nodes_carry(tenant: Tenant, at_console: SignedIn):
    words = {"name": "words", "kind": "vector", "protection": "protected", "length": 8, "bounds": [0, 1]}
    attributes = [{"name": "topic", "protection": "public"}, {**words, "nonzero": 3}, {"name": "note"}]
    schema = {"node_types": [{"count": 5, "attributes": attributes}], "edge_types": [{}]}
    steward = at_console(tenant, C, R)
    declared = steward.post(
        "/console/register", name="papers", unit="edge", epsilon="3", schema=json.dumps(schema)
    )
    assert declared.status_code == 303, declared.text
    page = steward.get(declared.headers["Location"].removesuffix("/upload") + "/schema").text
    tags = [" ".join(each.split()) for each in re.findall(r'<span class="tag">(.*?)</span>', page, re.DOTALL)]
    assert tags == ["topic, public", "words: 8 numbers, 0 to 1, 3 not 0 at most, protected", "note, withheld"]


def test_methods_are_compared_and_taken_relation_by_relation(tenant: Tenant, at_console: SignedIn):
    edges = [f"{n},{(n + 1) % 9},{name}" for n in range(9) for name in ("knows", "calls")]
    schema = {
        "node_types": [{"name": "person", "count": 9}],
        "edge_types": [{"name": name, "source": "person", "target": "person"} for name in ("knows", "calls")],
    }
    dataset_id = tenant.ready("2", "\n".join(["source,target,type", *edges]) + "\n", graph_schema=schema)
    steward = at_console(tenant, C, R)
    at = f"/console/datasets/{dataset_id}/release?epsilon=1"
    page = html.unescape(steward.get(f"{at}&of=knows%3Ddcsbm&of=calls%3Danchored").text)
    assert "knows=dcsbm,calls=anchored,*=auto" in page
    assert re.findall(r'selected value="(.*?)"', page) == ["knows=dcsbm", "calls=anchored"]
    asking = page.partition('action="/console/jobs"')[2].partition("</form>")[0]
    sent = dict(re.findall(r'<input type="hidden" name="(\w+)" value="([^"]*)">', asking))
    job = steward.client.post("/console/jobs", data=sent).headers["Location"].partition("?")[0]
    named = tenant.call("GET", f"/datasets/{dataset_id}").json()["name"]
    assert f"<h1>{named} at ε 1 " in steward.get(job).text
    told = tenant.call("GET", f"/jobs/{job.rpartition('/')[2]}").json()
    assert (told["method"], set(told["parameters"]["structures"])) == ("composed", {"knows", "calls"})
    for wrong in ("of=knows%3Dprofiles", "method=knows%3D", "of=likes%3Ddcsbm"):
        answer = steward.get(f"{at}&{wrong}")
        assert answer.status_code == 200
        assert 'action="/console/jobs"' not in answer.text.partition('id="declared"')[0]
