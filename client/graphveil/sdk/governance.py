"""The connection's calls about governance.

They are about policies, proposals, approvals and quotas, a part of the SDK's.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from graphveil.models.datasets import DatasetPolicy
from graphveil.models.jobs import Job
from graphveil.models.ledger import Budget, Quotas
from graphveil.models.proposals import Proposal, Proposals
from graphveil.sdk.transport import Model, Transport, given


class GovernanceCalls:
    """Calls about policies, and what takes a second person. Policies are what jobs may ask for."""

    _calls: Transport

    def policy(self, dataset_id: str, *, version: int | None = None) -> DatasetPolicy:
        """Read the dataset's policy, or an earlier version of it."""
        path = f"/datasets/{dataset_id}/policy"
        return self._calls.read(DatasetPolicy, "GET", path, params=given({"version": version}))

    def set_policy(
        self, dataset_id: str, policy: Mapping[str, Any], *, reason: str, version: int | None = None
    ) -> DatasetPolicy | Proposal:
        """Set the policy, or open a proposal of it.

        It is a proposal where it allows more than the present one.

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
        """Propose to add these amounts to the capacity.

        It is that of the account, or of a quota (scope, name). Safe to repeat while it is open: the same
        proposal by the same person is one.
        """
        body: dict[str, Any] = {"epsilon": epsilon, "delta": delta, "reason": reason}
        if quota is not None:
            body["quota"] = {"scope": quota[0], "name": quota[1]}
        return self._calls.read(
            Proposal, "POST", f"/datasets/{dataset_id}/budget/grants", json=body, repeatable=True
        )

    def proposals(self, *, dataset_id: str | None = None, state: str | None = None) -> Iterator[Proposal]:
        """List the tenant's proposals, newest first, page by page."""
        return self._calls.pages(Proposals, "/proposals", dataset_id=dataset_id, state=state)

    def proposal(self, proposal_id: str) -> Proposal:
        """Read one proposal."""
        return self._calls.read(Proposal, "GET", f"/proposals/{proposal_id}")

    def approve_proposal(self, proposal_id: str, *, reason: str) -> Proposal:
        """Put a proposal into effect. For a second curator."""
        return self._decide(Proposal, f"/proposals/{proposal_id}/approve", reason)

    def reject_proposal(self, proposal_id: str, *, reason: str) -> Proposal:
        """Refuse a proposal for good. For a second curator."""
        return self._decide(Proposal, f"/proposals/{proposal_id}/reject", reason)

    def withdraw_proposal(self, proposal_id: str) -> Proposal:
        """Take back a proposal of one's own."""
        return self._calls.read(Proposal, "POST", f"/proposals/{proposal_id}/withdraw", repeatable=True)

    def approve_job(self, job_id: str, *, reason: str) -> Job:
        """Queue a job that awaited approval. For a second curator."""
        return self._decide(Job, f"/jobs/{job_id}/approve", reason)

    def reject_job(self, job_id: str, *, reason: str) -> Job:
        """End a job that awaited approval and free its budget. For a second curator."""
        return self._decide(Job, f"/jobs/{job_id}/reject", reason)

    def quotas(self, dataset_id: str) -> list[Budget]:
        """List every quota's charged, reserved and remaining amounts.

        There is one for each team and project with a quota.
        """
        return self._calls.read(Quotas, "GET", f"/datasets/{dataset_id}/budget/quotas").items

    def open_quota(
        self, dataset_id: str, scope: str, name: str, *, epsilon: str, reason: str, delta: str = "0"
    ) -> Budget:
        """Open a quota for the team or project. It draws on this from now on. Safe to repeat."""
        body = {"epsilon": epsilon, "delta": delta, "reason": reason}
        return self._calls.read(
            Budget, "PUT", f"/datasets/{dataset_id}/budget/quotas/{scope}/{name}", json=body
        )

    def adjust(
        self, dataset_id: str, *, epsilon: str, reason: str, delta: str = "0", head: str | None = None
    ) -> Budget:
        """Charge spending outside the service, for good.

        ``head``: that of the budget which you read; give it to make a repetition safe.
        """
        body = {"epsilon": epsilon, "delta": delta, "reason": reason, "head": head}
        return self._calls.read(Budget, "POST", f"/datasets/{dataset_id}/budget/adjustments", json=body)

    def _decide(self, model: type[Model], path: str, reason: str) -> Model:
        """Send a decision, which is safe to repeat."""
        return self._calls.read(model, "POST", path, json={"reason": reason}, repeatable=True)
