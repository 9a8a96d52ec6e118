"""The connection's calls about audits. They are a part of the SDK's."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import httpx

from graphveil.models.audits import TERMINAL, Audit, Audits
from graphveil.sdk.transport import Transport, once


class AuditCalls:
    """Ask for an audit, wait for it, list them."""

    _calls: Transport

    def audit(
        self, method: str, *, epsilon: str, idempotency_key: str | None = None, **request: Any
    ) -> Audit:
        """Queue an audit of the method's promise, once.

        It is once, however often the request had to be repeated.

        ``request``: parameters, unit, window, delta, runs. No dataset is read and no budget spent.
        """
        body = {"method": method, "epsilon": epsilon, **request}
        return self._calls.read(Audit, "POST", "/audits", json=body, headers=once(idempotency_key))

    def show_audit(self, audit_id: str) -> Audit:
        """Read one audit."""
        return self._calls.read(Audit, "GET", f"/audits/{audit_id}")

    def audits(self) -> Iterator[Audit]:
        """List the tenant's audits, newest first, page by page."""
        return self._calls.pages(Audits, "/audits")

    def wait_audit(
        self,
        audit_id: str,
        *,
        timeout_seconds: float | None = None,
        on_progress: Callable[[Audit], None] | None = None,
    ) -> Audit:
        """Wait until the audit is done or has failed. WaitTimeout when that takes too long."""

        def ended(answer: httpx.Response) -> Audit | None:
            audit = Audit.model_validate(answer.json())
            if on_progress:
                on_progress(audit)
            return audit if audit.state in TERMINAL else None

        return self._calls.poll(f"/audits/{audit_id}", ended, timeout_seconds)
