"""The API as a collection of requests, for Postman, Bruno and what else imports the format.

Made of the OpenAPI document, so that it lists what there is. Source: Postman's collection format 2.1.0.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

FORMAT = "https://schema.getpostman.com/json/collection/v2.1.0/collection.json"
JSON, OCTETS = "application/json", "application/octet-stream"
KEYED = "Idempotency-Key"


def collection(document: Mapping[str, Any]) -> dict[str, Any]:
    """Make the collection: a folder for each tag, a request for each operation, with an example to send.

    ``{{url}}`` and ``{{key}}`` are its variables: where the service is, and who calls.
    """
    folders: dict[str, list[dict[str, Any]]] = {each["name"]: [] for each in document["tags"]}
    for path, method, operation in _operations(document):
        folders[operation["tags"][0]].append(_request(path, method, operation, document))
    return {
        "info": {"name": document["info"]["title"], "schema": FORMAT, "version": document["info"]["version"]},
        "auth": {"type": "bearer", "bearer": [{"key": "token", "value": "{{key}}", "type": "string"}]},
        "variable": [{"key": "url", "value": "http://localhost:8080"}, {"key": "key", "value": ""}],
        "item": [{"name": name, "item": found} for name, found in folders.items() if found],
    }


def _operations(document: Mapping[str, Any]) -> Iterator[tuple[str, str, Mapping[str, Any]]]:
    for path, item in document["paths"].items():
        for method, operation in item.items():
            yield path, method, operation


def _request(
    path: str, method: str, operation: Mapping[str, Any], document: Mapping[str, Any]
) -> dict[str, Any]:
    named = operation.get("parameters", [])
    of = {place: [each for each in named if each["in"] == place] for place in ("path", "query", "header")}
    shown = path.replace("{", ":").replace("}", "")
    address = {
        "raw": "{{url}}" + shown,
        "host": ["{{url}}"],
        "path": shown.strip("/").split("/"),
        "query": [{**_said(each), "disabled": not each.get("required", False)} for each in of["query"]],
        "variable": [_said(each) for each in of["path"]],
    }
    headers = [{**_said(each), "disabled": each["name"] != KEYED} for each in of["header"]]
    made: dict[str, Any] = {
        "method": method.upper(),
        "description": operation.get("description", ""),
        "header": headers,
        "url": address,
    }
    content = operation.get("requestBody", {}).get("content", {})
    if JSON in content:
        text = json.dumps(_example(content[JSON], document), indent=2)
        made["body"] = {"mode": "raw", "raw": text, "options": {"raw": {"language": "json"}}}
        headers.append({"key": "Content-Type", "value": JSON})
    elif content:
        made["body"] = {"mode": "file", "file": {}}
        headers.append({"key": "Content-Type", "value": OCTETS})
    return {"name": operation["summary"], "request": made}


def _said(parameter: Mapping[str, Any]) -> dict[str, Any]:
    value = "{{$guid}}" if parameter["name"] == KEYED else ""
    return {"key": parameter["name"], "value": value, "description": parameter.get("description", "")}


def _example(content: Mapping[str, Any], document: Mapping[str, Any]) -> Any:
    for each in content.get("examples", {}).values():
        return each["value"]
    name = content["schema"].get("$ref", "").rsplit("/", 1)[-1]
    schema = document["components"]["schemas"].get(name, content["schema"])
    return next(iter(schema.get("examples", [])), {})
