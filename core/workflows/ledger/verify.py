"""The whole ledger recomputed, and compared with what was signed of it."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

from core.checks import signed_heads
from core.ledger import invariant_queries
from core.ledger import service as ledger
from core.workflows.common.context import Services
from core.workflows.ledger import head_exports
from core.workflows.ledger.invariants.base import Finding

MAX_FLAWS = 1_000


@dataclass(frozen=True)
class Verified:
    """What was read and what is wrong. ``lost``: how many accounts hold less than was signed of them."""

    accounts: int
    entries: int
    heads_taken_at: str | None
    lost: int
    total: int
    flaws: tuple[Finding, ...]

    @property
    def intact(self) -> bool:
        """Nothing is wrong."""
        return self.total == 0


def verify_all(
    services: Services,
    *,
    account_id: str | None = None,
    document: bytes | None = None,
    trusted: Collection[Ed25519PublicKey] | None = None,
) -> Verified:
    """Verify every invariant of the account, or of all. Each is read in a snapshot of its own; then come the
    signed heads.

    ``document`` replaces the newest one of the object store, ``trusted`` the settings' keys. NotFound for an
    account that neither database nor heads know; InvalidInput for a document that is none, or that no trusted
    key has signed. O(entries).
    """
    keys = head_exports.trusted_keys(services.settings)
    if trusted is not None:
        keys = {signed_heads.key_id(key): key for key in trusted}
    signed, gap = None, None
    if document is None and (newest := head_exports.newest(services.store)) is not None:
        document = head_exports.read(services.store, newest)
    if document is not None:
        signed = signed_heads.opened(document, keys)
        gap = head_exports.unlinked(services.store, signed)
    flaws = [] if gap is None else [Finding("", "heads", gap)]
    lost = []
    if signed is not None:
        with services.db.transaction() as session:
            head_exports.snapshot(session)
            lost = [flaw for flaw in head_exports.lost(session, signed) if account_id in (None, flaw.subject)]
    with services.db.transaction() as session:
        accounts = invariant_queries.account_ids(session, account_id)
    # Without a tenant the account itself is gone: there are no entries to verify.
    missing = {flaw.subject for flaw in lost if not flaw.tenant}
    accounts = [each for each in accounts if each not in missing]
    entries = 0
    # A snapshot an account: one over all would keep PostgreSQL from clearing up for as long as they take.
    for each in accounts:
        with services.db.transaction() as session:
            head_exports.snapshot(session)
            report = ledger.verify(session, each)
        entries += report.entries
        flaws += [Finding("", each, f"{v.invariant}: {v.detail}") for v in report.violations]
    flaws += lost
    taken_at = None if signed is None else signed.taken_at
    return Verified(len(accounts), entries, taken_at, len(lost), len(flaws), tuple(flaws[:MAX_FLAWS]))
