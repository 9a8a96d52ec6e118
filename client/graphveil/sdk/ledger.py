"""The connection's calls about accounts and the ledger.

They are about a dataset's account; a part of the SDK's.
"""

from __future__ import annotations

from collections.abc import Iterator

from graphveil.models.checks import LedgerHealth
from graphveil.models.ledger import Budget, Entry, LedgerPage, Verification
from graphveil.sdk.transport import Transport, given


class LedgerCalls:
    """Calls about what is left, and why. They say what explains it, and whether it can be believed."""

    _calls: Transport

    def budget(self, dataset_id: str, *, as_of: str | None = None) -> Budget:
        """Read what is charged, reserved and left.

        With ``as_of`` it is what was, at that moment (RFC 3339, with zone).
        """
        path = f"/datasets/{dataset_id}/budget"
        return self._calls.read(Budget, "GET", path, params=given({"as_of": as_of}))

    def unblock(self, dataset_id: str, *, reason: str) -> Budget:
        """Let the dataset's account take jobs again. The reason enters its ledger."""
        return self._calls.read(
            Budget, "POST", f"/datasets/{dataset_id}/budget/unblock", json={"reason": reason}
        )

    def ledger(self, dataset_id: str) -> Iterator[Entry]:
        """List every entry of the dataset's account. They are oldest first, page by page."""
        return self._calls.pages(LedgerPage, f"/datasets/{dataset_id}/ledger")

    def verify_ledger(self, dataset_id: str) -> Verification:
        """Recompute the dataset's account and quotas now. It starts from their first entries."""
        return self._calls.read(Verification, "GET", f"/datasets/{dataset_id}/ledger/verify")

    def ledger_health(self) -> LedgerHealth:
        """Read the verifier's latest findings on every promise. The promises are the ledger's."""
        return self._calls.read(LedgerHealth, "GET", "/ledger/health")
