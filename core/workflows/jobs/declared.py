"""A job from declarations. It is for developers, before anything is approved: no data is read, at epsilon 0.

In the ledger it reserves nothing and is charged nothing under its files' digests, by the rule of further
samples: what reads nothing takes nothing. No second person, no least epsilon and no quota has a say, as there
is nothing to spend; a policy that lists methods must list it. Its child is given the public schema and what
the caller says, and no byte of the dataset.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from sqlalchemy.orm import Session

from core import ids
from core.datasets import repository as datasets
from core.datasets.models import Dataset
from core.errors import InvalidInput, NotAccepted
from core.graphs.schema import GraphSchema
from core.identity.service import Principal
from core.jobs.models import Job
from core.ledger import service as ledger
from core.privacy.accounting.guarantee import MARK
from core.privacy.accounting.plan import DECLARED, GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from core.publishing.declarations import declarations, plan_of
from core.publishing.spec import Declared, JobSpec
from core.settings import Settings
from core.workflows.common import policies
from core.workflows.common.context import Services
from core.workflows.common.schema_rules import check_cells
from core.workflows.common.specs import new_job, queue_free
from core.workflows.datasets.derivations import declared_schema, stored_marks
from core.workflows.jobs.ground import node_counts, ready_dataset
from core.workflows.jobs.request import JobRequest
from core.workflows.releases.publish import JobWork
from graphveil.amounts import format_epsilon
from graphveil.models.plans import Cost, Plan

_SPENDING = ("epsilon", "delta", "target", "size", "assume", "project")


@dataclass(frozen=True)
class Asked:
    """A request, settled from public facts. ``schema`` is the dataset's."""

    dataset: Dataset
    schema: GraphSchema
    spec: JobSpec
    plan: PrivacyPlan


def queue(
    session: Session, settings: Settings, principal: Principal, request: JobRequest, *, key: str, digest: str
) -> Job:
    """Queue the job. Raises as :func:`asked`, and AccountBlocked."""
    found = asked(session, settings, principal, request)
    job = new_job(principal, found.dataset, found.spec, found.plan.to_json(), found.plan.digest())
    return queue_free(session, principal, job, found.spec, key=key, digest=digest)


def plan(session: Session, settings: Settings, principal: Principal, request: JobRequest) -> Plan:
    """Say what the job would do. Nothing is changed; raises as :func:`queue`."""
    found = asked(session, settings, principal, request)
    release = found.spec.release
    after = ledger.preview(
        session,
        found.dataset.account_id,
        amounts=found.spec.amounts,
        unit=str(release.unit),
        window=release.window,
    )
    return Plan(
        method=DECLARED,
        parameters=release.params,
        unit=str(release.unit),
        window=release.window,
        edge_types=release.edge_types,
        cost=Cost(kind=GuaranteeKind.UNREAD, epsilon=format_epsilon(0), delta="0"),
        amounts=found.spec.amounts,
        allotments=0,
        plan_digest=found.plan.digest(),
        budget_after=after,
        warnings=(MARK,),
    )


def asked(session: Session, settings: Settings, principal: Principal, request: JobRequest) -> Asked:
    """Settle the request. The dataset is share-locked, so that it is not archived meanwhile.

    Raises NotFound, DatasetNotReady, PolicyRefused, UnknownFormat, NotAccepted and InvalidInput, with the
    field to mend.
    """
    _require_nothing_spent(request)
    dataset, version, account = ready_dataset(session, principal, request.dataset_id)
    policies.check_release(dataset, methods=[DECLARED], kind=GuaranteeKind.UNREAD)
    schema = declared_schema(session, version)
    sizes = node_counts(version, schema)
    said = declarations(
        schema, sizes, request.parameters, edge_types=request.edge_types, formats=request.formats
    )
    _require_room(said.released, settings)
    planned = plan_of(Unit(account.unit), account.window, schema.steps)
    spec = JobSpec(
        release=Declared(
            job_id=ids.new_id(ids.JOB),
            dataset_id=dataset.id,
            dataset_version=version.id,
            method=DECLARED,
            params=said.params.model_dump(mode="json"),
            unit=planned.unit,
            window=planned.window,
            edge_types=tuple(each.name for each in said.released.edge_types),
            formats=said.formats,
            seed=request.seed,
            derived=stored_marks(session, version),
            nodes=sizes,
        ),
        amounts=planned.spend(account.filter, tuple(account.orders or ())),
        kind=planned.kind,
        label=request.label,
        suite=request.suite,
    )
    return Asked(dataset, schema, spec, planned)


def lay_out(services: Services, work: JobWork, folder: Path) -> None:
    """Lay out all that such a job is made from: the public schema. The dataset's content is not opened."""
    with services.db.transaction() as session:
        schema = declared_schema(session, datasets.existing_version(session, work.version_id))
    (folder / "schema.json").write_text(schema.model_dump_json(), encoding="utf-8")


def _require_nothing_spent(request: JobRequest) -> None:
    """Refuse what has a meaning only where something is read. NotAccepted."""
    for name in _SPENDING:
        if getattr(request, name) not in (None, 0, "0"):
            raise NotAccepted(f"declared reads nothing and spends nothing; leave {name} out.", field=name)
    if request.comparison:
        raise NotAccepted(
            "A graph from declarations is compared with no original: that would read it.", field="comparison"
        )


def _require_room(schema: GraphSchema, settings: Settings) -> None:
    nodes = sum(each.count or 0 for each in schema.node_types)
    if nodes > settings.max_nodes:
        raise InvalidInput(
            f"A graph has at most {settings.max_nodes} nodes; say fewer.", field="parameters.nodes"
        )
    check_cells(schema, [each.name for each in schema.edge_types], settings, field="edge_types")
