"""A tenant with one of everything, so that every operation of the service has something to act on."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

import schemathesis
from fastapi.testclient import TestClient
from starlette.routing import Mount

from api.app import create_app
from core.identity import service as identity
from core.identity.models import Role
from core.outbox.models import Topic
from core.settings import Settings
from core.workflows.common.context import Services
from tests.integration.api.conftest import SCHEMA, Tenant, week
from tests.integration.api.test_unblock import block
from worker.process import WorkerProcess

# Operations become tests when they are collected, before any server runs; no connection is opened for that.
COLLECTED = create_app(
    Settings(
        storage_url=Path(tempfile.gettempdir()).as_uri(),
        # Whoever tries everything at once is over any limit.
        rate_limit_per_minute=0,
        rate_limit_jobs_per_minute=0,
        rate_limit_attempts_per_minute=0,
        rate_limit_open_per_minute=0,
    )
)
# Whether the handbook was built in this working copy changes nothing here.
COLLECTED.router.routes[:] = [
    each for each in COLLECTED.router.routes if not (isinstance(each, Mount) and each.name == "handbook")
]
document = schemathesis.openapi.from_asgi("/openapi.json", COLLECTED)

WHY = {"reason": "agreed in the data board"}
WEBHOOK = {"url": "https://hooks.example.org/graphveil", "events": ["job.published"]}
EVERYONE = tuple(Role)
Members = dict[str, Any]


class Stage:
    """Objects that last, and makers of those that an operation uses up. Two persons hold every role each."""

    def __init__(self, http: TestClient, services: Services, process: WorkerProcess) -> None:
        self.tenant = Tenant(http, services, process)
        self.first, self.second = self._key("curator-a"), self._key("curator-b")
        self.dataset_id = self.tenant.ready(epsilon="900")
        self.job_id = self._published()
        self.stream_id = self._published_stream()
        self.audit_id = self._keyed("/audits", {"method": "laplace", "epsilon": "1", "runs": 100})["id"]
        self.webhook_id = self._webhook()
        self.lasting: Members = {
            "dataset_id": self.dataset_id,
            "job_id": self.job_id,
            "stream_id": self.stream_id,
            "step": 0,
            "audit_id": self.audit_id,
            "webhook_id": self.webhook_id,
            "delivery_id": self._delivery(),
            "proposal_id": self._grant(),
            "key_id": self.call("GET", "/me").json()["key_id"],
            "upload_id": "up_1",
            "name": "edges.parquet",
            "scope": "project",
            "form": "dcat",
            "slug": "not-found",
        }

    @cached_property
    def needed(self) -> set[str]:
        """The ids of what lasts, and of both persons' keys."""
        keys = {self.call("GET", "/me", second=second).json()["key_id"] for second in (False, True)}
        return keys | {str(value) for name, value in self.lasting.items() if name.endswith("_id")}

    def call(self, method: str, path: str, *, second: bool = False, **options: Any) -> Any:
        """An answer to one of the two persons."""
        headers = {"Authorization": f"Bearer {self.second if second else self.first}"}
        return self.tenant.call(method, path, headers=headers | options.pop("headers", {}), **options)

    def fresh(self, operation: str) -> Members:
        """Parameters and a body with which the operation succeeds; what it uses up was made for it.

        Keys: names of path parameters, ``body``, ``content``, ``query``, ``headers``, ``second``: by the
        other person. Operations that are not named here succeed with what lasts and their documented example.
        """
        make = self._makers().get(operation)
        return make() if make is not None else {}

    def _makers(self) -> dict[str, Callable[[], Members]]:
        job = {"dataset_id": self.dataset_id, "epsilon": "0.01", "method": "edgerand", "repeat": True}
        return {
            "GET /docs/{name}": lambda: {"name": "budget"},
            "GET /docs/generators/{method}": lambda: {"method": "edgerand"},
            "POST /v1/datasets": lambda: {"body": self._declared()},
            "DELETE /v1/datasets/{dataset_id}": lambda: {"dataset_id": self._empty()},
            "PUT /v1/datasets/{dataset_id}/schema": lambda: {"dataset_id": self._empty(), "body": SCHEMA},
            "POST /v1/datasets/{dataset_id}/reading": lambda: {
                "dataset_id": self._proposed(),
                "body": {"columns": {"source": "target", "target": "source"}},
            },
            "PUT /v1/datasets/{dataset_id}/content": lambda: {
                "dataset_id": self._empty(),
                "content": b"source,target\n0,1\n",
            },
            "PUT /v1/datasets/{dataset_id}/policy": lambda: {
                "dataset_id": self._empty(),
                "body": {"policy": {"max_epsilon_per_job": "1"}, **WHY},
                "headers": {"If-Match": "*"},
            },
            "DELETE /v1/datasets/{dataset_id}/uploads": lambda: {"dataset_id": self._empty()},
            "PUT /v1/datasets/{dataset_id}/sensitive-links": lambda: {"content": b"source,target\n"},
            "DELETE /v1/datasets/{dataset_id}/sensitive-links": lambda: {"dataset_id": self._empty()},
            "POST /v1/datasets/{dataset_id}/uploads/{upload_id}/complete": lambda: {
                "body": {"etags": ["one"]}
            },
            "POST /v1/datasets/{dataset_id}/budget/unblock": lambda: {
                "dataset_id": self._blocked(),
                "body": WHY,
            },
            "PUT /v1/datasets/{dataset_id}/budget/quotas/{scope}/{name}": lambda: {
                "name": secrets.token_hex(4),
                "body": {"epsilon": "1", **WHY},
            },
            "GET /v1/datasets/{dataset_id}/budget/quotas/{scope}/{name}/ledger": lambda: {
                "name": self._quota()
            },
            "POST /v1/jobs": lambda: {"body": job, "headers": _key()},
            "POST /v1/jobs/{job_id}/cancel": lambda: {"job_id": self._keyed("/jobs", job)["id"]},
            "POST /v1/jobs/{job_id}/samples": lambda: {"body": {}, "headers": _key()},
            "POST /v1/jobs/{job_id}/approve": lambda: {
                "job_id": self._waiting(),
                "body": WHY,
                "second": True,
            },
            "POST /v1/jobs/{job_id}/reject": lambda: {"job_id": self._waiting(), "body": WHY, "second": True},
            "POST /v1/proposals/{proposal_id}/approve": lambda: {
                "proposal_id": self._grant(),
                "body": WHY,
                "second": True,
            },
            "POST /v1/proposals/{proposal_id}/reject": lambda: {
                "proposal_id": self._grant(),
                "body": WHY,
                "second": True,
            },
            "POST /v1/proposals/{proposal_id}/withdraw": lambda: {"proposal_id": self._grant()},
            "POST /v1/streams": lambda: {
                "body": {"dataset_id": self.tenant.streamable(), "epsilon": "1", "method": "psgraph"},
                "headers": _key(),
            },
            "POST /v1/streams/{stream_id}/close": lambda: {"stream_id": self._stream()},
            "POST /v1/streams/{stream_id}/snapshots": lambda: {
                "stream_id": self._stream(),
                "query": {"step": 0},
                "content": week(0).encode(),
            },
            "POST /v1/audits": lambda: {
                "body": {"method": "laplace", "epsilon": "1", "runs": 100},
                "headers": _key(),
            },
            "POST /v1/webhooks": lambda: {"body": WEBHOOK},
            "DELETE /v1/webhooks/{webhook_id}": lambda: {"webhook_id": self._webhook()},
            "POST /v1/webhooks/{webhook_id}/rotate": lambda: {"webhook_id": self._webhook()},
            "POST /v1/webhooks/{webhook_id}/deliveries/{delivery_id}/retry": lambda: {
                "delivery_id": self._delivery()
            },
            "DELETE /v1/keys/{key_id}": lambda: {
                "key_id": self.call("POST", "/keys", json={"name": "k", "roles": ["auditor"]}).json()["id"]
            },
        }

    def _key(self, person: str) -> str:
        with self.tenant.services.db.transaction() as session:
            return identity.create_key(
                session, tenant=self.tenant.name, name=person, roles=EVERYONE, person=person
            )[1]

    def _quota(self) -> str:
        """The name of a project with a quota of the dataset's account."""
        name = secrets.token_hex(4)
        asked = {"epsilon": "1", **WHY}
        answer = self.call("PUT", f"/datasets/{self.dataset_id}/budget/quotas/project/{name}", json=asked)
        assert answer.status_code == 201, answer.text
        return name

    def _keyed(self, path: str, body: Members) -> Members:
        answer = self.call("POST", path, json=body, headers=_key())
        assert answer.status_code < 300, answer.text
        return answer.json()

    def _declared(self, **more: Any) -> Members:
        name = secrets.token_hex(6)
        return {"name": name, "unit": "edge", "epsilon": "5", "graph_schema": SCHEMA} | more

    def _proposed(self) -> str:
        """A dataset whose schema was read off its upload, and waits."""
        dataset_id = self.tenant.register(graph_schema=None)["id"]
        received = self.tenant.upload(dataset_id).json()
        self.tenant.work(Topic.INGEST, received["id"])
        return dataset_id

    def _empty(self) -> str:
        return self.call("POST", "/datasets", json=self._declared()).json()["id"]

    def _published(self) -> str:
        job = self.tenant.submit(self.dataset_id, "1", formats=["parquet", "csv"], method="edgerand").json()
        self.tenant.work(Topic.RUN, job["id"])
        self.tenant.work(Topic.EVALUATE, job["id"])
        return job["id"]

    def _stream(self) -> str:
        return self.tenant.stream(self.tenant.streamable())["id"]

    def _published_stream(self) -> str:
        stream_id = self._stream()
        sent = self.tenant.push(stream_id, week(0), step=0)
        self.tenant.work(Topic.RUN, sent.json()["job_id"])
        return stream_id

    def _waiting(self) -> str:
        """A job that a second person has to approve."""
        dataset_id = self.tenant.ready(epsilon="5", policy={"approval_above_epsilon": "0.1"})
        job = self._keyed("/jobs", {"dataset_id": dataset_id, "epsilon": "1", "method": "edgerand"})
        assert job["state"] == "awaiting_approval", job
        return job["id"]

    def _grant(self) -> str:
        """An open proposal of the first person."""
        asked = {"epsilon": "1", **WHY}
        answer = self.call("POST", f"/datasets/{self._empty()}/budget/grants", json=asked)
        assert answer.status_code < 300, answer.text
        return answer.json()["id"]

    def _webhook(self) -> str:
        answer = self.call("POST", "/webhooks", json=WEBHOOK)
        assert answer.status_code == 201, answer.text
        return answer.json()["id"]

    def _delivery(self) -> str:
        answer = self.call("POST", f"/webhooks/{self.webhook_id}/test")
        assert answer.status_code == 202, answer.text
        return answer.json()["id"]

    def _blocked(self) -> str:
        """A dataset whose account is blocked."""
        dataset = self.call("POST", "/datasets", json=self._declared()).json()
        block(self.tenant.services.db, dataset["account_id"])
        return dataset["id"]


def _key() -> dict[str, str]:
    return {"Idempotency-Key": secrets.token_hex(8)}
