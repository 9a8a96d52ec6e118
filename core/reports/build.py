"""Builds both parts of a report."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from typing import Any

from core.graphs.ingest.read_off import sentence
from core.graphs.schema import Derived, GraphSchema, Protection
from core.privacy.accounting.events import (
    Composed,
    Event,
    GaussianEvent,
    Parallel,
    PoissonSampled,
    Pure,
    Repeated,
    pure_nano_epsilon,
)
from core.privacy.accounting.guarantee import Guarantee
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import PrivacyPlan
from core.reports.base import Notice
from core.reports.carried import Carried
from core.reports.comparison import Comparison
from core.reports.evidence import Attacks, CuratorPart, Task
from core.reports.model import (
    Claim,
    DrawnAt,
    GuaranteePart,
    Provenance,
    PublicPart,
    PurposeSummary,
    ReleasedFile,
    TranscriptSummary,
)
from core.reports.notices import caveats, values_left_out, warnings
from core.reports.precision import precisions
from core.reports.scoring import curator_scores
from core.reports.sensitive import found_out
from core.reports.statistics import PublicStatistics
from core.reports.totals import PaidError, Total
from core.reports.training import TrainingPart
from core.version import package_version
from graphveil.amounts import format_delta, format_epsilon

MAX_PURPOSES = 64
LIBRARIES = ("networkit", "numpy", "opendp", "polars", "pyarrow", "randomgen", "scipy", "torch")


@dataclass(frozen=True)
class Origin:
    """Where a release comes from. It has the identifiers of its job, dataset and method."""

    job_id: str
    dataset_id: str
    dataset_version: str
    method: str
    method_title: str
    seed: int | None
    chosen_because: str | None = None
    stream_id: str | None = None
    step: int | None = None
    sample_of: str | None = None
    computed_on: str = "cpu"
    size: DrawnAt | None = None


def versions() -> dict[str, str]:
    """List installed versions of computing libraries. A release is computed by them; those that are absent
    are left out."""
    found = {name: _version(name) for name in LIBRARIES}
    return {name: version for name, version in found.items() if version is not None}


@cache
def _version(distribution: str) -> str | None:
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return None


def public_part(
    *,
    guarantee: Guarantee,
    assurance: str,
    plan: PrivacyPlan,
    transcript: Sequence[TranscriptEntry],
    schema: GraphSchema,
    parameters: Mapping[str, Any],
    statistics: Mapping[str, Any],
    origin: Origin,
    artifacts: Sequence[Mapping[str, Any]],
    derived: Sequence[Derived] = (),
    claim: Claim | None = None,
    training: TrainingPart | None = None,
    notices: Sequence[Notice] = (),
    synthesised: Sequence[str] = (),
    node_values: bool = False,
    carried: Sequence[Mapping[str, Any]] = (),
    totals: Sequence[Mapping[str, Any]] = (),
) -> PublicPart:
    """Build the part that is published. Reads the plan, its transcript, public facts and the synthetic graph
    only.

    ``schema`` is the dataset's (public) schema; ``artifacts`` are the manifest's entries of its files;
    ``derived`` names what of the schema and universe was read off the data; ``notices`` are the method's own
    caveats; ``synthesised`` are the relations whose edges carry synthetic values; with ``node_values`` nodes
    do, and a notice says which attributes are left out; ``carried`` describes what both carry,
    ``totals`` what paid numbers determine.
    """
    person = schema.protected_type
    hidden = None if person is None else person.name
    part = guarantee_part(guarantee, assurance, claim, hidden, derived)
    summary = transcript_summary(plan, transcript)
    described = PublicStatistics.model_validate(statistics)
    # Attributes that stay behind are a caveat, unless the method makes them anew.
    protected = not node_values and any(
        attribute.protection is not Protection.PUBLIC
        for kind in schema.node_types
        for attribute in kind.attributes
    )
    return PublicPart(
        guarantee=part,
        transcript=summary,
        parameters=dict(parameters),
        precision=precisions(plan.unit, schema, transcript, described),
        statistics=described,
        carried=tuple(Carried.model_validate(each) for each in carried),
        totals=tuple(Total.model_validate(each) for each in totals),
        training=training,
        provenance=Provenance(
            **vars(origin),
            graphveil_version=package_version(),
            plan_digest=plan.digest(),
            randomness="operating system" if origin.seed is None else "seeded",
            artifacts=tuple(
                ReleasedFile(**{k: entry[k] for k in ("name", "media_type", "size_bytes", "sha256")})
                for entry in artifacts
            ),
            libraries=versions(),
        ),
        caveats=(
            *caveats(
                part,
                schema,
                protected_attributes=protected,
                seeded=origin.seed is not None,
                derived=derived,
                nodes=sum(described.nodes.values()),
                snapshot=origin.stream_id is not None,
                sample_of=origin.sample_of,
            ),
            *values_left_out(schema, synthesised=synthesised),
            *notices,
        ),
    )


def guarantee_part(
    guarantee: Guarantee,
    assurance: str,
    claim: Claim | None = None,
    hidden: str | None = None,
    derived: Sequence[Derived] = (),
) -> GuaranteePart:
    """Print the guarantee. It has epsilon and delta as exact decimals of the ledger's integers.

    ``hidden``: the name of the protected node type, where the schema declares one. ``derived``: what of the
    schema was read off the data, which the statement counts and names.
    """
    nano = guarantee.nano_epsilon
    return GuaranteePart(
        kind=guarantee.kind.value,
        epsilon=None if nano is None else format_epsilon(nano),
        delta=None if nano is None else format_delta(guarantee.delta_atto),
        unit=guarantee.unit,
        window=guarantee.window,
        protected_type=hidden,
        apart=guarantee.apart,
        # What was read off the data is an exception from a guarantee: without one there is none to make.
        statement=guarantee.statement + ("" if nano is None else sentence(derived)),
        assurance=assurance,
        noise=guarantee.assurance,
        reasons=guarantee.reasons,
        claimed=claim,
    )


def mechanism_name(event: Event) -> str:
    """Name an event as a report does."""
    match event:
        case Pure(mechanism=mechanism):
            return mechanism
        case GaussianEvent():
            return "gaussian"
        case PoissonSampled(event=inner):
            return f"poisson-sampled {mechanism_name(inner)}"
        case Repeated(event=inner):
            return f"repeated {mechanism_name(inner)}"
        case Composed():
            return "composed"
        case Parallel():
            return "parallel group"
        case _:
            return "unprotected"


def transcript_summary(plan: PrivacyPlan, transcript: Sequence[TranscriptEntry]) -> TranscriptSummary:
    """Sum the transcript by purpose, mechanism and relation. They stand in order of first use; the plan's
    spend comes too."""
    groups: dict[tuple[str, str, str, bool], list[int | None]] = {}
    # A paid-for release must not fail over its summary: too many purposes are pooled.
    purposes = {entry.purpose for entry in transcript}
    pooled = len(purposes) > MAX_PURPOSES
    for entry in transcript:
        purpose = f"{len(purposes)} purposes" if pooled else entry.purpose
        # Inside a parallel group operations are paid for by the group: they are apart, as they do not add up.
        key = (purpose, mechanism_name(entry.event), entry.edge_type, entry.group is not None)
        groups.setdefault(key, []).append(pure_nano_epsilon(entry.event))
    cost = plan.cost()
    return TranscriptSummary(
        operations=len(transcript),
        by_purpose=tuple(
            PurposeSummary(
                purpose=purpose,
                mechanism=mechanism,
                edge_type=edge_type,
                operations=len(amounts),
                # An operation that is not pure has no epsilon to be added up.
                nano_epsilon=None if None in amounts else sum(a for a in amounts if a is not None),
                within_group=within,
            )
            for (purpose, mechanism, edge_type, within), amounts in groups.items()
        ),
        per_step_nano_epsilon=cost.per_step,
        untimed_nano_epsilon=cost.untimed,
    )


def curator_part(
    public: PublicPart,
    comparison: Mapping[str, Any],
    attacks: Mapping[str, Any],
    tasks: Sequence[Mapping[str, Any]] = (),
    *,
    paid: Sequence[Mapping[str, Any]] = (),
    reduced_from: str | None = None,
) -> CuratorPart:
    """Build the curators' part from the evaluation's dictionaries, with scores and warnings.

    ``paid``: how far paid numbers are from the truth. ``reduced_from``: the suite that was asked for, where
    a cheaper one had to do.
    """
    compared = Comparison.model_validate(comparison)
    attacked = Attacks.model_validate(attacks)
    done = tuple(Task.model_validate(task) for task in tasks)
    return CuratorPart(
        suite=compared.suite,
        comparison=compared,
        attacks=attacked,
        tasks=done,
        paid=tuple(PaidError.model_validate(each) for each in paid),
        scores=curator_scores(public.guarantee, compared, attacked, done),
        warnings=(
            *found_out(attacked.sensitive),
            *warnings(public.guarantee, compared, attacked, reduced_from),
        ),
    )
