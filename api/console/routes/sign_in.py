"""Signing in and out. One signs in with a key or at the issuer."""

from __future__ import annotations

import hashlib
import hmac
import json
from typing import Annotated

from anyio import to_thread
from fastapi import APIRouter, Query, Request, Response

from api.console import cookies, forms, pages
from api.console.session import HOME, SIGN_IN, Page, Signed, count, own_path, see
from api.deps import ServicesDep
from api.http.limits import Limits, client_of
from core.errors import Forbidden, NotFound, Unauthenticated
from core.identity.code_flow import Attempt, CodeFlow
from core.identity.service import Principal
from core.workflows.common.context import Services
from core.workflows.common.derived_keys import SIGN_INS, derived_key
from core.workflows.identity import sessions

router = APIRouter(prefix="/console", route_class=Page, include_in_schema=False)
leaving = APIRouter(prefix="/console", route_class=Signed, include_in_schema=False)

FORM_BYTES = 4_096
"""A key, a token and a path: who sends more sends no form of ours."""

Next = Annotated[str | None, Query(max_length=2_000)]


@router.get("/sign-in")
def show(request: Request, next: Next = None) -> Response:
    """The form for a key, and the way to the issuer where there is one."""
    return _form(request, own_path(next))


@router.post("/sign-in")
async def sign_in(request: Request, services: ServicesDep) -> Response:
    """A key opens a session, under a new id whatever cookie the browser came with.

    The form is an attempt of its address before a byte of it is read, whatever it turns out to be.
    """
    await to_thread.run_sync(_attempted, request)
    form = await forms.read(request, services.settings, FORM_BYTES)
    cookies.check_form(request, cookies.get(request, cookies.VISITOR), form.get(cookies.CSRF_FIELD))
    return await to_thread.run_sync(_with_key, request, services, form)


def _attempted(request: Request) -> None:
    """Somebody tries to sign in, before anything that was sent is read. Raises RateLimited."""
    limits: Limits = request.app.state.limits
    limits.attempt(client_of(request))


def _with_key(request: Request, services: Services, form: forms.Form) -> Response:
    try:
        principal, token = sessions.sign_in_with_key(
            services, form.get("key", ""), replacing=cookies.get(request, cookies.SESSION)
        )
    except Unauthenticated as refused:
        return _form(request, own_path(form.get("next")), pages.problem_of(request, refused))
    count(request, principal)
    return _opened(request, token, own_path(form.get("next")))


@router.get("/sign-in/issuer")
def to_issuer(request: Request, next: Next = None) -> Response:
    """The browser goes to the issuer, and keeps what its answer must fit. Raises NotFound: there is none."""
    attempt = Attempt.fresh()
    answer = see(_flow(request).address(attempt, _callback(request)))
    kept = json.dumps([attempt.state, attempt.nonce, attempt.verifier, own_path(next)])
    cookies.put(request, answer, cookies.SIGN_IN, _sealed(request, kept))
    return answer


@router.get("/sign-in/callback")
def from_issuer(
    request: Request,
    services: ServicesDep,
    code: Annotated[str, Query(max_length=4_096)] = "",
    state: Annotated[str, Query(max_length=512)] = "",
) -> Response:
    """The issuer's code opens a session, in the browser that asked for it and in no other."""
    flow = _flow(request)
    _attempted(request)
    try:
        attempt, path = _kept(request, state)
        principal: Principal = flow.principal(attempt, code, _callback(request))
    except Unauthenticated as refused:
        answer = _form(request, HOME, pages.problem_of(request, refused))
        cookies.drop(request, answer, cookies.SIGN_IN)
        return answer
    if not principal.roles:
        raise Forbidden("the issuer gives you none of the service's roles", required_roles=[])
    count(request, principal)
    token = sessions.sign_in(services, principal, replacing=cookies.get(request, cookies.SESSION))
    answer = _opened(request, token, path)
    cookies.drop(request, answer, cookies.SIGN_IN)
    return answer


@leaving.post("/sign-out")
def sign_out(request: Request, services: ServicesDep) -> Response:
    """The session has ended, here and on the server; the browser forgets what it had kept."""
    sessions.sign_out(services, request.state.secret)
    answer = see(f"{SIGN_IN}?done=signed_out")
    cookies.drop(request, answer, cookies.SESSION)
    answer.headers["Clear-Site-Data"] = '"cache"'
    return answer


def _form(request: Request, path: str, problem: dict[str, object] | None = None) -> Response:
    secret = cookies.get(request, cookies.VISITOR) or cookies.fresh_secret()
    request.state.secret = secret
    content = {
        "next": path,
        "issuer": request.app.state.authenticator.code_flow is not None,
        "problem": problem,
    }
    answer = pages.page(request, "sign_in.html", content, status=200 if problem is None else 401)
    cookies.put(request, answer, cookies.VISITOR, secret)
    return answer


def _opened(request: Request, token: str, path: str) -> Response:
    answer = see(path)
    cookies.put(request, answer, cookies.SESSION, token)
    cookies.drop(request, answer, cookies.VISITOR)
    return answer


def _flow(request: Request) -> CodeFlow:
    flow: CodeFlow | None = request.app.state.authenticator.code_flow
    if flow is None:
        raise NotFound("people sign in with keys alone here")
    return flow


def _callback(request: Request) -> str:
    base: str = request.app.state.services.settings.public_url
    return f"{base.rstrip('/')}{SIGN_IN}/callback"


def _sealed(request: Request, kept: str) -> str:
    """The text with an authentication code before it, both as hex: a cookie takes nothing else."""
    key = derived_key(request.app.state.services.settings, SIGN_INS)
    body = kept.encode()
    return f"{hmac.digest(key, body, hashlib.sha256).hex()}{body.hex()}"


def _kept(request: Request, state: str) -> tuple[Attempt, str]:
    """What the browser kept of the sign-in that the issuer answers. Unauthenticated: it is of none."""
    sealed = cookies.get(request, cookies.SIGN_IN) or ""
    try:
        body = bytes.fromhex(sealed[64:])
        kept = body.decode()
    except ValueError:
        raise Unauthenticated("this sign-in is not under way here; begin it again") from None
    if not hmac.compare_digest(sealed.encode(), _sealed(request, kept).encode()):
        raise Unauthenticated("this sign-in is not under way here; begin it again")
    own_state, nonce, verifier, path = json.loads(kept)  # authentic: this module wrote it
    if not hmac.compare_digest(own_state.encode(), state.encode()):
        raise Unauthenticated("this sign-in is not under way here; begin it again")
    return Attempt(own_state, nonce, verifier), own_path(path)
