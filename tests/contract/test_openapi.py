"""The service answers as its OpenAPI document says, whatever it is sent."""

from __future__ import annotations

import itertools
import secrets
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import schemathesis
from fastapi import FastAPI
from hypothesis import HealthCheck, settings
from schemathesis import Case
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    ignored_auth,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from api.app import create_app
from core.db.session import Database
from core.identity import service as identity
from core.identity.models import Role
from core.identity.service import Principal
from core.settings import Settings
from core.workflows.context import Services, open_services
from core.workflows.register import NewDataset, register_dataset

EXAMPLES = 30
TENANT = "contract"

# Operations become tests when they are collected, before any server runs; no connection is opened for that.
COLLECTED = create_app(Settings(storage_url=Path(tempfile.gettempdir()).as_uri()))
document = schemathesis.openapi.from_asgi("/openapi.json", COLLECTED)
_turns = itertools.count()


@pytest.fixture(scope="module")
def running(
    module_database: Database, redis_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Services]:
    root = tmp_path_factory.mktemp("contract")
    url = module_database.engine.url.render_as_string(hide_password=False)
    opened = open_services(
        Settings(
            database_url=url,
            redis_url=redis_url,
            storage_url=root.as_uri(),
            master_key=secrets.token_hex(32),
            fingerprint_key=secrets.token_hex(32),
            work_folder=root / "work",
            max_upload_bytes=2**20,
        )
    )
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def app(running: Services) -> FastAPI:
    """The app whose operations were collected, now over services that run."""
    COLLECTED.state.services = running
    return COLLECTED


@pytest.fixture(scope="module")
def token(running: Services) -> str:
    """A key that may do everything a tenant may."""
    roles = (Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    with running.db.transaction() as session:
        return identity.create_key(session, tenant=TENANT, name="contract", roles=roles)[1]


@pytest.fixture(scope="module")
def dataset_id(running: Services) -> str:
    """A dataset that exists, so that not every call ends at 404."""
    curator = Principal(TENANT, "key_contract", "contract", frozenset({Role.CURATOR}))
    new = NewDataset.model_validate({"name": "known", "unit": "edge", "epsilon": "5"})
    return register_dataset(running, curator, new).id


def test_the_document_is_valid_openapi():
    document.validate()


def test_every_operation_is_documented(app: FastAPI):
    for path, item in app.openapi()["paths"].items():
        for method, operation in item.items():
            where = f"{method} {path}"
            assert operation["summary"], where
            assert operation["description"], where
            for parameter in operation.get("parameters", []):
                assert parameter["in"] == "path" or "description" in parameter, (
                    f"{where}: {parameter['name']}"
                )


def test_requests_have_examples(app: FastAPI):
    for path, item in app.openapi()["paths"].items():
        for method, operation in item.items():
            for media_type, content in operation.get("requestBody", {}).get("content", {}).items():
                if media_type == "application/json":
                    assert content["examples"], f"{method} {path}"


def test_no_answer_shows_a_budget_as_a_floating_point_number(app: FastAPI):
    for name, model in app.openapi()["components"]["schemas"].items():
        for field, shape in model.get("properties", {}).items():
            if name not in ("NewDataset", "JobRequest"):
                assert shape.get("type") != "number", f"{name}.{field}"


@document.parametrize()
@settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.filter_too_much, HealthCheck.data_too_large],
)
def test_answers_are_as_documented(case: Case, app: FastAPI, token: str, dataset_id: str):
    if "dataset_id" in case.path_parameters and case.method != "DELETE" and next(_turns) % 2:
        case.path_parameters["dataset_id"] = dataset_id
    headers = {"Authorization": f"Bearer {token}"} if case.path.startswith("/v1") else {}
    case.call_and_validate(
        headers=headers,
        checks=[
            not_a_server_error,
            status_code_conformance,
            content_type_conformance,
            response_headers_conformance,
            response_schema_conformance,
            ignored_auth,
        ],
    )
