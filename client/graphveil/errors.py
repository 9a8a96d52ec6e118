"""What a call may raise.

ClientError
├── ProblemError     the service refused or failed, and said why
├── TransportError   no answer came, after every retry
├── DigestMismatch   a download is not the file that was released
├── InvalidWebhook   a webhook that the service did not sign, or not just now
└── WaitTimeout      the time that was given to wait is over; the job goes on
"""

from __future__ import annotations

from typing import Any


class ClientError(Exception):
    """Base of the tree."""


class TransportError(ClientError):
    """The service could not be reached, or its answer broke off."""


class DigestMismatch(ClientError):
    """The bytes do not have the digest that the release names; the file was not kept."""


class InvalidWebhook(ClientError):
    """The webhook does not verify; answer 400 and do nothing."""


class WaitTimeout(ClientError):
    """Waiting took longer than allowed. Wait again, or cancel the job."""


class ProblemError(ClientError):
    """An RFC 9457 problem. ``members`` holds the typed extras, such as ``remaining`` or ``errors``."""

    _STANDARD = ("type", "title", "status", "detail", "request_id", "retryable", "actionable_by")

    def __init__(self, status: int, body: dict[str, Any]) -> None:
        self.status = status
        self.type = str(body.get("type", "about:blank"))
        self.title = str(body.get("title", f"HTTP {status}"))
        self.detail: str | None = body.get("detail")
        self.request_id: str | None = body.get("request_id")
        self.retryable = bool(body.get("retryable", False))
        self.actionable_by: str | None = body.get("actionable_by")
        self.members = {name: value for name, value in body.items() if name not in self._STANDARD}
        super().__init__(self.detail or self.title)

    @property
    def slug(self) -> str:
        """The last part of ``type``: ``budget-exceeded``."""
        return self.type.rstrip("/").rsplit("/", 1)[-1]
