"""The typed client of the service.

>>> from api.client import Graphveil
>>> with Graphveil("https://graphveil.example", token) as service:
...     job = service.submit(dataset_id, epsilon="0.5")
...     service.wait(job.id)
...     report = service.report(job.id)
"""

from api.client.errors import ClientError, DigestMismatch, ProblemError, TransportError, WaitTimeout
from api.client.sdk import Graphveil

__all__ = ["ClientError", "DigestMismatch", "Graphveil", "ProblemError", "TransportError", "WaitTimeout"]
