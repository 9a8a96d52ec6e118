"""The evidence pack of a published job. It is gathered in one reading of the database, written, signed.

Two editions. ``public`` holds what every caller of the tenant may see, and may be handed on: the transcript
is a function of the method's noisy answers and public facts, like the release (what chose each read was paid
for before it), and a charge is told by its day. ``ledger`` adds the account's entries, which tell of other
jobs and of exact times: it is for those who may read the ledger. Neither holds anything of the comparison
with the original.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC
from typing import Any

from sqlalchemy.orm import Session

from core.audits import repository as audits
from core.audits.models import Audit
from core.checks import evidence_keys as keys
from core.datasets import repository as datasets
from core.errors import Conflict, StorageError
from core.graphs.schema import GraphSchema
from core.identity.models import Role
from core.identity.service import Principal, require
from core.jobs import repository
from core.jobs.models import Job
from core.ledger import hash_chain
from core.ledger import repository as accounts
from core.ledger import service as ledger
from core.ledger.kinds import EntryKind
from core.ledger.models import LedgerEntry
from core.proposals import repository as proposals
from core.proposals import service as proposed
from core.reports.pack.files import files_of
from core.reports.pack.model import EditionName, PackFacts
from core.settings import Settings
from core.version import package_version
from core.workflows.audits.queries import view as audit_view
from core.workflows.common.context import Services
from core.workflows.common.policies import Policy, rules_of
from core.workflows.common.specs import spec_of
from core.workflows.datasets.derivations import declared_schema
from core.workflows.ledger import evidence_keys, head_exports
from core.workflows.releases import queries
from graphveil.evidence.archive import packed
from graphveil.evidence.signatures import MANIFEST, SIGNATURE, signature_file
from graphveil.evidence.verify import STORED_REPORT

MAX_AUDITS = 50
MAX_ENTRIES = 10_000
MAX_ENTRY_VALUES = 1_000_000
"""Of a chain in a pack: entries, and the amounts and digests that they name."""


@dataclass(frozen=True)
class _Gathered:
    """What the database knew at one moment; the report is still to be read from the store."""

    report: queries.StoredReport = field(repr=False)
    facts: dict[str, Any] = field(repr=False)


def evidence_pack(
    services: Services, principal: Principal, job_id: str, edition: EditionName | None = None
) -> bytes:
    """Make the signed archive. It has the edition requested, or the most that the caller may see.

    Deterministic: two of one day are the same bytes while nothing has changed. O(transcript + entries since
    the reservation). Raises Forbidden, NotFound, JobNotFinished, JobFailed; Conflict where no key signs
    packs, or more entries have come since than a pack holds.
    """
    require(principal, Role.REQUESTER, Role.CURATOR, Role.AUDITOR)
    if edition == "ledger":
        require(principal, Role.CURATOR, Role.AUDITOR)
    if edition is None:
        edition = "ledger" if {Role.CURATOR, Role.AUDITOR} & set(principal.roles) else "public"
    with services.db.transaction() as session:
        # One moment: charge, chain, head and budget of a pack have to agree.
        head_exports.snapshot(session)
        now = evidence_keys.today(session)
        gathered = _gather(services, session, principal, job_id, edition)
    # As for reports: the store is read when no transaction is open.
    signing, certificate = evidence_keys.standing(services, now)
    report, raw = queries.opened_report(services, gathered.report)
    facts = PackFacts(
        edition=edition,
        made_on=now.isoformat(),
        service_version=package_version(),
        report=report,
        report_bytes=raw,
        **gathered.facts,
    )
    files = files_of(facts)
    files[SIGNATURE] = signature_file(certificate, keys.sign(signing, files[MANIFEST]))
    return packed(files)


def _gather(
    services: Services, session: Session, principal: Principal, job_id: str, edition: EditionName
) -> _Gathered:
    job = queries.published(session, services, principal, job_id)
    dataset = datasets.existing(session, job.dataset_id)
    version = datasets.existing_version(session, job.version_id)
    account = accounts.account(session, job.account_id)
    charged = queries.charge_entry(session, job)
    released = [row for row in repository.artifacts(session, job.id) if row.role in queries.RELEASED]
    artifacts = [
        {"name": row.name, "media_type": row.media_type, "size_bytes": row.size_bytes, "sha256": row.sha256}
        for row in sorted(released, key=lambda row: row.name)
    ]
    spec = spec_of(job)
    digests = {row["name"]: row["sha256"] for row in artifacts}
    if STORED_REPORT not in digests:
        raise StorageError("the report is missing", job_id=job.id)
    charge = {
        "job_id": job.id,
        "account_id": account.id,
        "unit": account.unit,
        "window": account.window,
        "filter": account.filter,
        "orders": account.orders,
        "reservation_id": job.reservation_id,
        "plan_digest": job.plan_digest,
        "amounts": {name: int(amount) for name, amount in charged.amounts.items()},
        "digests": digests,
        "sequence": charged.sequence,
        "hash": bytes(charged.hash).hex(),
        "charged_on": charged.created_at.astimezone(UTC).date().isoformat(),
        "sample_of": job.sample_of,
        "stream_id": spec.release.stream_id,
        "step": spec.release.step,
        "head": {"sequence": account.last_sequence, "hash": bytes(account.last_hash).hex()},
        "budget": ledger.statement(session, account.id).model_dump(mode="json", exclude={"steps", "pace"}),
    }
    done = audits.done_of(session, tenant=job.tenant, method=job.method, limit=MAX_AUDITS)
    facts = {
        "job_id": job.id,
        "dataset_id": dataset.id,
        "plan": job.plan,
        "transcript": repository.published_reads(session, job.sample_of or job.id),
        "charge": charge,
        "governance": _governance(session, job, edition),
        "audits": [_audit(row, services.settings) for row in done],
        "artifacts": artifacts,
        "dataset": {"name": dataset.name, "public": dataset.public, "protection_domain": account.domain},
        "schema": declared_schema(session, version) or GraphSchema(),
        "ledger": _ledger(session, job) if edition == "ledger" else None,
    }
    return _Gathered(queries.stored_report(services, session, job, exact=False), facts)


def _audit(row: Audit, settings: Settings) -> dict[str, Any]:
    """Show an audit by the day that it ended on: exact times of work tell what else the service did then."""
    shown = audit_view(row, settings).model_dump(mode="json", exclude={"created_at", "finished_at"})
    ended = row.finished_at
    return shown | {"finished_on": None if ended is None else ended.astimezone(UTC).date().isoformat()}


def _governance(session: Session, job: Job, edition: EditionName) -> dict[str, Any]:
    """Tell who asked and who approved, under which policy; with the ledger also who granted the budget."""
    dataset = datasets.existing(session, job.dataset_id)
    number = max(1, job.policy_version)
    row = datasets.policy(session, dataset.id, number)
    if row is None:
        raise StorageError("the policy that admitted the job is missing", job_id=job.id)
    rules = rules_of(Policy.model_validate(row.policy)).model_dump(mode="json")
    above = rules["approval_above_epsilon"]
    governance: dict[str, Any] = {
        "asked": {
            "person": job.person,
            "key": job.requested_by,
            "team": job.team,
            "project": job.project,
            "on": job.created_at.astimezone(UTC).date().isoformat(),
        },
        "approval": None
        if job.decided_at is None
        else {
            "person": job.decided_person,
            "key": job.decided_by if edition == "ledger" else None,
            "on": job.decided_at.astimezone(UTC).date().isoformat(),
            "reason": job.decision_reason,
        },
        "rule": "The policy asks for no second person."
        if above is None
        else f"The policy asks for a second person above epsilon {above}.",
        "policy": {
            "version": row.version,
            "rules": rules,
            "set_by": row.set_by,
            "set_on": row.created_at.astimezone(UTC).date().isoformat(),
            "reason": row.reason,
            "proposal_id": row.proposal_id,
        },
        "policy_version_now": dataset.policy_version,
        "policy_proposal": None,
        "grants": None,
    }
    if edition == "ledger":
        proposal = None if row.proposal_id is None else proposals.by_id(session, row.proposal_id)
        if proposal is not None:
            governance["policy_proposal"] = proposed.view(proposal).model_dump(mode="json")
        governance["grants"] = [
            {name: hash_chain.plain(value) for name, value in _columns(entry).items()}
            for entry in accounts.grants(session, job.account_id)
        ]
    return governance


def _ledger(session: Session, job: Job) -> dict[str, Any]:
    """Tell the account's entries from the job's reservation to the head, as they were hashed."""
    reserved = accounts.entries_of_job(session, job.account_id, job.id, EntryKind.RESERVE)
    first = next((each for each in reserved if each.reservation_id == job.reservation_id), None)
    if first is None:
        raise StorageError("the release has no reservation", job_id=job.id)
    after: int | None = first.sequence - 1
    found: list[dict[str, Any]] = []
    values = 0
    while after is not None:
        page = accounts.entries(session, job.account_id, after=after, limit=500)
        values += sum(len(each.amounts) + len(each.digests) for each in page.entries)
        found += [{k: hash_chain.plain(v) for k, v in _columns(each).items()} for each in page.entries]
        # Counted as they come: the chain may be longer than memory holds.
        if len(found) > MAX_ENTRIES or values > MAX_ENTRY_VALUES:
            raise Conflict(
                f"More than {MAX_ENTRIES} entries have come to the account since this job's reservation, or "
                "longer ones than a pack holds; ask for edition=public, which names the charge and the head."
            )
        after = page.next_after
    return {"account_id": job.account_id, "entries": found}


def _columns(entry: LedgerEntry) -> dict[str, Any]:
    """Return the entry's columns as its hash covers them."""
    return {column.name: getattr(entry, column.name) for column in LedgerEntry.__table__.columns}
