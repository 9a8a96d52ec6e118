"""The one table from errors to RFC 9457 problems. The handlers that apply it stand here, too.

Only members that a row's model declares are rendered: what a workflow attaches by mistake stays inside.
Server errors carry no detail, only the request's id.
"""

from __future__ import annotations

import traceback
from dataclasses import dataclass
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import ValidationError
from sqlalchemy.exc import DataError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from starlette.exceptions import HTTPException
from starlette.types import Receive, Scope, Send

from api.http.mends import mend_of
from api.http.validation import field_errors
from api.schemas import problems as shapes
from api.schemas.problems import ActionableBy, Problem
from core import errors, ids

MEDIA_TYPE = "application/problem+json"
RETRY_AFTER_SECONDS = 5
MAX_FRAMES = 12
CALLER, CURATOR, OPERATOR = ActionableBy.CALLER, ActionableBy.CURATOR, ActionableBy.OPERATOR

log = structlog.get_logger(component="api")


@dataclass(frozen=True)
class Row:
    """One kind of problem. ``slug`` is its public, stable name and the name of its page."""

    slug: str
    title: str
    status: int
    retryable: bool
    actionable_by: ActionableBy
    model: type[Problem] = Problem

    @property
    def type(self) -> str:
        """The problem's URI, relative to the service."""
        return f"/problems/{self.slug}"


_INVALID = shapes.InvalidInputProblem
_STATE = shapes.StateProblem
_BUDGET = shapes.BudgetProblem
_STREAM = shapes.StreamProblem

TABLE: dict[type[Exception], Row] = {
    errors.GraphveilError: Row("internal-error", "The service failed", 500, False, OPERATOR),
    errors.InvalidInput: Row("invalid-input", "The request cannot be used", 422, False, CALLER, _INVALID),
    errors.UnknownMethod: Row("unknown-method", "No such method", 422, False, CALLER, _INVALID),
    errors.UnknownFormat: Row("unknown-format", "No such format", 422, False, CALLER, _INVALID),
    errors.NotAccepted: Row("not-accepted", "The method does not take this", 422, False, CALLER, _INVALID),
    errors.IngestRejected: Row(
        "ingest-rejected", "The upload breaks its schema", 422, False, CURATOR, shapes.IngestRejectedProblem
    ),
    errors.IdempotencyKeyMissing: Row(
        "idempotency-key-missing", "Idempotency-Key is required", 400, False, CALLER, _INVALID
    ),
    errors.IdempotencyKeyReused: Row(
        "idempotency-key-reused",
        "Idempotency-Key was used otherwise",
        422,
        False,
        CALLER,
        shapes.KeyReusedProblem,
    ),
    errors.Unauthenticated: Row("unauthenticated", "A valid key or token is required", 401, False, CALLER),
    errors.IssuerUnavailable: Row("issuer-unavailable", "Tokens cannot be checked now", 503, True, OPERATOR),
    errors.RateLimited: Row(
        "rate-limited", "Too many requests", 429, True, CALLER, shapes.RateLimitedProblem
    ),
    errors.RequestTimeout: Row("request-timeout", "The body took too long", 408, True, CALLER),
    errors.Forbidden: Row(
        "forbidden", "The key's roles do not allow this", 403, False, OPERATOR, shapes.ForbiddenProblem
    ),
    errors.FormRefused: Row(
        "form-refused", "The form is not one that this session was given", 403, False, CALLER
    ),
    errors.SecondPersonNeeded: Row(
        "second-person-needed", "This takes a second person", 403, False, CURATOR, shapes.ForbiddenProblem
    ),
    errors.NotFound: Row("not-found", "No such object", 404, False, CALLER, shapes.NotFoundProblem),
    errors.Conflict: Row(
        "conflict", "This is in conflict with what stands", 409, False, CALLER, shapes.ConflictProblem
    ),
    errors.DatasetNotReady: Row("dataset-not-ready", "The dataset is not ready", 409, True, CURATOR, _STATE),
    errors.LinksNotNamed: Row(
        "links-not-named",
        "The links to hide have not been named",
        409,
        True,
        CURATOR,
        shapes.LinksNotNamedProblem,
    ),
    errors.DirectUploadUnavailable: Row(
        "direct-upload-unavailable", "The storage takes no direct uploads", 409, False, CALLER
    ),
    errors.JobNotFinished: Row("job-not-finished", "The job is still running", 409, True, CALLER, _STATE),
    errors.JobFailed: Row("job-failed", "The job ended without a release", 409, False, CALLER, _STATE),
    errors.InvalidTransition: Row(
        "invalid-transition", "The object cannot take this step", 409, False, CALLER, _STATE
    ),
    errors.IdempotencyInFlight: Row(
        "idempotency-in-flight", "The same request is being handled", 409, True, CALLER
    ),
    errors.IdenticalRelease: Row(
        "identical-release",
        "The same release stands already",
        409,
        False,
        CALLER,
        shapes.IdenticalReleaseProblem,
    ),
    errors.SnapshotLate: Row(
        "snapshot-late", "The stream has gone past this step", 409, False, CALLER, _STREAM
    ),
    errors.SnapshotEarly: Row("snapshot-early", "Earlier steps are missing", 409, True, CALLER, _STREAM),
    errors.SnapshotConflict: Row(
        "snapshot-conflict", "The step has another snapshot", 409, False, CALLER, _STREAM
    ),
    errors.StreamBusy: Row("stream-busy", "Too many snapshots wait", 409, True, CALLER, _STREAM),
    errors.StreamClosed: Row("stream-closed", "The stream is closed", 409, False, CALLER, _STREAM),
    errors.WorkerMissing: Row("worker-missing", "No worker can do this", 409, True, OPERATOR),
    errors.InstanceRunning: Row("instance-running", "The folder is in use", 409, False, OPERATOR),
    errors.StaleEtag: Row(
        "stale-etag", "It has changed since you read it", 412, False, CALLER, shapes.StaleEtagProblem
    ),
    errors.IfMatchMissing: Row("if-match-missing", "If-Match is required", 428, False, CALLER),
    errors.PayloadTooLarge: Row(
        "payload-too-large", "The body is too large", 413, False, CALLER, shapes.PayloadTooLargeProblem
    ),
    errors.UnsupportedMediaType: Row(
        "unsupported-media-type", "The body is no file's bytes", 415, False, CALLER
    ),
    errors.RangeNotSatisfiable: Row(
        "range-not-satisfiable",
        "The file ends before that part",
        416,
        False,
        CALLER,
        shapes.RangeNotSatisfiableProblem,
    ),
    errors.BudgetRefused: Row(
        "budget-refused", "The budget does not allow this", 409, False, CURATOR, _BUDGET
    ),
    errors.BudgetExceeded: Row(
        "budget-exceeded",
        "The budget does not cover this job",
        409,
        False,
        CURATOR,
        shapes.BudgetExceededProblem,
    ),
    errors.TargetNotMet: Row(
        "target-not-met",
        "No epsilon within reach meets the target",
        409,
        False,
        CALLER,
        shapes.TargetNotMetProblem,
    ),
    errors.UnitMismatch: Row(
        "unit-mismatch",
        "The plan's unit is not the account's",
        422,
        False,
        CALLER,
        shapes.UnitMismatchProblem,
    ),
    errors.KindNotAllowed: Row(
        "kind-not-allowed",
        "The dataset's policy does not allow this guarantee",
        422,
        False,
        CURATOR,
        shapes.KindNotAllowedProblem,
    ),
    errors.PolicyRefused: Row(
        "policy-refused",
        "The dataset's policy does not allow this",
        422,
        False,
        CURATOR,
        shapes.PolicyRefusedProblem,
    ),
    errors.AccountBlocked: Row(
        "account-blocked", "The account is blocked", 409, False, CURATOR, shapes.AccountBlockedProblem
    ),
    errors.AccountExposed: Row(
        "account-exposed", "The account is exposed", 409, False, CURATOR, shapes.AccountExposedProblem
    ),
    errors.PrivacyViolation: Row(
        "privacy-violation", "The method broke its privacy plan", 500, False, OPERATOR
    ),
    errors.PlanExceeded: Row("plan-exceeded", "The method overran its plan", 500, False, OPERATOR),
    errors.MeterClosed: Row("meter-closed", "The method went on after an overrun", 500, False, OPERATOR),
    errors.UnmeteredFit: Row("unmetered-fit", "The method recorded no read", 500, False, OPERATOR),
    errors.TooManyJobs: Row(
        "too-many-jobs", "Too many open jobs", 429, True, CALLER, shapes.TooManyJobsProblem
    ),
    errors.TooManyEventStreams: Row(
        "too-many-event-streams", "Too many event streams", 429, True, CALLER, shapes.EventStreamsProblem
    ),
    errors.EventStreamsFull: Row(
        "event-streams-full", "The service follows no further job now", 503, True, OPERATOR
    ),
    errors.TooManyUploads: Row(
        "too-many-uploads", "Too many uploads", 429, True, CALLER, shapes.UploadsProblem
    ),
    errors.UploadsFull: Row(
        "uploads-full", "The service receives no further upload now", 503, True, OPERATOR
    ),
    errors.LeaseLost: Row("lease-lost", "Another worker owns the work", 503, True, OPERATOR),
    errors.StorageError: Row("storage-unavailable", "Object storage is unavailable", 503, True, OPERATOR),
    OperationalError: Row("database-unavailable", "The database is unavailable", 503, True, OPERATOR),
    PoolTimeout: Row("database-unavailable", "The database is unavailable", 503, True, OPERATOR),
}

METHOD_NOT_ALLOWED = Row("method-not-allowed", "The method is not allowed here", 405, False, CALLER)
BAD_REQUEST = Row("bad-request", "The request is malformed", 400, False, CALLER)
TOO_MANY_CONNECTIONS = Row("too-many-connections", "Too many connections", 429, True, CALLER)
CONNECTIONS_FULL = Row("connections-full", "The service takes no further connection now", 503, True, OPERATOR)
INTERNAL = TABLE[errors.GraphveilError]
WITHOUT_ERROR = (METHOD_NOT_ALLOWED, BAD_REQUEST, TOO_MANY_CONNECTIONS, CONNECTIONS_FULL)
"""What is found before any code of ours could raise an error."""

_BY_STATUS = {
    401: TABLE[errors.Unauthenticated],
    403: TABLE[errors.Forbidden],
    404: TABLE[errors.NotFound],
    405: METHOD_NOT_ALLOWED,
    413: TABLE[errors.PayloadTooLarge],
    422: TABLE[errors.InvalidInput],
}

# Our own errors never come as HTTPException: these are the router's.
_NO_ROUTE = {
    404: "There is nothing at this address; /openapi.json lists what there is.",
    405: "This address does not take this method; the header Allow names those that it takes.",
}


def rows() -> dict[str, Row]:
    """Every kind of problem by its slug."""
    return {row.slug: row for row in (*TABLE.values(), *WITHOUT_ERROR)}


def row_of(error: Exception) -> Row:
    """Find the row of the error's class. It is that of its nearest ancestor otherwise, else the internal
    error's."""
    return next((TABLE[kind] for kind in type(error).__mro__ if kind in TABLE), INTERNAL)


def render(
    row: Row, request_id: str, *, detail: str | None = None, members: dict[str, Any] | None = None
) -> Problem:
    """Render the problem as its model allows it. Members that do not fit their declared type are left out."""
    standard = {
        "type": row.type,
        "title": row.title,
        "status": row.status,
        "detail": detail if row.status < 500 else None,
        "request_id": request_id,
        "retryable": row.retryable,
        "actionable_by": row.actionable_by,
    }
    extras = {k: v for k, v in (members or {}).items() if k in row.model.model_fields and k not in standard}
    try:
        return row.model.model_validate({**standard, **extras})
    except ValidationError as misfit:
        log.error(
            "problem_members_misfit",
            slug=row.slug,
            fields=sorted({str(e["loc"][0]) for e in misfit.errors()}),
        )
        return row.model.model_validate(standard)


class _Answer(JSONResponse):
    """Tells the boundary what kind of problem it is, to be counted."""

    media_type = MEDIA_TYPE

    def __init__(self, slug: str, body: dict[str, Any], status: int, headers: dict[str, str]) -> None:
        super().__init__(body, status, headers)
        self.slug = slug

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        scope["state"]["problem"] = self.slug
        await super().__call__(scope, receive, send)


def response(row: Row, request_id: str, **content: Any) -> JSONResponse:
    """Make an HTTP response of the problem. It has the headers that its status needs."""
    problem = render(row, request_id, **content)
    headers = {"Cache-Control": "no-store"}
    if row.status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if row.status == 408:
        headers["Connection"] = "close"  # the rest of the body is not waited for
    if row.status == 416:
        headers["Content-Range"] = f"bytes */{content.get('members', {}).get('size_bytes', '*')}"
    if row.status == 503 or row is TOO_MANY_CONNECTIONS:
        headers["Retry-After"] = str(RETRY_AFTER_SECONDS)
    return _Answer(row.slug, problem.model_dump(mode="json", exclude_none=True), row.status, headers)


def of_error(error: errors.GraphveilError, request_id: str) -> JSONResponse:
    """Make the response to an error of our tree."""
    row = row_of(error)
    members = dict(error.members)
    if issubclass(row.model, _INVALID) and isinstance(field := members.pop("field", None), str):
        mend = str(members.pop("how_to_mend", None) or mend_of(field, error.message))
        members["errors"] = [{"field": field, "message": error.message, "how_to_mend": mend}]
    answer = response(row, request_id, detail=error.message, members=members)
    if isinstance(pause := members.get("retry_after"), int):
        answer.headers["Retry-After"] = str(pause)
    return answer


def request_id_of(request: Request) -> str:
    """Return the id that the middleware gave this request."""
    return getattr(request.state, "request_id", None) or ids.new_id("req")


def log_failure(event: str, error: BaseException) -> None:
    """Log the failure by class and innermost frames. Its message may quote values, and stays out."""
    frames = traceback.extract_tb(error.__traceback__)[-MAX_FRAMES:]
    lines = [f"{frame.filename}:{frame.lineno} {frame.name}" for frame in frames]
    log.error(event, error=type(error).__qualname__, frames=lines)


def answer_to(request: Request, error: Exception) -> JSONResponse | None:
    """Make the response to an error of any kind. Callers learn of it; None for one that nobody foresaw.

    What the service is to blame for is logged.
    """
    request_id = request_id_of(request)
    match error:
        case errors.GraphveilError():
            if row_of(error).status >= 500:
                log_failure("request_failed", error)
            return of_error(error, request_id)
        case DataError():
            # PostgreSQL's own limits, such as text with a NUL character: nothing that a schema need repeat.
            log_failure("value_not_storable", error)
            detail = "A value cannot be stored, such as a text with a NUL character."
            return response(TABLE[errors.InvalidInput], request_id, detail=detail)
        case OperationalError() | PoolTimeout():
            log_failure("database_unavailable", error)
            return response(row_of(error), request_id)
        case RequestValidationError():
            members = {"errors": field_errors(error.errors())}
            detail = "The request does not have the documented shape."
            return response(TABLE[errors.InvalidInput], request_id, detail=detail, members=members)
        case HTTPException():
            row = _BY_STATUS.get(error.status_code, BAD_REQUEST if error.status_code < 500 else INTERNAL)
            detail = _NO_ROUTE.get(error.status_code, str(error.detail))
            answer = response(row, request_id, detail=detail)
            answer.headers.update(error.headers or {})
            return answer
        case _:
            return None


def install(app: FastAPI) -> None:
    """Every error that reaches the app's edge becomes a problem."""

    async def answered(request: Request, error: Exception) -> JSONResponse:
        answer = answer_to(request, error)
        assert answer is not None  # the handler is registered for what has an answer
        return answer

    for kind in (
        errors.GraphveilError,
        DataError,
        OperationalError,
        PoolTimeout,
        RequestValidationError,
        HTTPException,
    ):
        app.add_exception_handler(kind, answered)
