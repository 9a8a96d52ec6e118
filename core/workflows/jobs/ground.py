"""A dataset's state when requests are planned, and what its account and policy allow.

It has what the workers have, too. No data is read.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from pydantic import BaseModel
from sqlalchemy.orm import Session

from core.datasets import repository as datasets
from core.datasets.models import Dataset, DatasetState, DatasetVersion
from core.errors import DatasetNotReady, NotFound, UnitMismatch
from core.graphs.schema import GraphSchema
from core.identity.service import Principal
from core.ledger.models import BudgetAccount
from core.methods.base import Method, PublicFacts
from core.methods.choice import Choice
from core.privacy.accounting.plan import PrivacyPlan
from core.publishing import settle as settling
from core.workflows.common import unpaid
from core.workflows.common.policies import Policy, policy_of
from core.workflows.datasets.derivations import declared_schema
from core.workflows.jobs import repository
from core.workflows.jobs.abilities import OfWorkers


@dataclass(frozen=True)
class Ground:
    """A dataset's state when requests are planned. It has what the workers have, too."""

    dataset: Dataset
    version: DatasetVersion
    account: BudgetAccount
    schema: GraphSchema
    had: OfWorkers

    @cached_property
    def nodes(self) -> dict[str, int]:
        """The public size of every node universe."""
        return node_counts(self.version, self.schema)

    @cached_property
    def policy(self) -> Policy:
        """What the dataset's curators let a job request."""
        return policy_of(self.dataset)

    def settle(
        self,
        name: settling.AskedMethod,
        parameters: Mapping[str, Any],
        formats: list[str],
        facts: PublicFacts,
    ) -> settling.Settled:
        """Settle a request; see ``core.publishing.settle``, for what it raises too."""
        allowed, in_parts = self.policy.methods, self.dataset.in_parts
        return settling.settle(
            name, parameters, formats, facts, self.nodes, allowed, in_parts=in_parts, had=self.had
        )

    def method_of(
        self, name: settling.AskedMethod, parameters: Mapping[str, Any], facts: PublicFacts
    ) -> tuple[Choice | None, Method, BaseModel]:
        """Return the requested method and its parameters. It is the named one, or what ``auto`` or a map
        stands for.

        Raises InvalidInput for parameters that are wrong; UnknownMethod; NotAccepted where no method takes
        the request, of those that the dataset's policy allows; WorkerMissing.
        """
        allowed, in_parts = self.policy.methods, self.dataset.in_parts
        return settling.method_of(
            name, parameters, facts, self.nodes, allowed, in_parts=in_parts, had=self.had
        )


def ground_of(session: Session, principal: Principal, dataset_id: str) -> Ground:
    """Load the dataset, share-locked, as :func:`ready_dataset` does, and its declared schema."""
    dataset, version, account = ready_dataset(session, principal, dataset_id)
    return Ground(dataset, version, account, declared_schema(session, version), OfWorkers(session))


def node_counts(version: DatasetVersion, schema: GraphSchema) -> dict[str, int]:
    """Return the public size of every node universe. It is as declared, or as the version's node list has
    it."""
    listed = version.node_counts or {}
    return {kind.name: listed[kind.name] if kind.count is None else kind.count for kind in schema.node_types}


def ready_dataset(
    session: Session, principal: Principal, dataset_id: str
) -> tuple[Dataset, DatasetVersion, BudgetAccount]:
    """Load the dataset, its current version and its account. One round trip.

    The dataset is shared-locked: it cannot be archived between this look and the job's insertion.
    """
    found = repository.drawn_on(session, dataset_id)
    if found is None or found[0].tenant != principal.tenant:
        raise NotFound("There is no such dataset.", id=dataset_id)
    dataset, version, account = found
    if version is None and dataset.current_version_id is not None:
        # It changed while the look waited for the lock, and the join was with the version before.
        version = datasets.existing_version(session, dataset.current_version_id)
    if dataset.state != DatasetState.READY or version is None:
        state = unpaid.dataset_state(principal, dataset)
        raise DatasetNotReady(
            f"The dataset is {state}; a job needs one that is ready.",
            id=dataset_id,
            state=state,
            retry_after=unpaid.retry_after_seconds(principal, dataset),
        )
    return dataset, version, account


def check_unit(plan: PrivacyPlan, account: BudgetAccount) -> None:
    """Raise UnitMismatch unless the account counts what the plan protects."""
    if (str(plan.unit), plan.window) != (account.unit, account.window):
        raise UnitMismatch(
            f"The plan protects {plan.unit}, the account {account.unit}; amounts of two units do not add up.",
            account_id=account.id,
            plan_unit=str(plan.unit),
            account_unit=account.unit,
        )
