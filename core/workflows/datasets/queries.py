"""What a caller may see of datasets. It is the public half; for curators, the private half with it.

Another tenant's dataset does not exist. Sizes, digests, counts and findings of uploads, and proposed schemas,
are functions of the private data: only curators see them. Nor do others see that an upload was sent or
rejected: see :mod:`core.workflows.common.unpaid`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Any

from sqlalchemy.orm import Session

from core.datasets import repository, service
from core.datasets.models import Dataset as Row
from core.datasets.models import DatasetPart, DatasetVersion, ShownState
from core.graphs.ingest.read_off import words_for
from core.graphs.schema import GraphSchema
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import pace
from core.ledger import repository as budgets
from core.ledger import service as accounts
from core.ledger.models import BudgetAccount
from core.ledger.statement import entry_of
from core.workflows.common import paging, unpaid
from core.workflows.common.context import Services
from core.workflows.common.policies import policy_of, rules_of
from core.workflows.datasets import readings
from core.workflows.datasets.derivations import marks_on
from graphveil.models.datasets import Dataset, Datasets, Part, ReadOff, Version
from graphveil.models.ledger import Budget, Entry, LedgerPage


def list_datasets(
    services: Services,
    principal: Principal,
    cursor: str | None = None,
    limit: int | None = None,
    state: str | None = None,
    sort: str | None = None,
) -> Datasets:
    """One page of the tenant's datasets, newest first unless ``sort`` says otherwise, archived ones included.
    InvalidInput: unknown state or order."""
    require(principal, Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    paging.require_state(state, ShownState)
    order = paging.sort_of(sort, *paging.Sort)
    by_name = order in (paging.Sort.A_TO_Z, paging.Sort.Z_TO_A)
    page = paging.paged(services, principal, "datasets", cursor, limit, state=state, sort=order.named)
    after = None if page.place is None else str(page.place[0])
    with services.db.transaction() as session:
        rows = repository.page(
            session,
            principal.tenant,
            after=after,
            limit=page.size + 1,
            states=None if state is None else unpaid.dataset_states(principal, state),
            by_name=by_name,
            falls=order.falls,
        )
        shown, more = page.cut(rows, lambda dataset: (dataset.name if by_name else dataset.id,))
        return Datasets(items=_views(session, principal, shown), next_cursor=more)


def datasets_to_mend(services: Services, principal: Principal, limit: int) -> list[Dataset]:
    """List the newest datasets to mend. Their schema waits for confirmation or their upload was rejected. For
    curators."""
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        return _views(session, principal, repository.to_mend(session, principal.tenant, limit))


def get_dataset(services: Services, principal: Principal, dataset_id: str) -> Dataset:
    """Return the dataset; NotFound where the tenant has none of that id."""
    require(principal, Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    with services.db.transaction() as session:
        return _views(session, principal, [service.get(session, principal.tenant, dataset_id)])[0]


def get_datasets(
    services: Services, principal: Principal, dataset_ids: Collection[str]
) -> dict[str, Dataset]:
    """Return those of the datasets that the tenant has, by id. Four queries, however many."""
    require(principal, Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    with services.db.transaction() as session:
        rows = repository.of_ids(session, principal.tenant, dataset_ids)
        return {view.id: view for view in _views(session, principal, rows)}


def budget(
    services: Services,
    principal: Principal,
    dataset_id: str,
    steps: tuple[int, int] | None = None,
    as_of: datetime | None = None,
) -> Budget:
    """Say what the dataset's account holds. It may be what it held at ``as_of``; every dataset of its domain
    shares it.

    ``steps`` (first, last) are those of a stream whose spend is told. Earlier moments are for
    curators and auditors. Raises NotFound, InvalidInput, Forbidden.
    """
    require(principal, Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    if as_of is not None:
        # Halving the time between two moments gives that of a charge, and so how long its job has run.
        require(principal, Role.CURATOR, Role.AUDITOR)
    with services.db.transaction() as session:
        dataset = service.get(session, principal.tenant, dataset_id)
        if as_of is not None:
            return accounts.statement_at(session, dataset.account_id, as_of, steps=steps)
        statement = accounts.statement(session, dataset.account_id, steps=steps)
        return _paced(session, {statement.account_id: statement})[statement.account_id]


def budgets_of(services: Services, principal: Principal, found: Iterable[Dataset]) -> dict[str, Budget]:
    """Say what the accounts of these datasets hold. The caller has been shown the datasets; budgets are by
    account. One query for all that have no window, one for each other, and one for how fast they are spent.
    """
    require(principal, Role.CURATOR, Role.REQUESTER, Role.AUDITOR)
    wanted = dict.fromkeys(dataset.account_id for dataset in found)
    with services.db.transaction() as session:
        return _paced(session, accounts.statements(session, wanted))


def _paced(session: Session, statements: dict[str, Budget]) -> dict[str, Budget]:
    spent = pace.spending(session, statements)
    return {
        name: each.model_copy(update={"pace": spent[name].pace(each.remaining.nano_epsilon)})
        if name in spent
        else each
        for name, each in statements.items()
    }


def ledger(
    services: Services,
    principal: Principal,
    dataset_id: str,
    after: int = 0,
    cursor: str | None = None,
    limit: int | None = None,
) -> LedgerPage:
    """Load the account's entries with a sequence above ``after``, in order. For curators and auditors."""
    require(principal, Role.CURATOR, Role.AUDITOR)
    page = paging.paged(services, principal, "ledger", cursor, limit, dataset_id=dataset_id, after=after)
    start = after if page.place is None else int(page.place[0])
    with services.db.transaction() as session:
        dataset = service.get(session, principal.tenant, dataset_id)
        return entries_page(session, dataset.account_id, page, start)


def exposure(services: Services, principal: Principal, dataset_id: str) -> Entry | None:
    """Load the entry that exposed the dataset's account; None while it is not. For curators and
    auditors."""
    require(principal, Role.CURATOR, Role.AUDITOR)
    with services.db.transaction() as session:
        account_id = service.get(session, principal.tenant, dataset_id).account_id
        found = budgets.exposing(session, budgets.account(session, account_id))
        return None if found is None else entry_of(found)


def entries_page(session: Session, account_id: str, page: paging.Paging, after: int) -> LedgerPage:
    """Load a page of the account's entries. They follow ``after``, as far as they fit on the page."""
    found = accounts.entries(session, account_id, after=after, limit=page.size)
    more = None if found.next_after is None else page.cursor((found.next_after,))
    return LedgerPage(items=[entry_of(row) for row in found.entries], next_cursor=more)


def _views(session: Session, principal: Principal, datasets: Sequence[Row]) -> list[Dataset]:
    """Views of the datasets: one query for all versions, one for all parts, one for all accounts."""
    if not datasets:
        return []
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
    dataset: Row,
    account: BudgetAccount,
    versions: Sequence[DatasetVersion],
    parts: Iterable[DatasetPart],
) -> Dataset:
    current = next((version for version in versions if version.id == dataset.current_version_id), None)
    curator = Role.CURATOR in principal.roles
    return Dataset(
        id=dataset.id,
        name=dataset.name,
        state=unpaid.dataset_state(principal, dataset),
        unit=account.unit,
        window=account.window,
        protection_domain=account.domain,
        account_id=account.id,
        filter=account.filter,
        exposed=account.exposed_at is not None,
        policy=rules_of(policy_of(dataset)),
        policy_version=dataset.policy_version,
        public=dataset.public,
        in_parts=dataset.in_parts,
        graph_schema=dataset.graph_schema if current is None else current.graph_schema,
        current_version=None if current is None else current.number,
        proposed_schema=dataset.proposed_schema if curator else None,
        created_at=dataset.created_at,
        archived_at=dataset.archived_at,
        version=_version(dataset, versions[0], parts) if curator and versions else None,
    )


def _without_readings(report: dict[str, Any] | None) -> dict[str, Any] | None:
    return None if report is None else {name: value for name, value in report.items() if name != "readings"}


def _version(dataset: Row, version: DatasetVersion, parts: Iterable[DatasetPart]) -> Version:
    own = [row for row in parts if row.version_id == version.id]
    seen = version.graph_schema or dataset.proposed_schema or dataset.graph_schema
    marks = marks_on(version, lambda: own) if seen is not None else ()
    schema = GraphSchema.model_validate(seen) if marks else GraphSchema()
    return Version(
        id=version.id,
        number=version.number,
        state=version.state,
        parts=tuple(
            Part(
                part=row.part,
                format=row.format,
                size_bytes=row.size_bytes,
                sha256=row.sha256,
                received_at=row.created_at,
            )
            for row in own
        ),
        ingest_report=_without_readings(version.ingest_report),
        readings=readings.shown(version.ingest_report),
        findings=version.findings,
        read_off=tuple(ReadOff(part=str(mark), text=words_for(mark, schema)) for mark in marks),
        created_at=version.created_at,
        finished_at=version.finished_at,
    )
