"""The ledger's transitions. Each locks the rows of its accounts, appends one hash-chained entry to each, and
never commits.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import datetime

from sqlalchemy.orm import Session

from core.errors import InvalidInput
from core.ledger import history, holdings, repository
from core.ledger.accounts import open_account, open_quota
from core.ledger.amounts import MAX_STEP
from core.ledger.corrections import adjust, grant, unblock
from core.ledger.entries import append, checked_digests
from core.ledger.invariants import ChainReport, verify
from core.ledger.kinds import EntryKind
from core.ledger.models import LedgerEntry
from core.ledger.repository import (
    EntryPage,
    entries,
    entries_of_job,
    overdue_reservations,
    quotas,
    terminal_of,
)
from core.ledger.reservations import charge, expire, forfeit, keep, preview, previews, release, reserve
from core.ledger.statement import statement_of
from graphveil.models.ledger import Budget

__all__ = [
    "ChainReport",
    "EntryPage",
    "adjust",
    "charge",
    "derive",
    "entries",
    "entries_of_job",
    "expire",
    "expose",
    "forfeit",
    "grant",
    "keep",
    "open_account",
    "open_quota",
    "overdue_reservations",
    "preview",
    "previews",
    "quotas",
    "release",
    "reserve",
    "statement",
    "statement_at",
    "statements",
    "terminal_of",
    "unblock",
    "verify",
]


def expose(
    session: Session, account_id: str, *, job_id: str, digests: Mapping[str, str], actor: str, reason: str
) -> LedgerEntry:
    """Record that the job exposed its graph. It opened it without a guarantee (no digests), or published so
    (its files').

    The account takes no finite claim again, ever. A repetition for the same job and digests returns the entry
    that stands.
    """
    return _note(session, account_id, EntryKind.EXPOSE, job_id, digests, actor, reason)


def derive(
    session: Session, account_id: str, *, job_id: str, digests: Mapping[str, str], actor: str, reason: str
) -> LedgerEntry:
    """Record a further sample of a charged model. It is post-processing, so that it costs nothing."""
    return _note(session, account_id, EntryKind.DERIVE, job_id, digests, actor, reason)


def statement(session: Session, account_id: str, *, steps: tuple[int, int] | None = None) -> Budget:
    """Read what the account or quota holds, in one consistent reading.

    ``steps`` (first, last) are those whose spend is told, the first ``STEPS_SHOWN`` of them; otherwise the
    fullest window's and the latest. Raises NotFound; InvalidInput unless 0 <= first <= last.
    """
    _check_steps(steps)
    return statement_of(*holdings.snapshot(session, account_id, steps=steps), steps=steps)


def statement_at(
    session: Session, account_id: str, as_of: datetime, *, steps: tuple[int, int] | None = None
) -> Budget:
    """Read what the account or quota held at an earlier moment, as :func:`statement` does.

    InvalidInput for a moment in the future or before the account's opening, too.
    """
    _check_steps(steps)
    read = history.snapshot(session, account_id, as_of, steps=steps)
    return statement_of(*read, steps=steps, as_of=as_of)


def _check_steps(steps: tuple[int, int] | None) -> None:
    if steps is not None and not 0 <= steps[0] <= steps[1] <= MAX_STEP:
        raise InvalidInput("the first step is at most the last", field="last_step")


def statements(session: Session, account_ids: Collection[str]) -> dict[str, Budget]:
    """Read what each of the accounts holds. It reads as :func:`statement` does: one reading for all that have
    no window, and one for each other. Raises NotFound.
    """
    statements_read = {
        name: statement_of(*read) for name, read in holdings.snapshots(session, account_ids).items()
    }
    return {
        name: statements_read[name] if name in statements_read else statement(session, name)
        for name in account_ids
    }


def _note(
    session: Session,
    account_id: str,
    kind: EntryKind,
    job_id: str,
    digests: Mapping[str, str],
    actor: str,
    reason: str,
) -> LedgerEntry:
    """Write a zero-amount entry that names digests; one for each job and set of digests."""
    named = checked_digests(digests)
    account, now = repository.lock_account(session, account_id)
    # Under the lock: of two repetitions at once one writes, and the other finds its entry.
    for entry in entries_of_job(session, account_id, job_id, kind):
        if entry.digests == named:
            return entry
    # An account stays exposed from the first time on: a later note does not move it.
    exposed_at = account.exposed_at or now
    written = append(
        session,
        account,
        now,
        kind,
        digests=named,
        job_id=job_id,
        actor=actor,
        reason=reason,
        changes={"exposed_at": exposed_at} if kind is EntryKind.EXPOSE else None,
    )
    return LedgerEntry(**written)
