"""The typed client of the service.

>>> from api.client import Graphveil
>>> with Graphveil("https://graphveil.example", token) as service:
...     job = service.submit(dataset_id, epsilon="0.5")
...     service.wait(job.id)
...     report = service.report(job.id)
"""

from api.client.errors import (
    ClientError,
    DigestMismatch,
    InvalidWebhook,
    ProblemError,
    TransportError,
    WaitTimeout,
)
from api.client.sdk import Graphveil
from api.client.webhooks import verify_webhook

__all__ = [
    "ClientError",
    "DigestMismatch",
    "Graphveil",
    "InvalidWebhook",
    "ProblemError",
    "TransportError",
    "WaitTimeout",
    "verify_webhook",
]
