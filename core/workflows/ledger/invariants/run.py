"""Every promise, checked one after the other; each result is kept."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass

from sqlalchemy.exc import OperationalError

from core.checks import service as checks
from core.logging import get_logger
from core.workflows.common.context import Services
from core.workflows.ledger import head_exports
from core.workflows.ledger.invariants.accounts import AccountsStay, ExposureLasts
from core.workflows.ledger.invariants.base import Found, Promise
from core.workflows.ledger.invariants.costs import CostsArePlanned, CostsAreRecorded, UnitsAgree
from core.workflows.ledger.invariants.guards import GuardsStand
from core.workflows.ledger.invariants.ledger import ledger_promises
from core.workflows.ledger.invariants.releases import (
    DeclarationsReadNothing,
    ReleasesAreCharged,
    SamplesAreFree,
)
from core.workflows.ledger.invariants.reservations import EndingsAgree, HoldsHaveJobs, KeysMakeOne
from core.workflows.ledger.invariants.restored import HeadsAreExported, RestoredWhole
from core.workflows.ledger.invariants.streams import StreamsKeepTheirWindows

log = get_logger(__name__)


@dataclass(frozen=True)
class Outcome:
    """One promise's check; ``found`` is None where the check itself failed."""

    name: str
    found: Found | None

    @property
    def kept(self) -> bool:
        """The check ran, and reported nothing."""
        return self.found is not None and self.found.total == 0


def promises(services: Services) -> tuple[Promise, ...]:
    """List all promises, the ledger's own first."""
    return (
        *ledger_promises(),
        HoldsHaveJobs(),
        EndingsAgree(),
        ReleasesAreCharged(),
        SamplesAreFree(),
        DeclarationsReadNothing(),
        CostsAreRecorded(),
        CostsArePlanned(),
        UnitsAgree(),
        KeysMakeOne(),
        ExposureLasts(),
        StreamsKeepTheirWindows(),
        AccountsStay(),
        GuardsStand(),
        RestoredWhole(services),
        HeadsAreExported(services),
    )


def check(services: Services, promise: Promise, limit: int = checks.FINDINGS_KEPT) -> Found:
    """Find what breaks the promise. It is looked for in one snapshot of the database; nothing is written."""
    with services.db.transaction() as session:
        head_exports.snapshot(session)
        return promise.check(session, limit)


def run_checks(services: Services, chosen: Sequence[Promise] | None = None) -> list[Outcome]:
    """Every promise was checked and its result kept. One failing check does not stop the others.

    A check that cannot be made keeps nothing, so that its last result grows old, and stale. Raises
    OperationalError where the database is away: every further check would fail alike.
    """
    return [_outcome(services, promise) for promise in chosen or promises(services)]


def _outcome(services: Services, promise: Promise) -> Outcome:
    began = time.monotonic()
    try:
        found = check(services, promise)
    except OperationalError:
        raise
    except Exception as error:  # whatever it is: the other promises must not go unchecked
        log.error("check_failed", invariant=promise.name, error=type(error).__name__)
        return Outcome(promise.name, None)
    seconds = time.monotonic() - began
    # Another transaction than the check's, which may not write.
    with services.db.transaction() as session:
        checks.record(
            session,
            promise.name,
            seconds=seconds,
            violations=found.total,
            findings=[finding.to_json() for finding in found.findings],
        )
    if found.total:
        log.error("invariant_violated", invariant=promise.name, violations=found.total)
    return Outcome(promise.name, found)
