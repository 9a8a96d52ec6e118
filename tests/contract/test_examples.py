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
DOCUMENT: dict[str, Any] = HTTP.get("/openapi.json").json()
SCHEMAS: dict[str, Any] = DOCUMENT["components"]["schemas"]
OPERATIONS = {(method, path) for path, item in DOCUMENT["paths"].items() for method in item}


@pytest.mark.parametrize("name", SCHEMAS)
def test_a_schema_takes_its_examples(name: str):
    schema = SCHEMAS[name]
    found = [*schema.get("examples", []), *([schema["example"]] if "example" in schema else [])]
    assert found
    check = jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]})
    for each in found:
        check.validate(each)


def test_every_example_of_a_body_is_taken():
    for method, path in sorted(OPERATIONS):
        content = DOCUMENT["paths"][path][method].get("requestBody", {}).get("content", {})
        said = content.get("application/json", {})
        check = jsonschema.Draft202012Validator(
            {**said.get("schema", {}), "components": DOCUMENT["components"]}
        )
        for each in said.get("examples", {}).values():
            check.validate(each["value"])


def test_the_collection_has_every_operation_once_with_a_body_where_one_is_needed():
    made = HTTP.get("/postman.json").json()
    requests = [each["request"] for folder in made["item"] for each in folder["item"]]
    assert len(requests) == len(OPERATIONS)
    seen = set()
    for each in requests:
        path = "/" + "/".join(
            f"{{{part[1:]}}}" if part.startswith(":") else part for part in each["url"]["path"]
        )
        path = path if path != "/" or each["url"]["raw"].endswith("/") else "/"
        seen.add((each["method"].lower(), path))
        operation = DOCUMENT["paths"][path][each["method"].lower()]
        assert {of["key"] for of in each["url"]["variable"]} == {
            of["name"] for of in operation.get("parameters", []) if of["in"] == "path"
        }
        content = operation.get("requestBody", {}).get("content", {})
        assert ("body" in each) == bool(content)
        if "application/json" in content:
            schema = content["application/json"]["schema"]
            jsonschema.Draft202012Validator({**schema, "components": DOCUMENT["components"]}).validate(
                json.loads(each["body"]["raw"])
            )
        keyed = [of for of in each["header"] if of["key"] == "Idempotency-Key"]
        assert all(of["value"] == "{{$guid}}" and not of["disabled"] for of in keyed)
    assert seen == OPERATIONS
    again = HTTP.get("/postman.json", headers={"If-None-Match": HTTP.get("/postman.json").headers["ETag"]})
    assert again.status_code == 304
