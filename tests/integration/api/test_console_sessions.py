"""Signing in and out: who gets a session, what it is bound to, and what no other site can do with it."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from fastapi.testclient import TestClient
from sqlalchemy import text

from api.app import create_app
from api.console.session import own_path
from core.identity import service as identity
from core.identity.models import Role
from core.identity.oidc import at_hash
from core.workflows.common.context import Services
from tests.integration.api.conftest import Tenant
from tests.support import issuer as issuers
from tests.support.console import Steward, csrf_in, routes

SignedIn = Callable[..., Steward]


def test_a_key_opens_a_session_whose_token_is_nowhere_stored(app: Any, tenant: Tenant):
    steward = Steward(app)
    answer = steward.sign_in(tenant.token(Role.CURATOR), next="/console/datasets")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/datasets")
    flags = next(c for c in answer.headers.get_list("set-cookie") if "graphveil-session=" in c).lower()
    assert "httponly" in flags
    assert "samesite=lax" in flags
    assert "path=/" in flags
    with tenant.services.db.transaction() as session:
        rows = session.execute(text("SELECT * FROM console_sessions WHERE tenant = :t"), {"t": tenant.name})
        stored = str([tuple(row) for row in rows])
    assert tenant.name in stored
    assert steward.cookie is not None
    assert steward.cookie not in stored


def test_the_cookie_is_for_tls_alone_where_the_browser_speaks_it(app: Any, tenant: Tenant):
    browser = TestClient(app, base_url="https://testserver", follow_redirects=False)
    page = browser.get("/console/sign-in")
    sent = {"csrf": csrf_in(page.text), "key": tenant.token(Role.CURATOR)}
    answer = browser.post("/console/sign-in", data=sent)
    named = [c for c in answer.headers.get_list("set-cookie") if c.startswith("__Host-graphveil-session=")]
    assert len(named) == 1
    assert "secure" in named[0].lower()
    assert browser.get("/console").status_code == 200


@pytest.mark.parametrize("key", ["", "gv_" + "x" * 43, "no key at all"])
def test_what_is_no_key_signs_nobody_in(app: Any, key: str):
    steward = Steward(app)
    answer = steward.sign_in(key)
    assert answer.status_code == 401
    assert identity.REFUSED in answer.text
    assert steward.cookie is None
    assert steward.get("/console").headers["Location"] == "/console/sign-in?next=%2Fconsole"


def test_a_revoked_key_is_out_at_the_next_request(app: Any, tenant: Tenant, at_console: SignedIn):
    with tenant.services.db.transaction() as session:
        key, token = identity.create_key(session, tenant=tenant.name, name="k", roles=[Role.CURATOR])
        key_id = key.id
    steward = Steward(app, token)
    assert steward.get("/console").status_code == 200
    operator = at_console(tenant, Role.OPERATOR)
    assert operator.post(f"/console/keys/{key_id}/revoke").status_code == 303
    answer = steward.get("/console")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/sign-in?next=%2Fconsole")
    assert steward.get("/console/jobs", headers={"HX-Request": "true"}).headers["HX-Redirect"]


def test_roles_that_a_key_has_lost_are_gone_from_its_session(tenant: Tenant, at_console: SignedIn):
    steward = at_console(tenant, Role.REQUESTER)
    assert steward.get("/console/jobs").status_code == 200
    with tenant.services.db.transaction() as session:
        session.execute(text("UPDATE api_keys SET roles = '{auditor}' WHERE tenant = :t"), {"t": tenant.name})
    assert steward.get("/console/jobs").status_code == 403


@pytest.mark.parametrize(
    "change",
    ["ends_at = now()", "seen_at = now() - interval '1 hour'"],
    ids=["its time is over", "it stood idle"],
)
def test_a_session_ends_by_itself(tenant: Tenant, at_console: SignedIn, change: str):
    steward = at_console(tenant)
    assert steward.get("/console").status_code == 200
    with tenant.services.db.transaction() as session:
        session.execute(text(f"UPDATE console_sessions SET {change} WHERE tenant = :t"), {"t": tenant.name})
    assert steward.get("/console").status_code == 303


def test_use_keeps_a_session_but_not_beyond_its_end(tenant: Tenant, at_console: SignedIn):
    steward = at_console(tenant)
    lately = "seen_at > now() - interval '10 seconds'"
    read = text(f"SELECT {lately}, ends_at FROM console_sessions WHERE tenant = :t")
    with tenant.services.db.transaction() as session:
        ends = session.execute(read, {"t": tenant.name}).one()[1]
        session.execute(
            text("UPDATE console_sessions SET seen_at = now() - interval '5 minutes' WHERE tenant = :t"),
            {"t": tenant.name},
        )
    assert steward.get("/console").status_code == 200
    with tenant.services.db.transaction() as session:
        assert session.execute(read, {"t": tenant.name}).one() == (True, ends)


def test_a_sign_in_gives_a_new_session_whatever_cookie_was_there(app: Any, tenant: Tenant):
    steward = Steward(app)
    steward.plant("planted")
    steward.sign_in(tenant.token(Role.CURATOR))
    first = steward.cookie
    assert first != "planted"
    steward.sign_in(tenant.token(Role.CURATOR))
    assert steward.cookie not in (first, "planted")
    other = Steward(app)
    other.plant(first)
    assert other.get("/console").status_code == 303  # the session before has ended


def test_of_many_sessions_of_a_key_the_oldest_end(app: Any, tenant: Tenant):
    token = tenant.token(Role.CURATOR)
    first = Steward(app, token)
    for _ in range(tenant.services.settings.max_sessions):
        Steward(app, token)
    assert first.get("/console").status_code == 303


def test_signing_out_ends_the_session_on_the_server_and_pages_are_not_kept(app: Any, tenant: Tenant):
    steward = Steward(app, tenant.token(Role.CURATOR))
    held = steward.cookie
    shown = steward.get("/console")
    assert shown.headers["Cache-Control"] == "no-store"
    answer = steward.post("/console/sign-out")
    assert answer.headers["Location"] == "/console/sign-in?done=signed_out"
    assert answer.headers["Clear-Site-Data"] == '"cache"'
    steward.plant(held)
    assert steward.get("/console").status_code == 303


def test_an_operator_ends_anothers_session_of_its_tenant_alone(
    tenant: Tenant, stranger: Tenant, at_console: SignedIn
):
    steward, operator = at_console(tenant), at_console(tenant, Role.OPERATOR)
    page = operator.get("/console/keys").text
    (session_id, *_) = re.findall(r"/console/sessions/(ses_\w+)/end", page)
    assert at_console(stranger, Role.OPERATOR).post(f"/console/sessions/{session_id}/end").status_code == 404
    for each in set(re.findall(r"/console/sessions/(ses_\w+)/end", page)):
        if operator.get("/console").status_code == 200:
            operator.post(f"/console/sessions/{each}/end")
    assert steward.get("/console").status_code == 303 or operator.get("/console").status_code == 303


def test_forms_of_other_sessions_and_other_sites_are_refused(tenant: Tenant, at_console: SignedIn):
    one, other = at_console(tenant, Role.OPERATOR), at_console(tenant, Role.OPERATOR)
    theirs = csrf_in(other.get("/console/keys").text)
    mine = csrf_in(one.get("/console/keys").text)
    wanted = {"name": "forged", "roles": "operator"}
    for fields, headers in (
        (wanted, {}),
        ({**wanted, "csrf": ""}, {}),
        ({**wanted, "csrf": theirs}, {}),
        ({**wanted, "csrf": mine}, {"Sec-Fetch-Site": "cross-site"}),
        ({**wanted, "csrf": mine}, {"Sec-Fetch-Site": "same-site"}),
    ):
        answer = one.client.post("/console/keys", data=fields, headers=headers)
        assert answer.status_code == 403
        assert "/problems/form-refused" in answer.text
    assert "forged" not in one.get("/console/keys").text
    assert one.client.post("/console/keys", data={**wanted, "csrf": mine}).status_code == 200


def test_every_form_that_changes_anything_asks_for_its_token(app: Any, tenant: Tenant, at_console: SignedIn):
    steward = at_console(tenant, *Role)
    posts = [path for method, path in routes() if method == "POST"]
    assert len(posts) > 15
    for path in posts:
        sent = {"data": {"reason": "r"}}
        if path.endswith("/upload"):
            sent = {"files": {"file": ("e.csv", b"source,target\n")}}
        answer = steward.client.post(re.sub(r"\{\w+\}", "x", path), **sent)
        assert (answer.status_code, "/problems/form-refused" in answer.text) == (403, True), path


def test_the_sign_in_form_is_its_visitors_own(app: Any, tenant: Tenant):
    theirs = csrf_in(Steward(app).get("/console/sign-in").text)
    steward = Steward(app)
    steward.get("/console/sign-in")
    answer = steward.client.post("/console/sign-in", data={"csrf": theirs, "key": tenant.token(Role.CURATOR)})
    assert answer.status_code == 403
    assert steward.cookie is None


@pytest.mark.parametrize(
    "elsewhere",
    [
        "https://evil.example/console",
        "//evil.example/console",
        "/\\evil.example",
        "/console/../docs",
        "/console/%2E%2e/docs",
        "/console\r\nSet-Cookie: a=b",
        "javascript:alert(1)",
        "/console//evil.example",
        "/consoles",
        "/datasets",
    ],
)
def test_a_sign_in_leads_nowhere_but_into_the_console(app: Any, tenant: Tenant, elsewhere: str):
    assert own_path(elsewhere) == "/console"
    answer = Steward(app).sign_in(tenant.token(Role.CURATOR), next=elsewhere)
    assert answer.headers["Location"] == "/console"


def test_a_session_opens_no_route_of_the_api(tenant: Tenant, at_console: SignedIn):
    steward = at_console(tenant)
    assert steward.get("/datasets").status_code == 401
    assert steward.client.post("/datasets", json={}).status_code == 401


def test_guesses_from_one_address_are_counted_as_the_apis(api_settings: Any, tenant: Tenant):
    settings = api_settings.model_copy(update={"rate_limit_attempts_per_minute": 3})
    services = Services(tenant.services.db, tenant.services.store, settings)
    with TestClient(create_app(services), client=("203.0.113.77", 1)) as http:
        steward = Steward(http.app)
        steward.client = TestClient(http.app, client=("203.0.113.77", 1), follow_redirects=False)
        codes = [steward.sign_in("gv_" + "y" * 43).status_code for _ in range(4)]
        assert codes == [401, 401, 401, 429]
        assert "/problems/rate-limited" in steward.sign_in(tenant.token(Role.CURATOR)).text


@pytest.fixture(scope="module")
def issuer():
    with issuers.running() as running:
        running.add_rsa("k1")
        yield running


@pytest.fixture(scope="module")
def with_issuer(issuer: issuers.Issuer, api_settings: Any, api_services: Services):
    """A service whose console is a client of the issuer, which gives ``issuer.tokens`` for a code."""
    settings = api_settings.model_copy(
        update={
            "oidc_issuer": issuer.url,
            "oidc_audience": issuers.AUDIENCE,
            "oidc_timeout_seconds": 60.0,
            "oidc_client_id": "console",
            "public_url": "http://testserver",
        }
    )
    issuer.document = {
        "authorization_endpoint": issuer.url + "/authorize",
        "token_endpoint": issuer.url + "/token",
    }
    services = Services(api_services.db, api_services.store, settings)
    with TestClient(create_app(services), raise_server_exceptions=False) as http:
        yield http.app


def begun(steward: Steward, path: str = "/console/datasets") -> dict[str, str]:
    """What the browser was sent to the issuer with."""
    answer = steward.get(f"/console/sign-in/issuer?next={path}")
    assert answer.status_code == 303
    return {name: values[0] for name, values in parse_qs(urlsplit(answer.headers["Location"]).query).items()}


def give(issuer: issuers.Issuer, nonce: str, **changes: Any) -> None:
    """The issuer changes the next code for tokens of this nonce."""
    subject = {"tenant": "acme", "roles": ["curator"], **changes}
    issuer.tokens = {
        "id_token": issuer.token("k1", aud="console", nonce=nonce, **subject),
        "access_token": issuer.token("k1", **subject),
        "token_type": "Bearer",
    }


def test_a_code_of_the_issuer_opens_a_session(issuer: issuers.Issuer, with_issuer: Any):
    steward = Steward(with_issuer)
    asked = begun(steward)
    assert asked["response_type"] == "code"
    assert asked["code_challenge_method"] == "S256"
    assert asked["redirect_uri"] == "http://testserver/console/sign-in/callback"
    give(issuer, asked["nonce"], sub="curator-7")
    answer = steward.get(f"/console/sign-in/callback?code=c1&state={asked['state']}")
    assert (answer.status_code, answer.headers["Location"]) == (303, "/console/datasets")
    assert "curator-7, acme" in steward.get("/console").text
    sent = parse_qs(issuer.sent[-1])
    assert sent["code"] == ["c1"]
    assert issuers.challenge_of(sent["code_verifier"][0]) == asked["code_challenge"]


def test_the_access_token_that_an_id_token_names_is_taken(issuer: issuers.Issuer, with_issuer: Any):
    steward = Steward(with_issuer)
    asked = begun(steward)
    give(issuer, asked["nonce"])
    named = at_hash("RS256", issuer.tokens["access_token"]).decode()
    issuer.tokens["id_token"] = issuer.token(
        "k1", aud="console", nonce=asked["nonce"], tenant="acme", roles=["curator"], at_hash=named
    )
    answer = steward.get(f"/console/sign-in/callback?code=c1&state={asked['state']}")
    assert answer.status_code == 303


def test_the_hash_of_an_access_token_is_that_of_the_specification():
    # OpenID Connect Core 1.0, appendix A.4
    token = "jHkWEdUXMU1BwAsC4vtUsZwnNvTIxEl0z9K3vx5KF0Y"
    assert at_hash("RS256", token) == b"77QmUPtjPfzWtF2AnpK9RQ"
    assert len(at_hash("EdDSA", token)) == 43


@pytest.mark.parametrize(
    "wrong",
    ["state", "nonce", "audience", "subject", "access token", "other browser", "no code taken", "no role"],
)
def test_any_other_answer_of_the_issuer_opens_none(issuer: issuers.Issuer, with_issuer: Any, wrong: str):
    steward = Steward(with_issuer)
    asked = begun(steward)
    give(issuer, asked["nonce"] if wrong != "nonce" else "another")
    if wrong == "audience":
        issuer.tokens["id_token"] = issuer.token("k1", nonce=asked["nonce"], tenant="acme", roles=["curator"])
    if wrong == "subject":
        issuer.tokens["access_token"] = issuer.token("k1", sub="somebody-else", roles=["curator"])
    if wrong == "access token":
        id_token = issuer.token(
            "k1", aud="console", nonce=asked["nonce"], tenant="acme", roles=["curator"],
            at_hash=at_hash("RS256", "another").decode(),
        )  # fmt: skip
        issuer.tokens["id_token"] = id_token
    if wrong == "no code taken":
        issuer.tokens = None
    if wrong == "no role":
        give(issuer, asked["nonce"], roles=["reader-of-mail"])
    state = asked["state"] if wrong != "state" else "x" + asked["state"]
    at = steward if wrong != "other browser" else Steward(with_issuer)
    answer = at.get(f"/console/sign-in/callback?code=c2&state={state}")
    assert answer.status_code == (403 if wrong == "no role" else 401)
    assert at.cookie is None
