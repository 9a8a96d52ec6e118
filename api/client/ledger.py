"""The calls about a dataset's account and the ledger, as a part of the SDK's connection."""

from __future__ import annotations

from collections.abc import Iterator

from api.client.transport import Transport
from core.checks.views import LedgerHealth
from core.ledger.views import Budget, Entry, LedgerPage, Verification


class LedgerCalls:
    """What is left, what explains it, and whether it can be believed."""

    _calls: Transport

    def budget(self, dataset_id: str, *, as_of: str | None = None) -> Budget:
        """What is charged, reserved and left; or was, at the moment ``as_of`` (RFC 3339, with its zone)."""
        query = {} if as_of is None else {"as_of": as_of}
        answer = self._calls.request("GET", f"/datasets/{dataset_id}/budget", params=query)
        return Budget.model_validate(answer.json())

    def unblock(self, dataset_id: str, *, reason: str) -> Budget:
        """The dataset's account takes jobs again; the reason enters its ledger."""
        answer = self._calls.request(
            "POST", f"/datasets/{dataset_id}/budget/unblock", json={"reason": reason}
        )
        return Budget.model_validate(answer.json())

    def ledger(self, dataset_id: str) -> Iterator[Entry]:
        """Every entry of the dataset's account, oldest first, page by page."""
        query: dict[str, str] = {}
        while True:
            answer = self._calls.request("GET", f"/datasets/{dataset_id}/ledger", params=query)
            page = LedgerPage.model_validate(answer.json())
            yield from page.items
            if page.next_cursor is None:
                return
            query["cursor"] = page.next_cursor

    def verify_ledger(self, dataset_id: str) -> Verification:
        """The dataset's account and its quotas, recomputed now from their first entries."""
        answer = self._calls.request("GET", f"/datasets/{dataset_id}/ledger/verify")
        return Verification.model_validate(answer.json())

    def ledger_health(self) -> LedgerHealth:
        """Every promise of the ledger, as the service's verifier last found it."""
        return LedgerHealth.model_validate(self._calls.request("GET", "/ledger/health").json())
