"""Keys over HTTP, who is calling, and tokens of an issuer at the door."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any

import pytest
from fastapi.testclient import TestClient
from starlette.routing import Mount
from structlog.testing import capture_logs

from api.app import create_app
from core.identity.models import Role
from core.workflows.common.context import Services
from tests.integration.api.conftest import Tenant
from tests.support import issuer

NEW = {"name": "portal", "roles": ["requester"], "person": "requester-a", "team": "epidemiology", "days": 30}
PAGES = {"/problems/{slug}", "/docs/{name}", "/docs/generators/{method}"}
OPEN = {
    "/",
    "/healthz",
    "/readyz",
    "/problems",
    "/docs",
    "/docs/start.js",
    "/handbook",
    "/openapi.json",
    "/postman.json",
    *PAGES,
}


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


@pytest.fixture(scope="module")
def idp() -> Iterator[issuer.Issuer]:
    with issuer.running() as running:
        running.add_rsa("r1")
        yield running


@pytest.fixture(scope="module")
def federated(api_services: Services, idp: issuer.Issuer) -> Iterator[TestClient]:
    """The service, trusting the issuer."""
    changes = {"oidc_issuer": idp.url, "oidc_audience": issuer.AUDIENCE, "oidc_team_claim": "team"}
    changes |= {"oidc_timeout_seconds": 60.0}  # the longest: a busy issuer is not away
    settings = api_services.settings.model_copy(update=changes)
    app = create_app(Services(api_services.db, api_services.store, settings))
    with TestClient(app, raise_server_exceptions=False) as client:
        yield client


def test_an_operator_makes_a_key_that_opens_its_tenant(http: TestClient, tenant: Tenant):
    with capture_logs() as lines:
        made = tenant.call("POST", "/keys", Role.OPERATOR, json=NEW)
    assert made.status_code == 201
    assert made.headers["Cache-Control"] == "no-store"
    key = made.json()
    assert re.fullmatch(r"gv_[A-Za-z0-9_-]{43}", key["token"])
    assert made.headers["Location"] == f"/keys/{key['id']}"
    me = http.get("/me", headers=bearer(key["token"])).json()
    assert (me["tenant"], me["key_id"], me["name"]) == (tenant.name, key["id"], "portal")
    assert (me["person"], me["team"], me["roles"]) == ("requester-a", "epidemiology", ["requester"])
    life = datetime.fromisoformat(me["expires_at"]) - datetime.fromisoformat(key["created_at"])
    assert life == timedelta(days=30)
    assert key["token"] not in str(lines)
    [line] = [line for line in lines if line["event"] == "key_created"]
    maker = tenant.call("GET", "/me", Role.OPERATOR).json()["key_id"]
    assert (line["key_id"], line["created_by"]) == (key["id"], maker)
    shown = tenant.call("GET", f"/keys/{key['id']}", Role.OPERATOR).json()
    assert shown == {name: value for name, value in key.items() if name != "token"}
    assert shown["created_by"] == maker


def test_a_caller_is_told_how_many_jobs_are_open(tenant: Tenant):
    settings, dataset_id = tenant.services.settings, tenant.ready()
    body = {"dataset_id": dataset_id, "epsilon": "0.1", "method": "edgerand"}
    job = tenant.call("POST", "/jobs", json=body, headers={"Idempotency-Key": "k"}).json()
    tenants = {"open": 1, "limit": settings.max_open_jobs}
    mine, auditors = tenant.call("GET", "/me").json(), tenant.call("GET", "/me", Role.AUDITOR).json()
    assert mine["open_jobs"] == {"open": 1, "limit": settings.max_open_key_jobs}
    assert auditors["open_jobs"] == {"open": 0, "limit": settings.max_open_key_jobs}
    assert mine["tenant_open_jobs"] == auditors["tenant_open_jobs"] == tenants
    tenant.call("POST", f"/jobs/{job['id']}/cancel")
    assert tenant.call("GET", "/me").json()["tenant_open_jobs"]["open"] == 0


def test_a_key_lives_as_long_as_the_settings_say(tenant: Tenant):
    settings = tenant.services.settings
    body = {"name": "k", "roles": ["auditor"]}
    made = tenant.call("POST", "/keys", Role.OPERATOR, json=body).json()
    life = datetime.fromisoformat(made["expires_at"]) - datetime.fromisoformat(made["created_at"])
    assert life == timedelta(days=settings.default_key_days)
    assert made["person"] == "k"
    long = {**body, "days": settings.max_key_days + 1}
    refused = tenant.call("POST", "/keys", Role.OPERATOR, json=long)
    assert refused.status_code == 422
    assert refused.json()["errors"][0]["field"] == "days"


@pytest.mark.parametrize(
    "changes",
    [
        {"roles": []},
        {"roles": ["admin"]},
        {"name": ""},
        {"name": " x"},
        {"name": "n" * 129},
        {"person": ""},
        {"person": "a\u200bb"},
        {"person": "a\x00b"},
        {"team": "No Slug"},
        {"days": 0},
        {"tenant": "another"},
        {"key_hash": "00"},
    ],
)
def test_what_makes_no_key(tenant: Tenant, changes: dict[str, object]):
    answer = tenant.call("POST", "/keys", Role.OPERATOR, json={**NEW, **changes})
    assert (answer.status_code, answer.json()["type"]) == (422, "/problems/invalid-input")


def test_only_operators_see_and_make_keys(tenant: Tenant):
    for role in (Role.CURATOR, Role.REQUESTER, Role.AUDITOR):
        for method, path in (("GET", "/keys"), ("POST", "/keys"), ("GET", "/keys/k"), ("DELETE", "/keys/k")):
            answer = tenant.call(method, path, role, json=NEW if method == "POST" else None)
            assert answer.status_code == 403, (role, method, path)
            assert answer.json()["required_roles"] == ["operator"]


def test_another_tenants_keys_do_not_exist(tenant: Tenant, stranger: Tenant):
    key = tenant.call("POST", "/keys", Role.OPERATOR, json=NEW).json()
    for method in ("GET", "DELETE"):
        theirs = stranger.call(method, f"/keys/{key['id']}", Role.OPERATOR)
        nowhere = stranger.call(method, "/keys/key_none", Role.OPERATOR)
        assert (theirs.status_code, nowhere.status_code) == (404, 404)
        assert theirs.json()["detail"] == nowhere.json()["detail"]
    ids = [item["id"] for item in stranger.call("GET", "/keys", Role.OPERATOR).json()["items"]]
    assert key["id"] not in ids
    assert tenant.call("GET", f"/keys/{key['id']}", Role.OPERATOR).json()["state"] == "active"


def test_a_revoked_key_is_shut_out_at_once_where_it_was_revoked(
    http: TestClient, api_services: Services, tenant: Tenant
):
    settings = api_services.settings.model_copy(update={"key_cache_seconds": 60})
    with TestClient(create_app(Services(api_services.db, api_services.store, settings))) as http:
        caller = Tenant(http, api_services, tenant._process)
        key = caller.call("POST", "/keys", Role.OPERATOR, json=NEW).json()
        assert http.get("/me", headers=bearer(key["token"])).status_code == 200
        for _ in range(2):
            assert caller.call("DELETE", f"/keys/{key['id']}", Role.OPERATOR).status_code == 204
        assert http.get("/me", headers=bearer(key["token"])).status_code == 401
        assert caller.call("GET", f"/keys/{key['id']}", Role.OPERATOR).json()["state"] == "revoked"


def test_the_list_goes_page_by_page_and_shows_no_token(tenant: Tenant):
    made = [tenant.call("POST", "/keys", Role.OPERATOR, json=NEW).json() for _ in range(4)]
    page = tenant.call("GET", "/keys", Role.OPERATOR, params={"limit": 2}).json()
    seen = page["items"]
    while cursor := page["next_cursor"]:
        page = tenant.call("GET", "/keys", Role.OPERATOR, params={"limit": 2, "cursor": cursor}).json()
        seen += page["items"]
    assert [key["id"] for key in made[::-1]] == [key["id"] for key in seen if key["name"] == "portal"]
    assert not any(key["token"][3:] in str(seen) for key in made)
    assert not any("hash" in name or "token" in name for name in seen[0])


def test_me_tells_what_may_still_be_asked(tenant: Tenant):
    first, second = (tenant.call("GET", "/me", Role.AUDITOR).json() for _ in range(2))
    assert first["requests"]["limit"] == tenant.services.settings.rate_limit_per_minute
    assert second["requests"]["remaining"] == first["requests"]["remaining"] - 1
    assert first["jobs"]["remaining"] == tenant.services.settings.rate_limit_jobs_per_minute
    assert first["expires_at"] is None


def test_a_token_opens_as_its_claims_say(federated: TestClient, idp: issuer.Issuer, tenant: Tenant):
    token = idp.token("r1", tenant=tenant.name, team="epi", roles=["curator"])
    me = federated.get("/me", headers=bearer(token)).json()
    assert (me["tenant"], me["person"], me["team"], me["roles"]) == (
        tenant.name,
        "user-1",
        "epi",
        ["curator"],
    )
    assert me["key_id"].startswith("oidc:")
    assert federated.get("/datasets", headers=bearer(token)).json()["items"] == []
    assert federated.get("/keys", headers=bearer(token)).status_code == 403


def test_a_tokens_deeds_are_those_of_its_subject(federated: TestClient, idp: issuer.Issuer, tenant: Tenant):
    tokens = [idp.token("r1", tenant=tenant.name, roles=["operator"], jti=str(n)) for n in range(2)]
    makers = {
        federated.post("/keys", headers=bearer(token), json=NEW).json()["created_by"] for token in tokens
    }
    assert makers == {federated.get("/me", headers=bearer(tokens[0])).json()["key_id"]}


def test_a_token_without_our_roles_may_look_at_itself_alone(federated: TestClient, idp: issuer.Issuer):
    token = idp.token("r1", roles=["reader-of-mail"])
    assert federated.get("/me", headers=bearer(token)).json()["roles"] == []
    for path in ("/datasets", "/jobs", "/streams", "/audits", "/keys"):
        answer = federated.get(path, headers=bearer(token))
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden"), path


def test_every_refusal_reads_the_same(federated: TestClient, idp: issuer.Issuer):
    tokens = [
        "gv_" + "x" * 43,
        "nonsense",
        idp.token("r1", exp=1),
        idp.token("r1", aud="another"),
        idp.token("r1", tenant="No Slug"),
        idp.sign(idp.claims(), "0" * 64, "HS256", "r1"),
        idp.sign(idp.claims(), None, "none", "r1"),
    ]
    answers = [federated.get("/me", headers=bearer(token)) for token in tokens]
    assert {answer.status_code for answer in answers} == {401}
    assert len({answer.json()["detail"] for answer in answers}) == 1


def test_keys_go_on_while_the_issuer_is_down(api_services: Services, idp: issuer.Issuer, tenant: Tenant):
    changes = {"oidc_issuer": "http://127.0.0.1:1", "oidc_audience": "a"}
    settings = api_services.settings.model_copy(update=changes)
    app = create_app(Services(api_services.db, api_services.store, settings))
    with TestClient(app, raise_server_exceptions=False) as http:
        answer = http.get("/me", headers=bearer(idp.token("r1")))
        assert (answer.status_code, answer.json()["type"]) == (503, "/problems/issuer-unavailable")
        assert int(answer.headers["Retry-After"]) >= 1
        assert Tenant(http, api_services, tenant._process).call("GET", "/me").status_code == 200


def test_tokens_open_nothing_where_no_issuer_is_trusted(http: TestClient, idp: issuer.Issuer):
    assert http.get("/me", headers=bearer(idp.token("r1"))).status_code == 401


def test_nothing_but_health_and_pages_answers_without_a_key(api_services: Services):
    """Every route that the app serves, found by walking it: a new one is closed until it says otherwise."""
    app = create_app(api_services)
    walked = 0
    with TestClient(app, raise_server_exceptions=False) as http:
        for path, methods in routes_of(app):
            if path in OPEN or path.startswith(
                "/console"
            ):  # test_console_pages walks those without a session
                continue
            address = re.sub(r"\{[^}]+\}", "x1", path)
            for method in methods:
                answer = http.request(method, address, headers={"Idempotency-Key": "k"})
                assert answer.status_code == 401, (method, path)
                assert answer.json()["type"] == "/problems/unauthenticated"
                walked += 1
        for path in OPEN - PAGES:
            assert http.get(path).status_code == 200, path
    assert walked > 80  # under both prefixes


def routes_of(router: Any, prefix: str = "") -> Iterator[tuple[str, set[str]]]:
    """Path and methods of every route, also of those that the document leaves out."""
    for route in router.routes:
        if isinstance(route, Mount):
            assert route.name in {"reference", "handbook"}  # folders of files that are open to everybody
        elif hasattr(route, "original_router"):
            yield from routes_of(route.original_router, prefix + route.include_context.prefix)
        else:
            yield prefix + route.path, route.methods - {"HEAD"}
