"""Facts that a pack states. Its gathering measured them; its files state them in these terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from core.graphs.schema import GraphSchema
from core.reports.model import PublicPart

EditionName = Literal["public", "ledger"]


@dataclass(frozen=True)
class PackFacts:
    """All facts of a pack. Those that become files are as JSON has them.

    ``report`` is the public part as it is served, ``report_bytes`` as it was charged. ``ledger``: entries
    from the reservation to the head, in the edition ``ledger`` only. ``schema``: what the dataset declares,
    which is public. A charge's time is told by the day: an exact one would tell how long a job ran.
    """

    edition: EditionName
    job_id: str
    dataset_id: str
    made_on: str
    service_version: str
    report: PublicPart
    report_bytes: bytes = field(repr=False)
    plan: dict[str, Any] = field(repr=False)
    transcript: Sequence[dict[str, Any]] = field(repr=False)
    charge: dict[str, Any]
    governance: dict[str, Any]
    audits: Sequence[dict[str, Any]]
    artifacts: Sequence[dict[str, Any]]
    dataset: dict[str, Any]
    schema: GraphSchema
    ledger: dict[str, Any] | None = field(default=None, repr=False)
