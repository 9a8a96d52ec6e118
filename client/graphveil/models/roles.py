"""What callers may do.

It stands apart from the tables, so that the client knows it without a database library.
"""

from __future__ import annotations

from graphveil.names import StrEnum


class Role(StrEnum):
    """What a caller may do inside its tenant.

    CURATOR declares datasets, uploads, reads curator reports. REQUESTER submits jobs and downloads releases.
    AUDITOR reads ledgers and spends nothing. OPERATOR makes and revokes keys and sees the service's health,
    no data.
    """

    CURATOR = "curator"
    REQUESTER = "requester"
    AUDITOR = "auditor"
    OPERATOR = "operator"
