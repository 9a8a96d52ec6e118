"""What a dataset's curators let a job request. Said is too which change of that allows more than before."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from typing import Annotated, Any, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StrictBool,
    StrictStr,
    WithJsonSchema,
)
from sqlalchemy.orm import Session

from core.datasets.models import Dataset, DatasetState
from core.errors import InvalidInput, KindNotAllowed, PolicyRefused
from core.ledger import service as ledger
from core.ledger.amounts import epsilon_capacity
from core.methods._shared.composition.params import methods_of
from core.privacy.accounting.plan import GuaranteeKind
from core.publishing.spec import JobSpec
from graphveil.amounts import format_epsilon
from graphveil.models.datasets import PolicyRules

SLUG = r"^[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?$"

Slug = Annotated[StrictStr, Field(pattern=SLUG, examples=["spring-survey"])]
MethodName = Annotated[StrictStr, Field(min_length=1, max_length=64)]
Person = Annotated[StrictStr, Field(pattern=r"^[^\x00-\x1f]{1,128}$")]


def _limit(value: Any) -> str:
    try:
        return format_epsilon(epsilon_capacity(value))
    except InvalidInput as error:
        raise ValueError(error.message) from None


def _distinct(values: tuple[Any, ...] | None) -> tuple[Any, ...] | None:
    if values is not None and len(set(values)) != len(values):
        raise ValueError("a value is named twice")
    return values


_NUMBER = {"anyOf": [{"type": "string"}, {"type": "integer"}, {"type": "number"}], "examples": ["0.5"]}

ReadingKind = Literal[GuaranteeKind.PURE, GuaranteeKind.APPROXIMATE, GuaranteeKind.NONE]
"""What a release may promise that reads the data."""

Limit = Annotated[str, BeforeValidator(_limit), WithJsonSchema(_NUMBER, mode="validation")]
"""An epsilon that bounds: rounded down to 1e-9, kept as an exact decimal."""


LEAST_EPSILON = "0.01"
"""The least epsilon of a job where a policy does not say: that a job failed is one bit about the data,
without noise, and costs what the job had planned. A hundred such bits cost epsilon 1."""


class Policy(BaseModel):
    """What the curators of a dataset let its jobs ask for.

    The privacy unit and its window are the budget account's, and never change.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    methods: Annotated[
        Annotated[tuple[MethodName, ...], Field(min_length=1, max_length=64)] | None,
        AfterValidator(_distinct),
    ] = Field(default=None, description="Methods that a job may use; null allows every method.")
    kinds: Annotated[
        tuple[ReadingKind, ...], Field(min_length=1, max_length=3), AfterValidator(_distinct)
    ] = Field(
        default=(GuaranteeKind.PURE, GuaranteeKind.APPROXIMATE),
        description="Guarantees that a release may carry. A job of kind none exposes the account for good "
        "once it has opened the graph, even if it fails.",
    )
    max_epsilon_per_job: Limit | None = Field(
        default=None, description="Most epsilon of one job, or of a stream's window; null: the budget's."
    )
    min_epsilon_per_job: Limit | None = Field(
        default=LEAST_EPSILON,
        description="Least epsilon that one job costs, or a window of a stream: what an attempt costs that "
        "fails after it has opened the graph; null: no least.",
    )
    approval_above_epsilon: Limit | None = Field(
        default=None,
        description="A job above it waits for a second person's approval, and one of kind none always does; "
        "null: no job waits.",
    )
    curator_report_readers: Annotated[
        Annotated[tuple[Person, ...], Field(max_length=100)] | None, AfterValidator(_distinct)
    ] = Field(
        default=None,
        description="Persons, curators all, who may read comparisons with the original; null: every curator.",
    )
    project_required: StrictBool = Field(
        default=False, description="A job must name a project that has a quota of the account."
    )
    team_required: StrictBool = Field(
        default=False, description="A job's key must be of a team that has a quota of the account."
    )
    measurements: StrictBool = Field(
        default=True,
        description="Releases carry the noisy numbers that they paid for, with intervals; it costs nothing.",
    )


def policy_of(dataset: Dataset) -> Policy:
    """Return the dataset's policy as it stands. It is read once, however many plans ask for it."""
    # Validation costs more than all checks together. A changed policy is another object, so identity is
    # enough.
    known: tuple[Any, Policy] | None = dataset.__dict__.get("policy_read")
    if known is None or known[0] is not dataset.policy:
        known = dataset.__dict__["policy_read"] = (dataset.policy, Policy.model_validate(dataset.policy))
    return known[1]


def rules_of(policy: Policy) -> PolicyRules:
    """Show the policy as its readers see it."""
    return PolicyRules(**policy.model_dump(mode="json"))


def stored(policy: Policy) -> dict[str, Any]:
    """Return the policy as JSON, as the dataset keeps it.

    What is newer and stands at its default is left out: the version before this one, which serves on during
    an upgrade, takes no policy with a field that it does not know.
    """
    newer = {"min_epsilon_per_job": LEAST_EPSILON, "measurements": True}
    usual = {name for name, value in newer.items() if getattr(policy, name) == value}
    return policy.model_dump(mode="json", exclude=usual)


def allows_more(new: Policy, old: Policy) -> tuple[str, ...]:
    """List the fields in which the new policy allows more. The old one refuses what it allows; empty: it only
    restricts.

    Each field is ranked alone, so that a change which loosens one and tightens another counts as loosening.
    """
    return tuple(name for name, looser in _LOOSER.items() if looser(getattr(new, name), getattr(old, name)))


def looser_than_others(policy: Policy, others: Iterable[Dataset]) -> tuple[str, ...]:
    """List the fields that another policy refuses. In them the policy allows what that of another dataset of
    the account refuses.

    The same data under a looser policy would need no second person.
    """
    known = list(others)
    # Archived ones count while none stands: else whoever archives a dataset and registers it again would
    # loosen its policy alone.
    standing = [other for other in known if other.state != DatasetState.ARCHIVED] or known
    looser = {name for other in standing for name in allows_more(policy, policy_of(other))}
    return tuple(name for name in Policy.model_fields if name in looser)


def check_policy(
    session: Session, dataset: Dataset, spec: JobSpec, *, team: str | None, project: str | None
) -> None:
    """Check that the dataset's policy allows the request. It is its present policy, the request a job or
    stream; see :func:`check_request`.

    Quotas are looked at only where the policy asks for one. Raises KindNotAllowed, PolicyRefused.
    """
    release = spec.release
    check_request(
        dataset,
        methods=methods_of(release.method, release.params, release.edge_types),
        kind=spec.kind,
        nano_epsilon=release.nano_epsilon,
        project=project,
        team=team,
    )
    policy = policy_of(dataset)
    if policy.project_required or policy.team_required:
        quotas = {quota.whose for quota in ledger.quotas(session, dataset.account_id)}
        check_quotas(dataset, quotas, project=project, team=team)


def check_release(dataset: Dataset, *, methods: Iterable[str], kind: GuaranteeKind) -> None:
    """Check that the policy allows releases of methods and kind. It is the dataset's. Raises as
    check_request.

    What reads nothing has no guarantee to be chosen: a policy that lists methods lists it, or refuses it.
    """
    policy = policy_of(dataset)
    if kind is not GuaranteeKind.UNREAD and kind not in policy.kinds:
        allowed = [str(k) for k in policy.kinds]
        raise KindNotAllowed(
            f"This release would carry the guarantee {kind}; the dataset's policy allows "
            f"{', '.join(allowed)}.",
            kind=str(kind),
            allowed=allowed,
        )
    allowed_methods = policy.methods
    refused = [each for each in methods if allowed_methods is not None and each not in allowed_methods]
    if allowed_methods is not None and refused:
        names = ", ".join(allowed_methods)
        text = f"The dataset's policy allows the methods {names}."
        raise _refused(dataset, "method", "methods", names, refused[0], text)


def check_request(
    dataset: Dataset,
    *,
    methods: Iterable[str],
    kind: GuaranteeKind,
    nano_epsilon: int,
    project: str | None,
    team: str | None,
) -> None:
    """Check that the dataset's policy allows such a job or stream.

    ``nano_epsilon`` is what was asked for, of a stream for every window. A release of kind none has no
    epsilon: ``kinds`` alone decides about it. Raises KindNotAllowed, PolicyRefused with ``field``
    and ``rule``.
    """
    check_release(dataset, methods=methods, kind=kind)
    policy = policy_of(dataset)
    most = policy.max_epsilon_per_job
    if most is not None and kind is not GuaranteeKind.NONE and nano_epsilon > epsilon_capacity(most):
        raise _refused(
            dataset,
            "epsilon",
            "max_epsilon_per_job",
            most,
            format_epsilon(nano_epsilon),
            f"The dataset's policy allows epsilon {most} for one job or one window of a stream.",
        )
    if policy.project_required and project is None:
        raise _refused(
            dataset, "project", "project_required", None, None, "The dataset's policy asks for a project."
        )
    if policy.team_required and team is None:
        raise _refused(
            dataset,
            "team",
            "team_required",
            None,
            None,
            "The dataset's policy takes jobs of teams; your key belongs to none.",
        )


def check_least(dataset: Dataset, nano_epsilon: int) -> None:
    """Check that a cost is not below the policy's least. It returns unless a job, or a window of a stream, of
    that cost is cheaper than the policy lets it be.

    A function of the policy and the plan alone. Raises PolicyRefused.
    """
    least = policy_of(dataset).min_epsilon_per_job
    if least is not None and nano_epsilon < epsilon_capacity(least):
        raise _refused(
            dataset,
            "epsilon",
            "min_epsilon_per_job",
            least,
            format_epsilon(nano_epsilon),
            f"This would cost epsilon {format_epsilon(nano_epsilon)}; the dataset's policy asks for at least "
            f"{least}, which is what an attempt costs that fails after it has opened the graph.",
        )


def check_quotas(
    dataset: Dataset, quotas: Collection[tuple[str, str]], *, project: str | None, team: str | None
) -> None:
    """Check that every quota that the policy names exists. ``quotas``: (scope, name) of the account's.

    Without this, a name that has no quota would evade those that have one. Raises PolicyRefused.
    """
    policy = policy_of(dataset)
    for required, scope, name in (
        (policy.project_required, "project", project),
        (policy.team_required, "team", team),
    ):
        if required and (scope, name) not in quotas:
            raise _refused(
                dataset,
                scope,
                f"{scope}_required",
                None,
                name,
                f"The dataset's policy takes a {scope} that has a quota; a curator opens quotas.",
            )


def needs_approval(dataset: Dataset, kind: GuaranteeKind, nano_epsilon: int) -> bool:
    """Tell whether such a job waits for a second person. Without a finite guarantee it does."""
    threshold = policy_of(dataset).approval_above_epsilon
    if threshold is None:
        return False
    return kind is GuaranteeKind.NONE or nano_epsilon > epsilon_capacity(threshold)


def check_stream(dataset: Dataset, nano_epsilon: int) -> None:
    """Check that a stream needs no approval. It returns unless a window is above the threshold for approval:
    nobody approves snapshots.

    Raises PolicyRefused.
    """
    if needs_approval(dataset, GuaranteeKind.PURE, nano_epsilon):
        threshold = policy_of(dataset).approval_above_epsilon
        raise _refused(
            dataset,
            "epsilon",
            "approval_above_epsilon",
            threshold,
            format_epsilon(nano_epsilon),
            f"Above epsilon {threshold} the dataset's policy asks for a second person, and a stream's "
            "snapshots wait for nobody: ask for a smaller epsilon, or have the threshold raised.",
        )


def _refused(
    dataset: Dataset, field: str, rule: str, limit: str | None, requested: str | None, text: str
) -> PolicyRefused:
    return PolicyRefused(
        text,
        field=field,
        rule=rule,
        limit=limit,
        asked=requested,
        dataset_id=dataset.id,
        policy_version=dataset.policy_version,
    )


def _wider(new: Collection[str] | None, old: Collection[str] | None) -> bool:
    """None stands for everything."""
    return old is not None and (new is None or not set(new) <= set(old))


def _higher(new: str | None, old: str | None) -> bool:
    """None stands for no limit."""
    return old is not None and (new is None or epsilon_capacity(new) > epsilon_capacity(old))


def _lower(new: str | None, old: str | None) -> bool:
    """None stands for no least."""
    return old is not None and (new is None or epsilon_capacity(new) < epsilon_capacity(old))


def _dropped(new: bool, old: bool) -> bool:
    return old and not new


def _gained(new: bool, old: bool) -> bool:
    return new and not old


_LOOSER: dict[str, Callable[[Any, Any], bool]] = {
    "methods": _wider,
    "kinds": _wider,
    "max_epsilon_per_job": _higher,
    "min_epsilon_per_job": _lower,
    "approval_above_epsilon": _higher,
    "curator_report_readers": _wider,
    "project_required": _dropped,
    "team_required": _dropped,
    "measurements": _gained,
}
