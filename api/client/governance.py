"""The calls about policies, proposals, approvals and quotas, as a part of the SDK's connection."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from api.client.transport import Transport
from core.datasets.views import DatasetPolicy
from core.jobs.views import Job
from core.ledger.views import Budget, Quotas
from core.proposals.views import Proposal, Proposals


class GovernanceCalls:
    """What jobs may ask for, and what takes a second person."""

    _calls: Transport

    def policy(self, dataset_id: str, *, version: int | None = None) -> DatasetPolicy:
        """The dataset's policy, or an earlier version of it."""
        query = {} if version is None else {"version": version}
        answer = self._calls.request("GET", f"/datasets/{dataset_id}/policy", params=query)
        return DatasetPolicy.model_validate(answer.json())

    def set_policy(
        self, dataset_id: str, policy: Mapping[str, Any], *, reason: str, version: int | None = None
    ) -> DatasetPolicy | Proposal:
        """The policy stands, or a proposal of it is open where it allows more than the present one.

        ``policy`` is the whole of it: what is left out has its default. ``version``: the one that you mean to
        change; ProblemError (stale-etag) where another stands, also when that happens meanwhile.
        """
        path = f"/datasets/{dataset_id}/policy"
        seen = self._calls.request("GET", path)
        standing = DatasetPolicy.model_validate(seen.json()).version
        tag = seen.headers["ETag"] if version in (None, standing) else f'"version {version}"'
        answer = self._calls.request(
            "PUT", path, json={"policy": dict(policy), "reason": reason}, headers={"If-Match": tag}
        )
        model = Proposal if answer.status_code == 202 else DatasetPolicy
        return model.model_validate(answer.json())

    def propose_grant(
        self,
        dataset_id: str,
        *,
        reason: str,
        epsilon: str | None = None,
        delta: str = "0",
        quota: tuple[str, str] | None = None,
    ) -> Proposal:
        """A proposal to add these amounts to the capacity of the account, or of a quota (scope, name).

        Safe to repeat while it is open: the same proposal by the same person is one.
        """
        body: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "reason": reason}
        if quota is not None:
            body["quota"] = {"scope": quota[0], "name": quota[1]}
        answer = self._calls.request(
            "POST", f"/datasets/{dataset_id}/budget/grants", json=body, repeatable=True
        )
        return Proposal.model_validate(answer.json())

    def proposals(self, *, dataset_id: str | None = None, state: str | None = None) -> Iterator[Proposal]:
        """The tenant's proposals, newest first, page by page."""
        given = {"dataset_id": dataset_id, "state": state}
        query = {name: value for name, value in given.items() if value is not None}
        while True:
            page = Proposals.model_validate(self._calls.request("GET", "/proposals", params=query).json())
            yield from page.items
            if page.next_cursor is None:
                return
            query["cursor"] = page.next_cursor

    def proposal(self, proposal_id: str) -> Proposal:
        """One proposal."""
        return Proposal.model_validate(self._calls.request("GET", f"/proposals/{proposal_id}").json())

    def approve_proposal(self, proposal_id: str, *, reason: str) -> Proposal:
        """It has taken effect. For a second curator."""
        return Proposal.model_validate(self._decide(f"/proposals/{proposal_id}/approve", reason))

    def reject_proposal(self, proposal_id: str, *, reason: str) -> Proposal:
        """It never takes effect. For a second curator."""
        return Proposal.model_validate(self._decide(f"/proposals/{proposal_id}/reject", reason))

    def withdraw_proposal(self, proposal_id: str) -> Proposal:
        """It is taken back by the person who made it."""
        answer = self._calls.request("POST", f"/proposals/{proposal_id}/withdraw", repeatable=True)
        return Proposal.model_validate(answer.json())

    def approve_job(self, job_id: str, *, reason: str) -> Job:
        """The job that awaited approval is queued. For a second curator."""
        return Job.model_validate(self._decide(f"/jobs/{job_id}/approve", reason))

    def reject_job(self, job_id: str, *, reason: str) -> Job:
        """The job that awaited approval has ended; its budget is free again. For a second curator."""
        return Job.model_validate(self._decide(f"/jobs/{job_id}/reject", reason))

    def quotas(self, dataset_id: str) -> list[Budget]:
        """What each team and project with a quota has charged, reserved and left."""
        answer = self._calls.request("GET", f"/datasets/{dataset_id}/budget/quotas")
        return Quotas.model_validate(answer.json()).items

    def open_quota(
        self, dataset_id: str, scope: str, name: str, *, epsilon: str, reason: str, delta: str = "0"
    ) -> Budget:
        """The team or project draws on a quota from now on. Safe to repeat."""
        body = {"epsilon": epsilon, "delta": delta, "reason": reason}
        answer = self._calls.request("PUT", f"/datasets/{dataset_id}/budget/quotas/{scope}/{name}", json=body)
        return Budget.model_validate(answer.json())

    def adjust(
        self, dataset_id: str, *, epsilon: str, reason: str, delta: str = "0", head: str | None = None
    ) -> Budget:
        """Spend that happened outside the service counts as charged, for good.

        ``head``: that of the budget which you read; give it to make a repetition safe.
        """
        body = {"epsilon": epsilon, "delta": delta, "reason": reason, "head": head}
        answer = self._calls.request("POST", f"/datasets/{dataset_id}/budget/adjustments", json=body)
        return Budget.model_validate(answer.json())

    def _decide(self, path: str, reason: str) -> Any:
        """Decisions are safe to repeat."""
        return self._calls.request("POST", path, json={"reason": reason}, repeatable=True).json()
