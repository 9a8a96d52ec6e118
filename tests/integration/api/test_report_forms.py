"""The report's forms over HTTP: editions by role, formats, tags, and what is refused."""

from __future__ import annotations

import json

import pytest

from api.schemas.reports import CuratorReport, ServedReport
from core.identity.models import Role
from core.outbox.models import Topic
from tests.integration.api.conftest import Tenant

FORMS = {
    "report.html": "text/html; charset=utf-8",
    "report.md": "text/markdown; charset=utf-8",
    "card.md": "text/markdown; charset=utf-8",
    "metadata/dcat": "application/ld+json",
    "metadata/croissant": "application/ld+json",
    "metadata/openlineage": "application/json",
    "metadata/deployment": "application/json",
}
CATALOGUES = [form for form in FORMS if not form.startswith("report")]
every_form = pytest.mark.parametrize("form", FORMS)


@every_form
@pytest.mark.parametrize("role", [Role.CURATOR, Role.REQUESTER])
def test_every_form_has_its_type_and_its_tag(house: Tenant, published_job: str, form: str, role: Role):
    path = f"/jobs/{published_job}/{form}"
    answer = house.call("GET", path, role)
    assert answer.status_code == 200, answer.text
    assert answer.headers["Content-Type"] == FORMS[form]
    assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert answer.headers["Cache-Control"] == "private, no-cache"
    assert house.call("GET", path, role).content == answer.content
    held = house.call("GET", path, role, headers={"If-None-Match": answer.headers["ETag"]})
    assert (held.status_code, held.content) == (304, b"")
    assert held.headers["ETag"] == answer.headers["ETag"]
    other = house.call("GET", path, role, headers={"If-None-Match": '"other"'})
    assert other.status_code == 200


def test_a_page_may_run_and_load_nothing(house: Tenant, published_job: str):
    policy = house.call("GET", f"/jobs/{published_job}/report.html").headers["Content-Security-Policy"]
    directives = dict(part.strip().partition(" ")[::2] for part in policy.split(";"))
    assert directives["default-src"] == "'none'"
    assert directives["style-src"] == "'unsafe-inline'"
    assert directives["img-src"] == "data:"
    assert {directives[name] for name in ("base-uri", "form-action", "frame-ancestors")} == {"'none'"}
    assert "script-src" not in directives


def test_one_address_serves_json_page_and_markdown(house: Tenant, published_job: str):
    path = f"/jobs/{published_job}/report"
    browser = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8"
    served = {
        accept: house.call("GET", path, headers={"Accept": accept})
        for accept in ("*/*", "application/json", browser, "text/markdown")
    }
    types = [answer.headers["Content-Type"].partition(";")[0] for answer in served.values()]
    assert types == ["application/json", "application/json", "text/html", "text/markdown"]
    assert {answer.headers["Vary"] for answer in served.values()} == {"Accept"}
    assert len({answer.headers["ETag"] for answer in served.values()}) == 3
    assert served[browser].content == house.call("GET", f"{path}.html").content
    assert served["text/markdown"].content == house.call("GET", f"{path}.md").content
    tag = served["*/*"].headers["ETag"]
    assert house.call("GET", path, headers={"If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize("form", ["report.html", "report.md"])
def test_only_curators_are_shown_the_comparison(house: Tenant, published_job: str, form: str):
    curators, requesters = (
        house.call("GET", f"/jobs/{published_job}/{form}", role).text
        for role in (Role.CURATOR, Role.REQUESTER)
    )
    report = house.call("GET", f"/jobs/{published_job}/report", Role.CURATOR).json()
    assert report["curator"]["status"] == "done"
    edges = report["curator"]["comparison"]["edge_types"][0]["means"]["scalars"]["edges"]
    assert curators != requesters
    assert "relative error" in curators.lower()
    assert "relative error" not in requesters.lower()
    assert f"{edges['original']:.0f}" in curators
    if form == "report.md":
        assert "**Curator edition" in curators
        assert "**Public edition" in requesters


def test_every_edition_says_what_the_dataset_is_called(house: Tenant, published_job: str):
    report = house.call("GET", f"/jobs/{published_job}/report", Role.REQUESTER).json()["public"]
    dataset = house.call("GET", f"/datasets/{report['provenance']['dataset_id']}").json()
    assert report["provenance"]["dataset_name"] == dataset["name"]
    assert f"<h1>{dataset['name']}</h1>" in house.call("GET", f"/jobs/{published_job}/report.html").text
    assert dataset["name"] in house.call("GET", f"/jobs/{published_job}/report.md").text.splitlines()[0]
    # The stored part does not name it: a dataset is called otherwise without a new release.
    stored = house.call("GET", f"/jobs/{published_job}/artifacts/public.json").json()
    assert stored["provenance"]["dataset_name"] is None
    assert "scores" not in report
    assert report["precision"] == stored["precision"] != []


@pytest.mark.parametrize("form", CATALOGUES)
def test_a_catalogue_is_told_the_same_by_everyone(house: Tenant, published_job: str, form: str):
    curators, requesters = (
        house.call("GET", f"/jobs/{published_job}/{form}", role).content
        for role in (Role.CURATOR, Role.REQUESTER)
    )
    assert curators == requesters
    assert b"charged" not in curators.replace(b"charged to the same budget account", b"")


def test_addresses_are_those_of_the_public_service(house: Tenant, published_job: str):
    found = house.call("GET", f"/jobs/{published_job}/metadata/dcat").json()
    base = house.services.settings.public_url
    assert found["@id"] == f"{base}/v1/jobs/{published_job}"
    listed = {a["name"]: a for a in house.call("GET", f"/jobs/{published_job}/artifacts").json()["items"]}
    for file in found["dcat:distribution"]:
        url = file["dcat:downloadURL"]["@id"]
        artifact = listed[file["dct:title"]["@value"]]
        assert file["spdx:checksum"]["spdx:checksumValue"]["@value"] == artifact["sha256"]
        assert house.call("GET", url.removeprefix(base)).headers["ETag"] == f'"{artifact["sha256"]}"'


def test_the_publishers_words_are_taken_from_the_query(house: Tenant, published_job: str):
    said = {"title": "Mail 2024", "publisher": "City Hospital", "license": "https://h.example/by"}
    croissant = house.call("GET", f"/jobs/{published_job}/metadata/croissant", params=said).json()
    assert (croissant["name"], croissant["license"]) == ("Mail 2024", "https://h.example/by")
    assert croissant["creator"]["name"] == "City Hospital"
    assert (
        "Published by City Hospital." in house.call("GET", f"/jobs/{published_job}/card.md", params=said).text
    )


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("metadata/pdf", "form"),
        ("metadata/DCAT", "form"),
        ("metadata/dcat?license=javascript:alert(1)", "license"),
        ("metadata/deployment?publisher_type=Church", "publisher_type"),
        ("card.md?colour=red", "colour"),
    ],
)
def test_unknown_forms_and_words_are_refused(house: Tenant, published_job: str, path: str, field: str):
    answer = house.call("GET", f"/jobs/{published_job}/{path}")
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-input")
    assert answer.json()["errors"][0]["field"] == field


@every_form
def test_an_auditor_and_a_stranger_are_given_nothing(
    house: Tenant, stranger: Tenant, published_job: str, form: str
):
    assert house.call("GET", f"/jobs/{published_job}/{form}", Role.AUDITOR).status_code == 403
    for caller, job in ((stranger, published_job), (house, "job_none")):
        answer = caller.call("GET", f"/jobs/{job}/{form}")
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")


@every_form
def test_a_job_that_runs_has_no_form_yet_and_a_cancelled_one_never(
    house: Tenant, ready_dataset: str, form: str
):
    job_id = house.submit(ready_dataset).json()["id"]
    waiting = house.call("GET", f"/jobs/{job_id}/{form}")
    assert (waiting.status_code, waiting.json()) == (202, {"job_id": job_id, "state": "queued"})
    assert waiting.headers["Retry-After"] == "1"
    assert waiting.headers["Cache-Control"] == "private, no-cache"
    held = {"If-None-Match": waiting.headers["ETag"]}
    assert house.call("GET", f"/jobs/{job_id}/{form}", headers=held).status_code == 304
    assert house.call("POST", f"/jobs/{job_id}/cancel").status_code == 202
    ended = house.call("GET", f"/jobs/{job_id}/{form}", headers=held)
    assert (ended.status_code, ended.json()["type"]) == (409, "/problems/job-failed")


def test_a_curator_is_told_that_the_comparison_is_pending(tenant: Tenant):
    job_id = tenant.submit(tenant.ready()).json()["id"]
    tenant.work(Topic.RUN, job_id)
    assert tenant.call("GET", f"/jobs/{job_id}/report").json()["curator"] == {"status": "pending"}
    told = "The comparison with the original is not finished"
    assert told in tenant.call("GET", f"/jobs/{job_id}/report.md", Role.CURATOR).text
    assert told not in tenant.call("GET", f"/jobs/{job_id}/report.md", Role.REQUESTER).text


def test_the_day_of_a_release_is_all_that_is_told_of_its_time(house: Tenant, published_job: str):
    charged_at = house.call("GET", f"/jobs/{published_job}/report", Role.CURATOR).json()["public"]["charge"][
        "charged_at"
    ]
    event = house.call("GET", f"/jobs/{published_job}/metadata/openlineage").json()
    assert event["eventTime"] == f"{charged_at[:10]}T00:00:00Z"
    for form in CATALOGUES:
        text = json.dumps(house.call("GET", f"/jobs/{published_job}/{form}").text)
        assert charged_at[11:19] not in text


@pytest.mark.parametrize("role", [Role.REQUESTER, Role.CURATOR])
def test_the_description_of_the_api_says_what_a_report_holds(
    house: Tenant, published_job: str, role: Role
) -> None:
    told = house.call("GET", f"/jobs/{published_job}/report", role).json()
    described = ServedReport.model_validate(told)
    assert isinstance(described.curator, CuratorReport | None)
    assert (described.curator is not None) == (role is Role.CURATOR)
    document = house.call("GET", "/openapi.json").json()
    answer = document["paths"]["/v1/jobs/{job_id}/report"]["get"]["responses"]["200"]
    assert answer["content"]["application/json"]["schema"] == {"$ref": "#/components/schemas/ServedReport"}
    assert set(document["components"]["schemas"]["ServedReport"]["properties"]) >= set(told)
