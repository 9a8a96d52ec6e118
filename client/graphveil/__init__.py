"""Graphveil for Python: publish synthetic graphs under differential privacy, through a service::

    from graphveil import Graphveil

    with Graphveil("https://graphveil.example", token) as service:
        job = service.submit(dataset_id, epsilon="0.5")
        service.wait(job.id)
        report = service.report(job.id)

or without one, on this machine (``pip install 'graphveil[engine]'``)::

    import graphveil as gv

    release = gv.synthesize(graph, epsilon=1, budget=gv.Budget("budget.json", epsilon=4))

What is named here loads when it is first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from graphveil.errors import (
        ClientError,
        DigestMismatch,
        EngineMissing,
        InvalidWebhook,
        ProblemError,
        TransportError,
        WaitTimeout,
    )
    from graphveil.local.budget import Budget
    from graphveil.local.compare import compare
    from graphveil.local.declared import declared
    from graphveil.local.release import Release, read
    from graphveil.local.synthesis import plan, synthesize
    from graphveil.sdk.client import Graphveil
    from graphveil.sdk.webhooks import verify_webhook
    from graphveil.tables.proposing import propose as propose_tables
    from graphveil.tables.work import back_to_tables
    from graphveil.tables.work import read as read_tables

__all__ = [
    "Budget",
    "ClientError",
    "DigestMismatch",
    "EngineMissing",
    "Graphveil",
    "InvalidWebhook",
    "ProblemError",
    "Release",
    "TransportError",
    "WaitTimeout",
    "back_to_tables",
    "compare",
    "declared",
    "plan",
    "propose_tables",
    "read",
    "read_tables",
    "synthesize",
    "verify_webhook",
]

_ROOMS = {
    "Budget": "graphveil.local.budget",
    "compare": "graphveil.local.compare",
    "declared": "graphveil.local.declared",
    "plan": "graphveil.local.synthesis",
    "read": "graphveil.local.release",
    "Release": "graphveil.local.release",
    "synthesize": "graphveil.local.synthesis",
    "Graphveil": "graphveil.sdk.client",
    "verify_webhook": "graphveil.sdk.webhooks",
    "back_to_tables": "graphveil.tables.work",
    "propose_tables": "graphveil.tables.proposing",
    "read_tables": "graphveil.tables.work",
}
"""Where the names stand that are not in :mod:`graphveil.errors`."""
_CALLED = {"propose_tables": "propose", "read_tables": "read"}
"""What is called otherwise in its own room."""


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(import_module(_ROOMS.get(name, "graphveil.errors")), _CALLED.get(name, name))
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
