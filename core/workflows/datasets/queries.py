"""What a caller may see of datasets: the public half; for curators, the private half beside it.

Another tenant's dataset does not exist. Sizes, digests, counts and findings of uploads, and proposed schemas,
are functions of the private data: they stand in :class:`CuratorView` alone.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from core.datasets import repository, service
from core.datasets.models import Dataset, DatasetPart, DatasetVersion
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import repository as budgets
from core.ledger import service as accounts
from core.ledger.models import BudgetAccount, LedgerEntry
from core.ledger.statement import AccountStatement
from core.workflows.common import paging, unpaid
from core.workflows.common.context import Services
from core.workflows.common.policies import Policy, policy_of


@dataclass(frozen=True)
class PartView:
    """One uploaded file. Curators only."""

    part: str
    format: str
    size_bytes: int
    sha256: str
    received_at: datetime


@dataclass(frozen=True)
class VersionView:
    """One upload and what became of it. Curators only."""

    id: str
    number: int
    state: str
    parts: tuple[PartView, ...]
    ingest_report: dict[str, Any] | None
    findings: list[dict[str, Any]] | None
    created_at: datetime
    finished_at: datetime | None


@dataclass(frozen=True)
class CuratorView:
    """What only the curators of the dataset see; versions newest first."""

    proposed_schema: dict[str, Any] | None
    created_by: str
    versions: tuple[VersionView, ...]


@dataclass(frozen=True)
class DatasetView:
    """A dataset as the caller may see it. ``curator`` is None for everyone else, who does not see either that
    an upload was sent or rejected: see :mod:`core.workflows.common.unpaid`.

    ``graph_schema`` is that of the current version, or the declared one before there is a version;
    ``retry_after_seconds`` is None once nothing changes by itself.
    """

    id: str
    name: str
    state: str
    protection_domain: str
    account_id: str
    unit: str
    window: int | None
    filter: str
    exposed: bool
    policy: Policy
    policy_version: int
    public: bool
    graph_schema: dict[str, Any] | None
    current_version: int | None
    created_at: datetime
    archived_at: datetime | None
    retry_after_seconds: int | None
    curator: CuratorView | None

    @property
    def proposed_schema(self) -> dict[str, Any] | None:
        """The schema that waits for confirmation; None for everyone but curators."""
        return self.curator.proposed_schema if self.curator else None

    @property
    def version(self) -> VersionView | None:
        """The newest upload; None for everyone but curators."""
        return self.curator.versions[0] if self.curator and self.curator.versions else None


@dataclass(frozen=True)
class DatasetPage:
    """Some datasets, newest first, and the opaque cursor of the next page (None on the last)."""

    items: list[DatasetView]
    next_cursor: str | None


@dataclass(frozen=True)
class LedgerPage:
    """Some entries of an account, oldest first, and the opaque cursor of the next page (None on the last)."""

    entries: Sequence[LedgerEntry]
    next_cursor: str | None


def list_datasets(
    services: Services, principal: Principal, cursor: str | None = None, limit: int | None = None
) -> DatasetPage:
    """One page of the tenant's datasets, newest first, archived ones included."""
    require(principal, Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    page = paging.paged(services, principal, "datasets", cursor, limit)
    before = None if page.place is None else str(page.place[0])
    with services.db.transaction() as session:
        rows = repository.page(session, principal.tenant, before=before, limit=page.size + 1)
        shown, more = page.cut(rows, lambda dataset: (dataset.id,))
        return DatasetPage(_views(session, principal, shown), more)


def get_dataset(services: Services, principal: Principal, dataset_id: str) -> DatasetView:
    """The dataset; NotFound where the tenant has none of that id."""
    require(principal, Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    with services.db.transaction() as session:
        return _views(session, principal, [service.get(session, principal.tenant, dataset_id)])[0]


def budget(
    services: Services,
    principal: Principal,
    dataset_id: str,
    steps: tuple[int, int] | None = None,
    as_of: datetime | None = None,
) -> AccountStatement:
    """What the dataset's account holds, or held at ``as_of``: shared by every dataset of its domain.

    ``steps`` (first, last) are those of a stream whose spend is told. Earlier moments are for
    curators and auditors. Raises NotFound, InvalidInput, Forbidden.
    """
    require(principal, Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    if as_of is not None:
        # Halving the time between two moments gives that of a charge, and so how long its job has run.
        require(principal, Role.CURATOR, Role.AUDITOR)
    with services.db.transaction() as session:
        dataset = service.get(session, principal.tenant, dataset_id)
        return accounts.statement(session, dataset.account_id, steps=steps, as_of=as_of)


def ledger(
    services: Services,
    principal: Principal,
    dataset_id: str,
    after: int = 0,
    cursor: str | None = None,
    limit: int | None = None,
) -> LedgerPage:
    """The account's entries with a sequence above ``after``, in order. For curators and auditors."""
    require(principal, Role.CURATOR, Role.AUDITOR)
    page = paging.paged(services, principal, "ledger", cursor, limit, dataset_id=dataset_id, after=after)
    start = after if page.place is None else int(page.place[0])
    with services.db.transaction() as session:
        dataset = service.get(session, principal.tenant, dataset_id)
        return entries_page(session, dataset.account_id, page, start)


def entries_page(session: Session, account_id: str, page: paging.Paging, after: int) -> LedgerPage:
    """The account's entries that follow ``after``, as far as they fit on the page."""
    found = accounts.entries(session, account_id, after=after, limit=page.size)
    more = None if found.next_after is None else page.cursor((found.next_after,))
    return LedgerPage(found.entries, more)


def _views(session: Session, principal: Principal, datasets: Sequence[Dataset]) -> list[DatasetView]:
    """Views of the datasets: one query for all versions, one for all parts, one for all accounts."""
    ids = [dataset.id for dataset in datasets]
    versions = repository.versions(session, ids)
    parts = repository.parts(session, [version.id for version in versions])
    owners = budgets.by_ids(session, {dataset.account_id for dataset in datasets})
    return [
        _view(
            principal,
            dataset,
            owners[dataset.account_id],
            [version for version in versions if version.dataset_id == dataset.id],
            parts,
        )
        for dataset in datasets
    ]


def _view(
    principal: Principal,
    dataset: Dataset,
    account: BudgetAccount,
    versions: Sequence[DatasetVersion],
    parts: Iterable[DatasetPart],
) -> DatasetView:
    current = next((version for version in versions if version.id == dataset.current_version_id), None)
    return DatasetView(
        id=dataset.id,
        name=dataset.name,
        state=unpaid.dataset_state(principal, dataset),
        protection_domain=account.domain,
        account_id=account.id,
        unit=account.unit,
        window=account.window,
        filter=account.filter,
        exposed=account.exposed_at is not None,
        policy=policy_of(dataset),
        policy_version=dataset.policy_version,
        public=dataset.public,
        graph_schema=dataset.graph_schema if current is None else current.graph_schema,
        current_version=None if current is None else current.number,
        created_at=dataset.created_at,
        archived_at=dataset.archived_at,
        retry_after_seconds=unpaid.retry_after_seconds(principal, dataset),
        curator=_curator_view(dataset, versions, parts) if Role.CURATOR in principal.roles else None,
    )


def _curator_view(
    dataset: Dataset, versions: Sequence[DatasetVersion], parts: Iterable[DatasetPart]
) -> CuratorView:
    received: dict[str, list[PartView]] = {version.id: [] for version in versions}
    for row in parts:
        if row.version_id in received:
            view = PartView(row.part, row.format, row.size_bytes, row.sha256, row.created_at)
            received[row.version_id].append(view)
    return CuratorView(
        proposed_schema=dataset.proposed_schema,
        created_by=dataset.created_by,
        versions=tuple(
            VersionView(
                id=version.id,
                number=version.number,
                state=version.state,
                parts=tuple(received[version.id]),
                ingest_report=version.ingest_report,
                findings=version.findings,
                created_at=version.created_at,
                finished_at=version.finished_at,
            )
            for version in versions
        ),
    )
