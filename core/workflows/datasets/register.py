"""A dataset is registered. It has its policy, its budget account, its content key; later its schema."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from typing import Annotated, get_args

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr
from sqlalchemy.exc import IntegrityError
from sqlalchemy.orm import Session

from core import ids
from core.datasets import repository, service, vault
from core.datasets.models import Dataset, DatasetState, DatasetVersion, VersionState
from core.datasets.service import Event
from core.db.base import ROW_LOCK
from core.errors import Conflict, InvalidInput, InvalidTransition
from core.graphs.ingest.read_off import words_for
from core.graphs.schema import Derived, GraphSchema
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import repository as accounts
from core.ledger import service as ledger
from core.ledger.amounts import delta_capacity, epsilon_capacity
from core.ledger.kinds import Filter
from core.ledger.models import BudgetAccount
from core.logging import get_logger
from core.outbox import service as outbox
from core.outbox.models import Topic
from core.privacy.units import Unit
from core.workflows.common.context import Services
from core.workflows.common.policies import Policy, ReadingKind, looser_than_others, stored
from core.workflows.common.schema_rules import check_partable, check_schema, check_terms
from core.workflows.datasets.dataset_policies import check_methods, keep_version
from core.workflows.datasets.derivations import still_derived
from core.workflows.datasets.grids import check_grid
from core.workflows.datasets.readings import keep_confirmation, require_answers
from core.workflows.datasets.records import check_apart

log = get_logger(__name__)

MAX_TITLE = 128


def _title(value: str) -> str:
    """Return the text as one sequence of characters: two that look alike must not be two names."""
    name = unicodedata.normalize("NFC", value.strip())
    if not name.isprintable():
        raise ValueError("a name is printable text on one line; leave control and invisible characters out")
    if not 1 <= len(name) <= MAX_TITLE:
        raise ValueError(f"a name has 1 to {MAX_TITLE} characters, and not spaces alone")
    return name


Title = Annotated[str, Field(min_length=1, max_length=MAX_TITLE), AfterValidator(_title)]
Amount = StrictStr | StrictInt | StrictFloat


class NewDataset(BaseModel):
    """What a curator declares about a dataset. Unit, window and filter never change afterwards.

    Capacity and policy allow more only by the word of a second person. ``protection_domain`` names the
    population; all datasets of one domain share one budget account.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    name: Title
    protection_domain: Title | None = Field(default=None, description="Defaults to the name.")
    graph_schema: GraphSchema | None = Field(default=None, description="Left out: proposed from the upload.")
    unit: Unit
    window: Annotated[int, Field(ge=1)] | None = Field(default=None, description="Steps; for w-event only.")
    epsilon: Amount
    delta: Amount = "0"
    filter: Filter = Filter.BASIC
    policy: Policy = Field(default_factory=Policy, description="What jobs may ask for; it can be changed.")
    public: bool = Field(
        default=False,
        description="Known to all: a benchmark or a demo. Seeds are allowed and, unless the policy names "
        "kinds, releases of kind none.",
    )
    in_parts: bool = Field(
        default=False,
        description="Its edges are too many for one machine's memory: they are uploaded in several files, "
        "read in parts and drawn in shards, by the methods that can. Public; needs a declared graph_schema.",
    )


def register_dataset(services: Services, principal: Principal, new: NewDataset) -> Dataset:
    """Register a dataset. It has a content key and the budget account of its protection domain.

    Raises Forbidden, InvalidInput naming the field, and Conflict where the name is taken or the domain's
    account stands under other terms or, for w-event, on another time grid, or where the policy allows more
    than that of a dataset which draws on the account already.
    """
    require(principal, Role.CURATOR)
    nano_epsilon, delta_atto = epsilon_capacity(new.epsilon), delta_capacity(new.delta)
    check_terms(new.unit, new.window, new.filter, delta_atto, services.settings)
    if new.graph_schema is not None:
        check_schema(new.graph_schema, new.unit, new.window, services.settings)
    if new.in_parts:
        check_partable(new.graph_schema, new.unit)
    check_methods(new.policy)
    with services.db.transaction() as session:
        account = ledger.open_account(
            session,
            tenant=principal.tenant,
            domain=new.protection_domain or new.name,
            unit=new.unit,
            window=new.window,
            filter=new.filter,
            nano_epsilon=nano_epsilon,
            delta_atto=delta_atto,
            actor=principal.key_id,
            reason="dataset registered",
        )
        dataset = _create(session, principal, new, account)
        vault.create_key(session, dataset.id, services.settings.master_key)
    log.info("dataset_registered", dataset_id=dataset.id)
    return dataset


def confirm_schema(
    services: Services,
    principal: Principal,
    dataset_id: str,
    schema: GraphSchema,
    known: Collection[str] | None = None,
    noted: Collection[str] | None = None,
) -> Dataset:
    """Confirm the dataset's schema. An upload that waited for it is queued for validation with its kept
    parts.

    What of it was read off the upload stays on record with the version, for its releases to say so;
    ``known``, where given, names all of that, or nothing is confirmed. So does ``noted`` with every warning
    of the reading. Who confirmed, and what of both was ticked, is kept with the version.
    Raises NotFound, Forbidden, InvalidInput, Conflict where a w-event account keeps another time grid, and
    InvalidTransition where a schema is already in use.
    """
    require(principal, Role.CURATOR)
    with services.db.transaction() as session:
        dataset = service.lock(session, principal.tenant, dataset_id)
        account = accounts.account(session, dataset.account_id)
        if dataset.in_parts:
            check_partable(schema, Unit(account.unit))
        check_schema(schema, Unit(account.unit), account.window, services.settings)
        check_grid(session, account, schema, but=dataset.id)
        check_apart(session, account, schema, but=dataset.id)
        waiting = _waiting(session, dataset)
        if waiting is not None:
            version = waiting
            require_answers(version)
            keep_confirmation(version, principal, known, noted)
            service.apply(Event.SCHEMA_CONFIRMED, dataset, version)
            service.grant_attempts(version, services.settings.max_attempts)
            version.findings = version.finished_at = None
            outbox.ring(session, Topic.INGEST, version.id)
        else:
            if dataset.current_version_id is not None:
                raise InvalidTransition("the dataset is in use under its schema", state=str(dataset.state))
            service.apply(Event.SCHEMA_DECLARED, dataset)
        _keep_marks(session, dataset, schema, known)
        dataset.graph_schema, dataset.proposed_schema = schema.model_dump(mode="json"), None
    log.info("schema_confirmed", dataset_id=dataset_id)
    return dataset


def _waiting(session: Session, dataset: Dataset) -> DatasetVersion | None:
    """Find the upload that waits for a schema: a proposal, or one that the schema before refused."""
    if dataset.state == DatasetState.REGISTERED:
        found = repository.in_state(session, dataset.id, VersionState.PROPOSED)
    elif dataset.state == DatasetState.REJECTED:
        refused = repository.in_state(session, dataset.id, VersionState.REJECTED)
        found = [version for version in refused if repository.parts(session, [version.id])]
    else:
        found = []
    return found[-1] if found else None


def _keep_marks(
    session: Session, dataset: Dataset, schema: GraphSchema, known: Collection[str] | None
) -> None:
    seen = dataset.proposed_schema or dataset.graph_schema
    if seen is None:
        return
    before, unnamed = GraphSchema.model_validate(seen), list[str]()
    for version in repository.versions(session, [dataset.id]):
        version.derived = still_derived(version.derived, before, schema)
        if known is not None and dataset.proposed_schema is not None:
            unnamed += [words_for(Derived(mark), schema) for mark in version.derived if mark not in known]
    if unnamed:
        named = ", and ".join(dict.fromkeys(unnamed)).replace(";", ",")
        raise InvalidInput(
            f"read off the rows, and about to be public: {named}; confirm each, or declare in the schema "
            "what may occur instead of what did",
            field="read_off",
        )


def _create(session: Session, principal: Principal, new: NewDataset, account: BudgetAccount) -> Dataset:
    # The account's row is locked or fresh in this transaction, so two registrations cannot miss each other.
    session.refresh(account, with_for_update=ROW_LOCK)
    others = repository.of_account(session, account.id)
    if any(other.public != new.public for other in others):
        raise Conflict(
            "the datasets of one protection domain are all public or all not", domain=account.domain
        )
    if looser := looser_than_others(new.policy, others):
        raise Conflict(
            f"the policy allows more than that of another dataset of the domain: {', '.join(looser)}; "
            "register it with the same policy, and propose the change afterwards",
            domain=account.domain,
            field="policy",
        )
    check_grid(session, account, new.graph_schema)
    check_apart(session, account, new.graph_schema)
    policy = _policy(new, others)
    if repository.named(session, principal.tenant, new.name) is not None:
        raise _name_taken()
    dataset = Dataset(
        id=ids.new_id(ids.DATASET),
        tenant=principal.tenant,
        name=new.name,
        account_id=account.id,
        state=DatasetState.REGISTERED,
        graph_schema=new.graph_schema.model_dump(mode="json") if new.graph_schema else None,
        policy=stored(policy),
        policy_version=1,
        public=new.public,
        in_parts=new.in_parts,
        created_by=principal.key_id,
    )
    session.add(dataset)
    try:
        session.flush()
    except IntegrityError as error:  # registered at the same moment, in another protection domain
        raise _name_taken() from error
    keep_version(session, dataset, set_by=principal.key_id, reason="dataset registered")
    return dataset


def _policy(new: NewDataset, others: Sequence[Dataset]) -> Policy:
    """Return the policy, with every kind of guarantee where the graph is public and none are named.

    Not beside a dataset of the domain that allows fewer: what is implied needs no second person.
    """
    if not new.public or "kinds" in new.policy.model_fields_set:
        return new.policy
    every = new.policy.model_copy(update={"kinds": get_args(ReadingKind)})
    return new.policy if "kinds" in looser_than_others(every, others) else every


def _name_taken() -> Conflict:
    return Conflict("a dataset of that name exists; choose another name", field="name")
