"""The calls about audits, as a part of the SDK's connection."""

from __future__ import annotations

import uuid
from collections.abc import Callable, Iterator
from typing import Any

import httpx

from api.client.transport import Transport
from core.audits.views import TERMINAL, Audit, Audits


class AuditCalls:
    """Ask for an audit, wait for it, list them."""

    _calls: Transport
    _poll: Callable[..., Any]

    def audit(
        self, method: str, *, epsilon: str, idempotency_key: str | None = None, **request: Any
    ) -> Audit:
        """An audit of the method's promise is queued, once, however often the request had to be repeated.

        ``request``: parameters, unit, window, delta, runs. No dataset is read and no budget spent.
        """
        body = {"method": method, "epsilon": epsilon, **request}
        headers = {"Idempotency-Key": idempotency_key or str(uuid.uuid4())}
        return Audit.model_validate(self._calls.request("POST", "/audits", json=body, headers=headers).json())

    def show_audit(self, audit_id: str) -> Audit:
        """One audit."""
        return Audit.model_validate(self._calls.request("GET", f"/audits/{audit_id}").json())

    def audits(self) -> Iterator[Audit]:
        """The tenant's audits, newest first, page by page."""
        query: dict[str, str] = {}
        while True:
            page = Audits.model_validate(self._calls.request("GET", "/audits", params=query).json())
            yield from page.items
            if page.next_cursor is None:
                return
            query["cursor"] = page.next_cursor

    def wait_audit(
        self,
        audit_id: str,
        *,
        timeout_seconds: float | None = None,
        on_progress: Callable[[Audit], None] | None = None,
    ) -> Audit:
        """The audit once it is done or has failed; WaitTimeout when that takes too long."""

        def ended(answer: httpx.Response) -> Audit | None:
            audit = Audit.model_validate(answer.json())
            if on_progress:
                on_progress(audit)
            return audit if audit.state in TERMINAL else None

        return self._poll(f"/audits/{audit_id}", ended, timeout_seconds)
