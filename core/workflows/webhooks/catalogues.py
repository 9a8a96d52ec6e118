"""A release as a catalogue takes it. Its calls go one after the other, until one fails or all were taken."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from core.errors import GraphveilError
from core.identity.models import Role
from core.identity.service import Principal
from core.logging import get_logger
from core.reports.catalogues.context import Context
from core.reports.pushes import Call, calls
from core.webhooks import signing
from core.webhooks.models import Trouble
from core.webhooks.sending import Outcome
from core.workflows.common.context import Services
from core.workflows.releases import queries
from core.workflows.webhooks.deliveries import Push, Sending

Send = Callable[[str, str, bytes, Mapping[str, str]], Outcome]
"""Sends a body to an address by a method, with headers."""

log = get_logger(__name__)


def push(services: Services, sending: Sending, about: Push, send: Send) -> Outcome:
    """Send the release in the catalogue's form. It and its budget are as they stand now; returned is what
    came of it.

    Every call replaces what an earlier one wrote: after a failure all are sent again.
    """
    try:
        # As any requester of the tenant: a catalogue gets nothing of the curators' part.
        reader = Principal(about.tenant, "catalogue", "catalogue", frozenset({Role.REQUESTER}))
        found = queries.edition(services, reader, about.job_id)
        context = Context(services.settings.public_url.rstrip("/"), found.released_on)
        left = calls(about.catalogue, found.report.public, context)
        call = next(left)
    except GraphveilError as error:  # erased by now, or its store does not answer
        log.warning("release_unreadable", delivery_id=sending.delivery_id, error=type(error).__name__)
        return Outcome(trouble=Trouble.UNREADABLE)
    number = 1
    while True:
        outcome = _sent(sending, about, number, call, send)
        if outcome.trouble is not None:
            return outcome
        try:
            call = left.send(_read(outcome.content))
        except StopIteration:
            return outcome
        except ValueError:  # the emitter needs something of the answer that is not there
            return Outcome(outcome.status, Trouble.BROKEN)
        number += 1


def _read(content: bytes) -> Any:
    """Read the answer; None where it is no JSON, which most catalogues answer with nothing."""
    try:
        return json.loads(content)
    except ValueError:
        return None


def _sent(sending: Sending, about: Push, number: int, call: Call, send: Send) -> Outcome:
    """Send one call, signed as webhooks are: under the delivery's id and the call's number."""
    body = signing.body_of(call.content)
    # Receivers drop an id that they have seen: each call has its own.
    name = f"{sending.delivery_id}-{number}"
    headers = signing.headers(name, datetime.now(UTC), body, about.secrets)
    if about.token is not None:
        headers["Authorization"] = f"Bearer {about.token}"
    return send(call.method, sending.url.rstrip("/") + call.path, body, {**headers, **call.headers})
