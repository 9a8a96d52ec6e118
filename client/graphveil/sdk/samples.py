"""The calls about further samples, as a part of the SDK's connection."""

from __future__ import annotations

from typing import Any

from graphveil.models.jobs import Job
from graphveil.sdk.transport import Transport, once


class SampleCalls:
    """Draw again from the fitted model of a published job."""

    _calls: Transport

    def sample(self, job_id: str, *, idempotency_key: str | None = None, **request: Any) -> Job:
        """Queue a further sample of the job's model, once, however often the request had to be repeated.

        It is a job of its own, with the guarantee of the model, and is charged nothing. ``request``: formats,
        seed, suite, label, and ``size`` (``{"nodes": 10_000}``) for another number of nodes.
        """
        return self._calls.read(
            Job, "POST", f"/jobs/{job_id}/samples", json=request, headers=once(idempotency_key)
        )
