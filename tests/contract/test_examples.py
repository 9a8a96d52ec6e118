"""Every schema has an example that its schema takes, and every operation a request that can be sent."""

from __future__ import annotations

import json
from typing import Any

import jsonschema
import pytest
from fastapi.testclient import TestClient

from tests.support.stage import COLLECTED

pytestmark = pytest.mark.default

HTTP = TestClient(COLLECTED)


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    """The OpenAPI document as it is served."""
    found: dict[str, Any] = HTTP.get("/openapi.json").json()
    return found


def operations(document: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(method, path): of for path, item in document["paths"].items() for method, of in item.items()}


def check(schema: dict[str, Any], document: dict[str, Any], value: Any) -> None:
    whole = {**schema, "components": document["components"]}
    jsonschema.Draft202012Validator(whole).validate(value)


def test_every_schema_has_an_example_and_takes_it(document: dict[str, Any]):
    schemas = document["components"]["schemas"]
    assert len(schemas) > 150
    for name, schema in schemas.items():
        found = [*schema.get("examples", []), *([schema["example"]] if "example" in schema else [])]
        assert found, name
        for each in found:
            check(schema, document, each)


def test_every_example_of_a_body_is_taken(document: dict[str, Any]):
    for operation in operations(document).values():
        said = operation.get("requestBody", {}).get("content", {}).get("application/json", {})
        for each in said.get("examples", {}).values():
            check(said["schema"], document, each["value"])


def test_the_collection_has_every_operation_once_with_a_body_where_one_is_needed(document: dict[str, Any]):
    every = operations(document)
    made = HTTP.get("/postman.json").json()
    requests = [each["request"] for folder in made["item"] for each in folder["item"]]
    assert len(requests) == len(every)
    seen = set()
    for each in requests:
        path = "/" + "/".join(
            f"{{{part[1:]}}}" if part.startswith(":") else part for part in each["url"]["path"]
        )
        path = path if path != "/" or each["url"]["raw"].endswith("/") else "/"
        seen.add((each["method"].lower(), path))
        operation = every[each["method"].lower(), path]
        assert {of["key"] for of in each["url"]["variable"]} == {
            of["name"] for of in operation.get("parameters", []) if of["in"] == "path"
        }
        content = operation.get("requestBody", {}).get("content", {})
        assert ("body" in each) == bool(content)
        if "application/json" in content:
            check(content["application/json"]["schema"], document, json.loads(each["body"]["raw"]))
        keyed = [of for of in each["header"] if of["key"] == "Idempotency-Key"]
        assert all(of["value"] == "{{$guid}}" and not of["disabled"] for of in keyed)
    assert seen == every.keys()
    again = HTTP.get("/postman.json", headers={"If-None-Match": HTTP.get("/postman.json").headers["ETag"]})
    assert again.status_code == 304
