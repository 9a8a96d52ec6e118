"""Pages of the console. They are rendered, framed, and sent with what a browser may do on them."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fastapi import Request
from fastapi.responses import HTMLResponse, JSONResponse
from markupsafe import Markup

from api.console import cookies, pictures, static
from api.console.texts import catalogue, text, worded
from api.http import problems
from core.graphs.reading.mapping import LEFT, columns_of
from core.identity.service import Principal
from core.reports.html.render import environment_of
from graphveil.models.roles import Role

if TYPE_CHECKING:
    from jinja2 import Environment

TEMPLATES = Path(__file__).parent / "templates"
# Scripts and styles are files of this service; nothing is asked of any other, and nobody may frame a page.
POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)
HEADERS = {"Content-Security-Policy": POLICY, "Cache-Control": "no-store", "Vary": "Cookie"}

CURATOR, REQUESTER, AUDITOR, OPERATOR = Role.CURATOR, Role.REQUESTER, Role.AUDITOR, Role.OPERATOR


@dataclass(frozen=True)
class Place:
    """A page that every other leads to. It is for those who hold one of the roles."""

    path: str
    name: str
    roles: frozenset[Role]


PLACES = (
    Place("/console", "overview", frozenset(Role)),
    Place("/console/datasets", "datasets", frozenset({CURATOR, REQUESTER, AUDITOR})),
    Place("/console/jobs", "jobs", frozenset({CURATOR, REQUESTER})),
    Place("/console/approvals", "approvals", frozenset({CURATOR, AUDITOR})),
    Place("/console/streams", "streams", frozenset({CURATOR, REQUESTER, AUDITOR})),
    Place("/console/audits", "audits", frozenset({CURATOR, REQUESTER, AUDITOR})),
    Place("/console/ledger", "ledger", frozenset({CURATOR, AUDITOR, OPERATOR})),
    Place("/console/webhooks", "webhooks", frozenset({CURATOR, OPERATOR})),
    Place("/console/keys", "keys", frozenset({OPERATOR})),
)


def page(
    request: Request, template: str, content: Mapping[str, Any] | None = None, *, status: int = 200
) -> HTMLResponse:
    """Answer with a page of the console. Every text in it is escaped."""
    principal: Principal | None = getattr(request.state, "principal", None)
    secret = getattr(request.state, "secret", None)
    done = request.query_params.get("done", "")
    frame = {
        "principal": principal,
        "places": [] if principal is None else [p for p in PLACES if principal.roles & p.roles],
        "path": request.url.path,
        "csrf": "" if secret is None else cookies.csrf_of(secret),
        "done": done if f"done.{done}" in catalogue() else "",
        "can": _can(principal),
        "problem": None,
    }
    body = environment().get_template(template).render(frame | dict(content or {}))
    return HTMLResponse(body, status, HEADERS)


def problem_page(request: Request, answer: JSONResponse) -> HTMLResponse:
    """Show a problem as a page. It has the same facts as the API's, under the same status."""
    found = json.loads(bytes(answer.body))
    shown = page(request, "problem.html", {"found": found}, status=answer.status_code)
    for name in ("Retry-After", "Connection"):
        if name in answer.headers:
            shown.headers[name] = answer.headers[name]
    request.scope["state"]["problem"] = found["type"].rpartition("/")[2]
    return shown


def problem_of(request: Request, error: Exception) -> dict[str, Any]:
    """Return the problem of an error. It is shown with the form that met it. Others are raised again."""
    answer = problems.answer_to(request, error)
    if answer is None or answer.status_code >= 500:
        raise error
    found: dict[str, Any] = json.loads(bytes(answer.body))
    request.scope["state"]["problem"] = found["type"].rpartition("/")[2]
    return found


@lru_cache(maxsize=1)
def environment() -> Environment:
    """Make the environment of the console's templates. They stand over those of the report."""
    made = environment_of(TEMPLATES)
    made.globals |= {"t": text, "worded": worded, "asset": static.address, "bar_of": pictures.bar_of}
    made.filters |= {
        "moment": moment,
        "ago": ago,
        "short": short,
        "said_of_columns": said_of_columns,
    }
    return made


def moment(value: datetime | str | None) -> Markup:
    """Write a time in UTC. It is exact for machines, to the minute for people; a dash where there is none."""
    if value is None:
        return Markup('<span class="none">–</span>')
    at = datetime.fromisoformat(value) if isinstance(value, str) else value
    return Markup('<time datetime="{}">{}</time>').format(at.isoformat(), at.strftime("%Y-%m-%d %H:%M UTC"))


def ago(seconds: float | None) -> str:
    """Write how long ago something was, coarsely."""
    if seconds is None:
        return text("time.never")
    for size, name in ((86_400, "days"), (3_600, "hours"), (60, "minutes")):
        if seconds >= size:
            return text(f"time.{name}", count=round(seconds / size))
    return text("time.now")


def said_of_columns(mapping: str) -> str:
    """Write which columns an answer names. The table next to it calls them so."""
    return ", ".join(
        text("reading.named", role=text(f"reading.role_{'left' if role == LEFT else role}"), column=column)
        for role, column in columns_of(mapping)
    )


def short(identifier: str) -> str:
    """Write an id so that a line holds it. It has its prefix and its last six characters."""
    prefix, _, rest = identifier.partition("_")
    return f"{prefix}…{rest[-6:]}" if rest else identifier


def _can(principal: Principal | None) -> dict[str, bool]:
    """Say which roles the caller has, by name: pages offer what the caller may do. Workflows decide."""
    return {role.value: principal is not None and role in principal.roles for role in Role}
