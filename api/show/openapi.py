"""What the OpenAPI document says beyond the routes themselves."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any

from fastapi import FastAPI
from fastapi.routing import APIRoute

from api.http import conditional, problems
from api.http.problems import Row
from api.schemas.problems import Problem
from api.show import collection, examples
from core import errors

DESCRIPTION = """\
A sensitive graph goes in; a synthetic graph comes out, with a guarantee of differential privacy that was
computed before the data was read, metered while it was read, and charged to the dataset's budget.

* Every refusal is a problem (RFC 9457) with a stable `type`, `retryable` and `actionable_by`.
* Amounts of epsilon and delta are exact decimal strings in every answer.
* `POST /v1/jobs` and `POST /v1/streams` need an `Idempotency-Key`; `?dry_run=true` shows the plan and spends
  nothing.
* Answers carry `RateLimit-Limit`, `RateLimit-Remaining` and `RateLimit-Reset` of the caller's key.
* Every route under `/v1` is also served without the prefix.
"""

TAGS = [
    {"name": "datasets", "description": "Declare a sensitive graph, upload it, archive it."},
    {"name": "budgets", "description": "What has been spent, and the entries that explain it."},
    {"name": "ledger", "description": "Whether the ledger keeps its promises."},
    {"name": "governance", "description": "What jobs may ask for, and what takes a second person."},
    {"name": "methods", "description": "What can be asked for."},
    {"name": "jobs", "description": "Ask for a synthetic graph and watch it come."},
    {"name": "releases", "description": "Reports and files of published jobs."},
    {"name": "streams", "description": "Publish a graph that goes on, one snapshot after another."},
    {"name": "audits", "description": "Put a promise to the test on public canary graphs."},
    {"name": "identity", "description": "Who calls; keys for operators to make and revoke."},
    {"name": "webhooks", "description": "Be told what happens, instead of asking."},
    {"name": "service", "description": "Whether the service is well; what its problems mean."},
]


class Description:
    """The OpenAPI document as it is sent, and the collection made of it. Each is made once, when it is first
    requested. Safe to share between threads."""

    def __init__(self, app: FastAPI) -> None:
        self._app = app
        self._lock = threading.Lock()
        self._made: dict[str, tuple[bytes, str]] = {}

    def read(self) -> tuple[bytes, str]:
        """Return the document's bytes, and their strong ETag."""
        return self._once("openapi", lambda document: document)

    def collection(self) -> tuple[bytes, str]:
        """Return the bytes of the collection of requests, and their strong ETag."""
        return self._once("collection", collection.collection)

    def _once(self, name: str, make: Callable[[dict[str, Any]], dict[str, Any]]) -> tuple[bytes, str]:
        with self._lock:
            if name not in self._made:
                document = make(examples.filled(self._app.openapi()))
                body = json.dumps(document, ensure_ascii=False, separators=(",", ":")).encode()
                self._made[name] = body, conditional.tag_of(body)
        return self._made[name]


def operation_id(route: APIRoute) -> str:
    """Name the operation as its route is called. The route may say ``operation_id`` instead."""
    return route.name


REPLAYED = "Idempotency-Replayed"


def queued(description: str, made: str) -> dict[int | str, dict[str, Any]]:
    """Document the 202 of a route that queues. It makes something, once for each Idempotency-Key."""
    headers = {
        "Location": {"schema": {"type": "string"}, "description": f"The {made}."},
        "Retry-After": {"schema": {"type": "integer"}, "description": "Seconds before a poll."},
        REPLAYED: {
            "schema": {"type": "string", "enum": ["true"]},
            "description": f"An earlier request with this key made the {made}.",
        },
    }
    return {202: {"description": description, "headers": headers}}


SOME_BYTES = {"application/octet-stream": {"schema": {"type": "string", "format": "binary", "minLength": 1}}}
"""The content of a request whose body is a file; one without a byte is refused."""


def refusals(*kinds: type[Exception] | Row) -> dict[int | str, dict[str, Any]]:
    """Document the refusals of a route. There is one entry for each status; several of one status share
    it."""
    rows = [kind if isinstance(kind, Row) else problems.TABLE[kind] for kind in kinds]
    documented: dict[int | str, dict[str, Any]] = {}
    for status in sorted({row.status for row in rows}):
        same = [row for row in rows if row.status == status]
        models = {row.model for row in same}
        model = models.pop() if len(models) == 1 else Problem
        names = ", ".join(f"[`{row.slug}`]({row.type})" for row in same)
        documented[status] = {
            "description": f"{names}",
            "content": {problems.MEDIA_TYPE: {"schema": {"$ref": f"#/components/schemas/{model.__name__}"}}},
            "model": model,
        }
    return documented


EVERYWHERE = refusals(
    problems.BAD_REQUEST,
    errors.Unauthenticated,
    errors.Forbidden,
    errors.PayloadTooLarge,
    errors.RequestTimeout,
    errors.RateLimited,
    errors.InvalidInput,
    errors.GraphveilError,
    errors.StorageError,
    errors.IssuerUnavailable,
)
"""What any route may answer."""
