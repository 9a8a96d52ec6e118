"""Who is at a page. A session's cookie takes the place of the header that the API's callers send."""

from __future__ import annotations

import time
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import quote, urlsplit

from anyio import to_thread
from fastapi import Request, Response
from fastapi.responses import JSONResponse, RedirectResponse
from fastapi.routing import APIRoute

from api.console import cookies, forms, pages
from api.http import problems
from api.http.limits import Limits, client_of
from api.http.open import counted
from core.errors import RateLimited, Unauthenticated
from core.identity.cache import PrincipalCache
from core.identity.service import Principal, token_hash
from core.workflows.identity import sessions
from graphveil.models.identity import RateLimit

HOME, SIGN_IN = "/console", "/console/sign-in"
MAX_PATH_BYTES = 3_000
"""How long a path may be as a form sends it, so that the form of the sign-in has room for it."""
Handler = Callable[[Request], Coroutine[Any, Any, Response]]


class Page(APIRoute):
    """A page for everybody, within the limit of its address. Whatever goes wrong on it is shown as a page."""

    def get_route_handler(self) -> Handler:
        return _shown(counted(super().get_route_handler()))


class Signed(APIRoute):
    """A page for those who are signed in, who are known before a byte of a form is read.

    ``state.principal`` is who it is, so that a route asks for its roles as those of the API do. A form's
    token is checked here: what a route is sent by POST came from a page of the same session. Whoever is not
    signed in is led to the sign-in.
    """

    reads_form = True

    def get_route_handler(self) -> Handler:
        handler = super().get_route_handler()
        reads_form = self.reads_form

        async def signed(request: Request) -> Response:
            try:
                await to_thread.run_sync(know, request)
            except Unauthenticated:
                return to_sign_in(request)
            if request.method == "POST" and reads_form:
                request.state.form = await forms.read(request, request.app.state.services.settings)
                cookies.check_form(request, request.state.secret, request.state.form.get(cookies.CSRF_FIELD))
            return await handler(request)

        return _shown(signed)


class Uploading(Signed):
    """A page whose form holds a file: the route reads it as it comes, and checks its token by itself."""

    reads_form = False


def know(request: Request) -> None:
    """Identify who is signed in. ``state.principal`` is that, ``state.secret`` what the cookie says. The
    request is counted as one of the session's key. Raises Unauthenticated, RateLimited.

    A cookie that opens nothing is an attempt of its address; after many of those, only sessions that this
    process has seen open are looked up.
    """
    state = request.app.state
    token = cookies.get(request, cookies.SESSION)
    if token is None:
        raise Unauthenticated("sign in first")
    limits: Limits = state.limits
    seen: PrincipalCache = state.seen_sessions
    digest, began = token_hash(token), time.monotonic()
    if seen.get(digest) is None:
        limits.check_attempts(client_of(request))
    try:
        principal = sessions.signed_in(state.services, token)
    except Unauthenticated:
        limits.refused_attempt(client_of(request))
        raise
    seen.put(digest, principal, checked_at=began, left=None)
    request.state.principal, request.state.secret = principal, token
    count(request, principal)


def count(request: Request, principal: Principal) -> None:
    """Count the request against the principal's minute. Raises RateLimited."""
    limits: Limits = request.app.state.limits
    route = getattr(request.scope.get("route"), "path", "")
    try:
        request.state.rate_limit = limits.take(principal.key_id, request.method, route)
    except RateLimited as refused:
        members = refused.members
        request.state.rate_limit = RateLimit(
            limit=members["limit"], remaining=0, reset_seconds=members["retry_after"]
        )
        raise


def to_sign_in(request: Request) -> Response:
    """Redirect to the sign-in, and back to the page. A form is not sent again."""
    target = SIGN_IN
    if request.method == "GET" and "HX-Request" not in request.headers:
        query = f"?{request.url.query}" if request.url.query else ""
        target = f"{SIGN_IN}?next={quote(request.url.path + query, safe='')}"
    if "HX-Request" in request.headers:
        return Response(status_code=204, headers={"HX-Redirect": SIGN_IN, **pages.HEADERS})
    answer = see(target)
    cookies.drop(request, answer, cookies.SESSION)
    return answer


def see(path: str) -> RedirectResponse:
    """Lead the browser to another page of the console, by GET."""
    return RedirectResponse(path, 303, pages.HEADERS)


def own_path(asked: str | None) -> str:
    """Return the path if it is the console's own. It has nothing that leads elsewhere; else it is the
    overview's."""
    if not asked or not asked.isprintable() or "\\" in asked or "%2e" in asked.lower():
        return HOME
    if len(quote(asked, safe="")) > MAX_PATH_BYTES:
        return HOME
    parts = urlsplit(asked)
    inside = parts.path == HOME or parts.path.startswith(f"{HOME}/")
    aside = parts.scheme or parts.netloc or ".." in parts.path.split("/") or "//" in parts.path
    return asked if inside and not aside and not asked.startswith("//") else HOME


def _shown(handler: Handler) -> Handler:
    """Show what the handler raises as a page, with the API's own status and words."""

    async def shown(request: Request) -> Response:
        try:
            return await handler(request)
        except Exception as error:
            answer = problems.answer_to(request, error)
            if answer is None:
                problems.log_failure("unexpected_failure", error)
                answer = problems.response(problems.INTERNAL, problems.request_id_of(request))
            return _problem(request, answer)

    return shown


def _problem(request: Request, answer: JSONResponse) -> Response:
    return pages.problem_page(request, answer)
