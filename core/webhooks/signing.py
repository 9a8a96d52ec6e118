"""Secrets and signatures of Standard Webhooks. They follow the specification, version 1: HMAC-SHA256,
``v1``."""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from standardwebhooks import Webhook

SECRET_BYTES = 32
PREFIX = "whsec_"


@dataclass(frozen=True)
class Secret:
    """A secret as it is shown once, ``whsec_...``. ``until``: when it stops signing; None: the newest."""

    text: str
    until: datetime | None = None


def new_secret() -> Secret:
    """Draw a secret of 256 random bits."""
    return Secret(PREFIX + base64.b64encode(os.urandom(SECRET_BYTES)).decode())


def dumps(secrets: Sequence[Secret]) -> bytes:
    """Serialise the secrets, to be sealed."""
    rows = [[secret.text, secret.until and secret.until.isoformat()] for secret in secrets]
    return json.dumps(rows).encode()


def loads(content: bytes) -> list[Secret]:
    """Read what :func:`dumps` wrote."""
    rows = json.loads(content)
    return [Secret(text, None if until is None else datetime.fromisoformat(until)) for text, until in rows]


def valid(secrets: Sequence[Secret], now: datetime) -> list[Secret]:
    """Keep those that still sign."""
    return [secret for secret in secrets if secret.until is None or secret.until > now]


def rotated(secrets: Sequence[Secret], now: datetime, until: datetime) -> list[Secret]:
    """Generate a new secret, and put it first. It stands before those that still sign: the last one until
    ``until``, earlier ones as said.
    """
    kept = [Secret(secret.text, secret.until or until) for secret in valid(secrets, now)]
    return [new_secret(), *kept]


def body_of(payload: Mapping[str, Any]) -> bytes:
    """Serialise the payload as it is signed and sent. It has the same bytes at every attempt."""
    return json.dumps(payload, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


def headers(delivery_id: str, sent_at: datetime, body: bytes, secrets: Sequence[Secret]) -> dict[str, str]:
    """Make the three headers of the specification. There is a signature by each secret."""
    moment = sent_at.astimezone(UTC)
    signatures = [Webhook(secret.text).sign(delivery_id, moment, body.decode()) for secret in secrets]
    return {
        "webhook-id": delivery_id,
        "webhook-timestamp": str(int(moment.timestamp())),
        "webhook-signature": " ".join(signatures),
    }
