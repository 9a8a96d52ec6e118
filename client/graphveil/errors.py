"""What a call may raise.

ClientError
├── ProblemError     the service refused or failed, and said why; also one of :mod:`graphveil.problems`
├── TransportError   no answer came, after every retry
├── EngineMissing    a release was to be made on this machine, and the engine is not installed
├── DigestMismatch   a download is not the file that was released
├── EvidenceRefused  an evidence pack is not what was signed, or nobody known has signed it
├── InvalidWebhook   a webhook that the service did not sign, or not just now
└── WaitTimeout      the time that was given to wait is over; the job goes on
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from typing import Any

from graphveil import problems


class ClientError(Exception):
    """Base of the tree."""


class TransportError(ClientError):
    """The service could not be reached, or its answer broke off."""


class EngineMissing(ClientError, ImportError):
    """Releases on this machine need ``pip install 'graphveil[engine]'``."""


class DigestMismatch(ClientError):
    """The bytes do not have the digest that the release names; the file was not kept."""


class EvidenceRefused(ClientError):
    """An evidence pack does not hold: ``place`` says which of its files, or what of the archive."""

    def __init__(self, place: str, reason: str) -> None:
        self.place, self.reason = place, reason
        super().__init__(f"{place}: {reason}")


class InvalidWebhook(ClientError):
    """The webhook does not verify; answer 400 and do nothing."""


class WaitTimeout(ClientError):
    """Waiting took longer than allowed. Wait again, or cancel the job."""


class ProblemError(ClientError):
    """An RFC 9457 problem. ``members`` holds the typed extras, such as ``remaining`` or ``errors``.

    What the service answers is raised as :func:`problem` makes it: also of the problem's own type.
    """

    _STANDARD = ("type", "title", "status", "detail", "request_id", "retryable", "actionable_by")

    def __init__(self, status: int, body: Mapping[str, Any]) -> None:
        self.title = str(body.get("title", f"HTTP {status}"))
        self.detail: str | None = body.get("detail")
        super().__init__(self.detail or self.title)
        self.status = status
        self.type = str(body.get("type", "about:blank"))
        self.request_id: str | None = body.get("request_id")
        self.retryable = bool(body.get("retryable", False))
        self.actionable_by: str | None = body.get("actionable_by")
        self.members = {name: value for name, value in body.items() if name not in self._STANDARD}

    @property
    def slug(self) -> str:
        """The last part of ``type``: ``budget-exceeded``."""
        return self.type.rstrip("/").rsplit("/", 1)[-1]


def problem(status: int, body: Mapping[str, Any]) -> ProblemError:
    """Make the exception of an answer.

    It is a ProblemError, and of the class in :mod:`graphveil.problems` too.

    >>> refused = problem(409, {"type": "/problems/budget-exceeded", "detail": "0.5 is left"})
    >>> type(refused).__name__, isinstance(refused, ProblemError), isinstance(refused, problems.BudgetRefused)
    ('BudgetExceeded', True, True)
    >>> str(refused)
    '0.5 is left'
    """
    said = str(body.get("type", ""))
    return _kind_of(said.rstrip("/").rsplit("/", 1)[-1])(status, body)


@lru_cache(maxsize=128)
def _kind_of(slug: str) -> type[ProblemError]:
    """Make the class that is both, once; what has no class is a ProblemError alone."""
    kind = problems.named(slug)
    if kind is None:
        return ProblemError
    return type(kind.__name__, (ProblemError, kind), {"__doc__": kind.__doc__, "__module__": kind.__module__})
