"""Every error a caller may meet, drawn as one tree.

The service raises them; the client raises those of its answers (:func:`graphveil.errors.problem`).

GraphveilError
├── InvalidInput                 what was sent cannot be used; says where and how to mend it
│   ├── UnknownMethod            no generator of that name
│   ├── UnknownFormat            no reader or writer of that name
│   ├── NotAccepted              the method does not take this graph, unit or parameter
│   ├── IngestRejected           an upload breaks its schema; carries up to 20 findings
│   ├── IdempotencyKeyMissing
│   └── IdempotencyKeyReused     same key, other payload
├── Unauthenticated
├── IssuerUnavailable            the issuer's keys cannot be had: its tokens cannot be checked now
├── RateLimited                  too many requests of one key, or refused credentials of one address
├── RequestTimeout               the body did not arrive in time
├── Forbidden
│   ├── SecondPersonNeeded       whoever asked cannot decide about it too
│   └── FormRefused              a form of the console came without the token that its page was given
├── NotFound                     or not visible to the caller
├── Conflict                     the object is in a state that does not allow this
│   ├── DatasetNotReady
│   ├── LinksNotNamed            the curators have not said which links a method is to hide
│   ├── DirectUploadUnavailable  the storage takes bytes through the service only
│   ├── JobNotFinished
│   ├── JobFailed                the report of a job that has none
│   ├── InvalidTransition        a state machine was asked for a step it does not have
│   ├── IdempotencyInFlight
│   ├── IdenticalRelease         the same content is released already, or about to be
│   ├── SnapshotLate             the stream has gone past this step, and nothing was received for it
│   ├── SnapshotEarly            steps before this one are missing
│   ├── SnapshotConflict         the step has another snapshot already
│   ├── StreamBusy               too many snapshots wait
│   ├── StreamClosed             no further snapshots
│   ├── WorkerMissing            no worker has what the request needs
│   └── InstanceRunning          a second embedded stack on one folder
├── StaleEtag                    the object has changed since the caller read it
├── IfMatchMissing               a change must name what it changes
├── PayloadTooLarge
├── UnsupportedMediaType         the body is a form where a file's bytes are taken
├── RangeNotSatisfiable          the file ends before the part that was asked for
├── BudgetRefused                the accountant says no
│   ├── BudgetExceeded           which account, what was asked, what remains, what is reserved
│   ├── UnitMismatch             the plan's unit is not the account's
│   ├── KindNotAllowed           the dataset's policy does not allow this guarantee
│   ├── PolicyRefused            the dataset's policy does not allow this request; names the rule
│   ├── TargetNotMet             no epsilon within the balance gives the accuracy asked for; says how close
│   ├── AccountBlocked           too many give-backs in a row, or an altered budget file: somebody must look
│   └── AccountExposed           a graph opened without a guarantee voided every later claim
├── PrivacyViolation             a bug in a generator: nothing may be released
│   ├── PlanExceeded             the meter would exceed the plan
│   ├── MeterClosed              use after an overrun
│   └── UnmeteredFit             a fit that recorded nothing
├── TooManyJobs                  the tenant, or the key, has as many open jobs as it may
├── TooManyEventStreams          the tenant follows as many jobs as it may
├── EventStreamsFull             this process serves as many event streams as it may
├── TooManyUploads               the tenant sends as many files as it may
├── UploadsFull                  this process receives as many uploads as it may
├── LeaseLost                    another worker owns the work now
└── StorageError                 object storage failed; safe to try again
"""

from __future__ import annotations

import re
from typing import Any


class GraphveilError(Exception):
    """Base of the tree. ``members`` are typed extras of the RFC 9457 problem; safe to show to the caller."""

    def __init__(self, message: str, **members: Any) -> None:
        super().__init__(message)
        self.message = message
        self.members = members

    @classmethod
    def name(cls) -> str:
        """Return the last part of the problem's ``type``.

        >>> BudgetExceeded.name()
        'budget-exceeded'
        """
        return _OTHERWISE.get(cls.__name__) or re.sub(r"(?<!^)(?=[A-Z])", "-", cls.__name__).lower()


_OTHERWISE = {"GraphveilError": "internal-error", "StorageError": "storage-unavailable"}
"""Problems that are not called as their class is."""


def named(name: str) -> type[GraphveilError] | None:
    """Return the problem class of a ``type``'s last part.

    None where none has that name.

    >>> named("budget-exceeded").__name__
    'BudgetExceeded'
    """
    waiting = [GraphveilError]
    while waiting:
        kind = waiting.pop()
        if kind.name() == name:
            return kind
        waiting += kind.__subclasses__()
    return None


class InvalidInput(GraphveilError):
    """``field`` names what to mend, as a dotted path."""


class UnknownMethod(InvalidInput):
    pass


class UnknownFormat(InvalidInput):
    pass


class NotAccepted(InvalidInput):
    pass


class IngestRejected(InvalidInput):
    """``findings``: up to 20 of {file, line, column, message}; curators only."""


class IdempotencyKeyMissing(InvalidInput):
    pass


class IdempotencyKeyReused(InvalidInput):
    pass


class Unauthenticated(GraphveilError):
    pass


class IssuerUnavailable(GraphveilError):
    pass


class RateLimited(GraphveilError):
    """``limit`` in ``window_seconds``; ``retry_after`` seconds until the next request is taken."""


class RequestTimeout(GraphveilError):
    pass


class Forbidden(GraphveilError):
    pass


class SecondPersonNeeded(Forbidden):
    pass


class FormRefused(Forbidden):
    pass


class NotFound(GraphveilError):
    pass


class Conflict(GraphveilError):
    pass


class DatasetNotReady(Conflict):
    pass


class LinksNotNamed(Conflict):
    pass


class DirectUploadUnavailable(Conflict):
    pass


class JobNotFinished(Conflict):
    pass


class JobFailed(Conflict):
    pass


class InvalidTransition(Conflict):
    pass


class IdempotencyInFlight(Conflict):
    pass


class IdenticalRelease(Conflict):
    """``job_id`` and ``state`` are those of the job whose release can be had at no charge."""


class SnapshotLate(Conflict):
    """``next_step`` is the one that the stream waits for."""


class SnapshotEarly(Conflict):
    """``next_step`` is the one that the stream waits for."""


class SnapshotConflict(Conflict):
    pass


class StreamBusy(Conflict):
    pass


class StreamClosed(Conflict):
    pass


class WorkerMissing(Conflict):
    pass


class InstanceRunning(Conflict):
    pass


class StaleEtag(GraphveilError):
    pass


class IfMatchMissing(GraphveilError):
    pass


class PayloadTooLarge(GraphveilError):
    pass


class UnsupportedMediaType(GraphveilError):
    pass


class RangeNotSatisfiable(GraphveilError):
    pass


class BudgetRefused(GraphveilError):
    pass


class BudgetExceeded(BudgetRefused):
    pass


class UnitMismatch(BudgetRefused):
    pass


class KindNotAllowed(BudgetRefused):
    pass


class PolicyRefused(BudgetRefused):
    """``field`` of the request, ``rule`` of the policy, ``limit`` and what was ``asked`` for."""


class TargetNotMet(BudgetRefused):
    pass


class AccountBlocked(BudgetRefused):
    pass


class AccountExposed(BudgetRefused):
    pass


class PrivacyViolation(GraphveilError):
    pass


class PlanExceeded(PrivacyViolation):
    pass


class MeterClosed(PrivacyViolation):
    pass


class UnmeteredFit(PrivacyViolation):
    pass


class TooManyJobs(GraphveilError):
    """``open`` jobs of the tenant or key (``of``) are open, ``limit`` may be; ``retry_after`` in seconds."""


class TooManyEventStreams(GraphveilError):
    """``limit`` is how many may be open at a time; ``retry_after`` in seconds."""


class EventStreamsFull(GraphveilError):
    pass


class TooManyUploads(GraphveilError):
    """``limit`` is how many may be under way at a time; ``retry_after`` in seconds."""


class UploadsFull(GraphveilError):
    pass


class LeaseLost(GraphveilError):
    pass


class StorageError(GraphveilError):
    pass
