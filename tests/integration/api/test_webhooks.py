"""Webhooks over HTTP: who may, what is shown, and the walls between tenants."""

from __future__ import annotations

import pytest

from core.identity.models import Role
from tests.integration.api.conftest import Tenant

BODY = {"url": "https://hooks.example.org/graphveil", "events": ["job.published", "job.failed"]}


def added(tenant: Tenant, *roles: Role) -> dict[str, object]:
    answer = tenant.call("POST", "/webhooks", *(roles or (Role.CURATOR,)), json=BODY)
    assert answer.status_code == 201, answer.text
    return answer.json()


def test_a_webhook_from_its_adding_to_its_end(tenant: Tenant) -> None:
    answer = tenant.call("POST", "/v1/webhooks", Role.OPERATOR, json=BODY)
    hook = answer.json()
    assert answer.headers["location"] == f"/v1/webhooks/{hook['id']}"
    assert answer.headers["cache-control"] == "no-store"
    assert str(hook["secret"]).startswith("whsec_")
    assert (hook["state"], hook["failures"], hook["disabled_at"]) == ("enabled", 0, None)
    path = f"/webhooks/{hook['id']}"
    shown = tenant.call("GET", path, Role.CURATOR).json()
    assert shown == hook | {"secret": None}
    assert tenant.call("GET", "/webhooks").json() == {"items": [shown], "next_cursor": None}

    rotated = tenant.call("POST", f"{path}/rotate").json()
    assert rotated["secret"] not in (None, hook["secret"])
    sent = tenant.call("POST", f"{path}/test")
    assert (sent.status_code, sent.json()["state"], sent.json()["event"]) == (202, "pending", "webhook.test")
    listed = tenant.call("GET", f"{path}/deliveries").json()
    assert [one["id"] for one in listed["items"]] == [sent.json()["id"]]
    assert tenant.call("GET", f"{path}/deliveries?state=delivered").json()["items"] == []
    retried = tenant.call("POST", f"{path}/deliveries/{sent.json()['id']}/retry")
    assert (retried.status_code, retried.json()["state"]) == (202, "pending")
    assert tenant.call("POST", f"{path}/enable").json()["state"] == "enabled"

    assert tenant.call("DELETE", path).status_code == 204
    for method, gone in (("GET", path), ("DELETE", path), ("GET", f"{path}/deliveries")):
        assert tenant.call(method, gone).json()["type"] == "/problems/not-found"


def test_pages_go_on_behind_their_cursor_in_their_own_list_alone(tenant: Tenant, stranger: Tenant) -> None:
    ids = [added(tenant)["id"] for _ in range(3)]
    first = tenant.call("GET", "/webhooks?limit=2").json()
    rest = tenant.call("GET", f"/webhooks?limit=2&cursor={first['next_cursor']}").json()
    assert [one["id"] for one in (*first["items"], *rest["items"])] == ids[::-1]
    assert rest["next_cursor"] is None
    for who, path in ((stranger, "/webhooks"), (tenant, "/jobs"), (tenant, f"/webhooks/{ids[0]}/deliveries")):
        refused = who.call("GET", f"{path}?cursor={first['next_cursor']}")
        assert (refused.status_code, refused.json()["errors"][0]["field"]) == (422, "cursor")


@pytest.mark.parametrize(
    ("changed", "field"),
    [
        ({"url": "http://hooks.example.org/"}, "url"),
        ({"url": "https://127.0.0.1/"}, "url"),
        ({"url": "https://169.254.169.254/latest/meta-data"}, "url"),
        ({"url": "https://hooks.example.org:8000/"}, "url"),
        ({"events": []}, "events"),
        ({"events": ["job.running"]}, "events"),
        ({"events": "job.published"}, "events"),
        ({"secret": "mine"}, "secret"),
    ],
)
def test_what_cannot_be_added_names_its_field(tenant: Tenant, changed: dict[str, object], field: str) -> None:
    answer = tenant.call("POST", "/webhooks", json=BODY | changed)
    assert (answer.status_code, answer.json()["errors"][0]["field"]) == (422, field)


@pytest.mark.parametrize("role", [Role.REQUESTER, Role.AUDITOR])
def test_curators_and_operators_alone_may(tenant: Tenant, role: Role) -> None:
    for method, path in (
        ("POST", "/webhooks"),
        ("GET", "/webhooks"),
        ("GET", "/webhooks/wh_1"),
        ("DELETE", "/webhooks/wh_1"),
        ("POST", "/webhooks/wh_1/enable"),
        ("POST", "/webhooks/wh_1/rotate"),
        ("POST", "/webhooks/wh_1/test"),
        ("GET", "/webhooks/wh_1/deliveries"),
        ("POST", "/webhooks/wh_1/deliveries/whd_1/retry"),
    ):
        answer = tenant.call(method, path, role, json=BODY if path == "/webhooks" else None)
        assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden")


def test_another_tenants_webhook_does_not_exist(tenant: Tenant, stranger: Tenant) -> None:
    hook = added(tenant)
    delivery = tenant.call("POST", f"/webhooks/{hook['id']}/test").json()
    mine = added(stranger)
    for webhook_id in (hook["id"], "wh_none"):
        for method, rest in (
            ("GET", ""),
            ("DELETE", ""),
            ("POST", "/enable"),
            ("POST", "/rotate"),
            ("POST", "/test"),
            ("GET", "/deliveries"),
            ("POST", f"/deliveries/{delivery['id']}/retry"),
        ):
            answer = stranger.call(method, f"/webhooks/{webhook_id}{rest}")
            assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found")
    crossed = stranger.call("POST", f"/webhooks/{mine['id']}/deliveries/{delivery['id']}/retry")
    assert crossed.status_code == 404
    assert [one["id"] for one in stranger.call("GET", "/webhooks").json()["items"]] == [mine["id"]]
