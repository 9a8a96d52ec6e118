"""Every operation succeeds for who may, as documented; refuses who may not, and whoever asks from outside."""

from __future__ import annotations

import importlib
import pkgutil
from typing import Any

import pytest
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from schemathesis.core.transport import Response
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api import routes
from core.identity.models import Role
from tests.integration.api.conftest import Tenant
from tests.support.stage import EVERYONE, Stage, document

CHECKS = [
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
OPERATIONS = {each.ok().label: each.ok() for each in document.get_all_operations()}
PROTECTED = sorted(label for label in OPERATIONS if " /v1/" in label)
BUCKETS_ONLY = {
    "POST /v1/datasets/{dataset_id}/uploads": "direct-upload-unavailable",
    "POST /v1/datasets/{dataset_id}/uploads/{upload_id}/complete": "not-found",
}
"""What they say where the storage is a folder; tests/integration/api/test_bucket.py has them succeed."""
ANY_TENANT = {"GET /v1/methods", "GET /v1/me", "GET /v1/ledger/public-keys"}
"""What every key may see, an operator's too, or what has no tenant's object behind it."""


def example(label: str) -> Any:
    """The first documented example of the operation's body."""
    method, path = label.split(" ")
    body = document.raw_schema["paths"][path][method.lower()].get("requestBody", {})
    content = body.get("content", {}).get("application/json", {})
    for shown in content.get("examples", {}).values():
        return shown["value"]
    return None


def case_of(stage: Stage, label: str) -> tuple[Any, bool]:
    """The operation as a call that should succeed, and whether the second person makes it."""
    members = {**stage.lasting, **stage.fresh(label)}
    operation = OPERATIONS[label]
    names = [parameter.name for parameter in operation.path_parameters]
    missing = [name for name in names if name not in members]
    assert not missing, f"tests/support/stage.py has no {missing} for {label}"
    options: dict[str, Any] = {"path_parameters": {name: members[name] for name in names}}
    options |= {"headers": members.get("headers", {}), "query": members.get("query", {})}
    body = members.get("body", example(label))
    if isinstance(body, dict) and "dataset_id" in body and "body" not in members:
        body = body | {"dataset_id": stage.dataset_id}
    if "content" in members:
        options |= {"body": members["content"], "media_type": "application/octet-stream"}
    elif body is not None:
        options |= {"body": body, "media_type": "application/json"}
    return operation.Case(**options), members.get("second", False)


def called(stage: Stage, case: Any, token: str | None) -> Response:
    """The answer, which is as documented."""
    headers = {"Authorization": f"Bearer {token}"} if token is not None else {}
    response = case.call(headers=headers)
    case.validate_response(response, checks=CHECKS)
    return response


def roles_of(dependant: Dependant) -> frozenset[Role] | None:
    """The roles, one of which the route asks for; None where any caller will do."""
    for inner in dependant.dependencies:
        function = inner.call
        if getattr(function, "__name__", "") == "allowed":
            cells = dict(zip(function.__code__.co_freevars, function.__closure__, strict=True))
            return frozenset(cells["roles"].cell_contents)
        found = roles_of(inner)
        if found is not None:
            return found
    return None


def allowed_roles() -> dict[str, frozenset[Role] | None]:
    """By operation, from the routes themselves."""
    modules = [
        importlib.import_module(f"api.routes.{found.name}") for found in pkgutil.iter_modules(routes.__path__)
    ]
    return {
        f"{method} /v1{route.path}": roles_of(route.dependant)
        for module in modules
        for route in module.router.routes
        if isinstance(route, APIRoute)
        for method in route.methods
    }


ALLOWED = allowed_roles()


@pytest.mark.parametrize("label", sorted(OPERATIONS))
def test_every_operation_succeeds_as_documented(label: str, stage: Stage) -> None:
    case, second = case_of(stage, label)
    response = called(stage, case, stage.second if second else stage.first)
    if label in BUCKETS_ONLY:
        assert response.json()["type"] == f"/problems/{BUCKETS_ONLY[label]}"
    else:
        assert 200 <= response.status_code < 300, response.text


@pytest.mark.parametrize("label", PROTECTED)
def test_nobody_and_whoever_lacks_the_role_are_refused(label: str, stage: Stage) -> None:
    case, _ = case_of(stage, label)
    for token in (None, "", "gv_" + "x" * 43):
        assert called(stage, case, token).status_code == 401, token
    roles = ALLOWED[label]
    for role in EVERYONE:
        if roles is not None and role not in roles:
            answer = called(stage, case, stage.tenant.token(role))
            assert (answer.status_code, answer.json()["type"]) == (403, "/problems/forbidden"), role


@pytest.mark.parametrize("label", PROTECTED)
def test_another_tenant_sees_nothing_and_changes_nothing(label: str, stage: Stage, stranger: Tenant) -> None:
    case, _ = case_of(stage, label)
    answer = called(stage, case, stranger.token(*EVERYONE))
    if any(name.endswith("_id") for name in case.path_parameters):
        assert (answer.status_code, answer.json()["type"]) == (404, "/problems/not-found"), answer.text
    elif case.method == "GET" and "items" in answer.json() and label not in ANY_TENANT | {"GET /v1/keys"}:
        assert answer.json()["items"] == []
    known = {str(value) for name, value in stage.lasting.items() if name.endswith("_id")} - {"up_1"}
    asked = f"{case.path_parameters} {case.body}"
    assert not [each for each in known if each in answer.text and each not in asked]
