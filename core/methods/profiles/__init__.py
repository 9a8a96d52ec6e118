"""Profiles: our own method for people and things, which hides a whole person.

Unit node: neighbours differ in all edges of one person, in every relation and step, replaced by any others.
No bound on a person's edges is asked for. Every read is a sum over persons, and persons in the release are
anonymous: number 17 of a release is nobody in particular.

1. How many persons have how many edges, in bins that grow by a quarter; with time, how many begin when and
   have edges in how many steps. Of a relation that gives a person one class: how many persons have which.
   Busy persons are few, and noise in a bin of a thousand edges each would outweigh everybody: where no bin
   stands out of the noise any more, a power law with an end is fitted.
2. What things have, over all steps and in each: persons' vectors are clipped to the length that a person of D
   edges has, so that one with d > D edges counts for the root of D d. D is a quantile of the noisy
   degrees, .6 and without a delta .25. The law of the things' degrees is deconvolved; its quantiles go to the
   things in their noisy order.
3. What kinds of things persons prefer: second moments of persons' profiles over what is public of the things
   (columns, public relations), and over single things: those that have the most edges by 2, as many as are
   worth the noise of one more at so many persons and that much noise. Directions in which the moments exceed
   chance by more than the noise are kept.
4. Of what edges carry (``attribute_share``): how many records have a value of each bin, and of every thing of
   each kind; persons' vectors are clipped as in 2. Nothing is read of what one person's edges carry.
5. A graph is drawn by matching persons' and things' ends at random, step by step; then ends are swapped in
   pairs, which keeps all degrees, towards random tastes of the persons along those directions, so strong
   that drawn persons' profiles have the paid moments.

What is read, at which sensitivity to one person: histograms of persons, 1 in one entry, so sqrt(2) in L2;
clipped sums over things, vectors without negative entries of length sqrt(D) at most, so sqrt(2 D); second
moments of profiles of length c at most, whose inner products are squares, so sqrt(2) c^2. Proof:
:mod:`core.privacy.reads.people_things`; which things have columns follows from what was paid for, hence is
the same for two neighbours once that is given. All reads are of the whole graph and add up; the rest is
post-processing. Every sum is one of integers, under discrete Gaussian noise. Guarantee: (epsilon, delta).
Without a delta noise is discrete Laplace, a person is clipped to D edges (L1 2 D) and 3 is not read: pure
epsilon, at noise that grows with a person's edges, not with their root.

Declared facts are kept: a pair that occurs once over time is drawn once, a person of a functional relation
has one thing. Relations are drawn apart from one another: what a person has in one says nothing of another.
Rare things go together for public reasons alone, and where nothing public is known of things, none do.

What to expect: of a thousand persons, how many edges persons and things have, and when, at epsilon 1; which
things have many from epsilon 4 on, or of several thousand persons. Which things one person has together comes
through in part, and only where public facts tell things apart; single edges do not. Whether a thing has
one edge or none is below the noise. Shares and constants were chosen while looking at ML-100k, Amazon,
bitcoin-otc and generated degrees.

Run times of the reads depend on the true edges and are not for publication. Source: our own; deconvolution by
expectation-maximisation, Silverman, Jones, Wilson, Nychka, JRSS B 52 (1990); degree-preserving chains, Besag
and Clifford, Biometrika 76 (1989).
"""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from core import errors
from core.graphs.schema import GraphSchema
from core.late import late
from core.methods._shared.frame.heeded import Idle, require_heeded
from core.methods._shared.values.share import FIELD, why_idle
from core.methods.base import GraphKinds, Method, PublicFacts, require_accepted
from core.methods.profiles.budget import idle_of, noises, of_values, planned, planned_reads, without_tastes
from core.methods.profiles.params import NAME, ProfilesParams
from core.methods.room import FEWER
from core.privacy import limits
from core.privacy.accounting.plan import GuaranteeKind, PlannedRead, PrivacyPlan
from core.privacy.units import Unit

_scale_of = late("core.privacy.mechanisms.aggregation:scale_of")


def plan(params: ProfilesParams, public: PublicFacts) -> PrivacyPlan:
    """Divide epsilon and delta among the reads of all relations, by their shares, as Gaussian noise.

    Every relation of persons and things gets the same, one that gives classes its ``class_share`` beside.
    A parameter that could change nothing is refused.
    """
    require_accepted(GENERATOR, public)
    for name in public.edge_types:
        relation = public.schema.edge_type(name)
        if relation.homogeneous:
            raise errors.NotAccepted(
                f"profiles takes relations with one protected end, and {name!r} has two: name the others "
                "as edge_types, and ask projection for this one in a job of its own",
                field="edge_types",
            )
    pure = not public.delta_atto
    require_heeded(params, idle_of(public.schema, public.edge_types, params, pure=pure))
    if (idle := why_idle(public)) is not None:
        require_heeded(params, [Idle((FIELD,), idle)])
    return planned(NAME, public, params)


def reads_of(
    params: ProfilesParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> list[PlannedRead]:
    """Return the histograms of persons and sums over things.

    See :class:`Method`. A sum's noise is that of persons of one edge; it grows with the root of the clip,
    which is paid for. Second moments are left out: what they are divided by follows from what was paid for.
    """
    return planned_reads(plan)


def cautions(
    params: ProfilesParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> list[str]:
    """Say of which relations no tastes will be read, and from how many persons on they would be."""
    return list(without_tastes(plan, schema, nodes))


def require_room(
    params: ProfilesParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> None:
    """Check reads of every thing, and the noise's grid. See :class:`Method`."""
    for purpose, noise in noises(plan).items():
        relation = schema.edge_type(purpose.split(" of ", 1)[1])
        # A value for each thing and one for none of them.
        things = 1 + max(nodes[relation.source], nodes[relation.target])
        limits.check_values(things, f"a read of {relation.name!r}", field="schema.node_types", mend=FEWER)
        if isinstance(noise, Fraction):
            _scale_of(2 * noise**2)


def carries(params: ProfilesParams) -> bool:
    """Tell whether edges carry what the schema declares."""
    return params.attribute_share > 0


def values_plan(plan: PrivacyPlan) -> PrivacyPlan:
    """Return the part of the plan that reads edge values."""
    return of_values(plan)


GENERATOR = Method(
    module=__name__,
    name=NAME,
    title="Profiles of anonymous persons",
    summary=(
        "Hides whole persons: histograms of persons, clipped sums over things, and what kinds of things "
        "persons prefer. For protected persons and things. (epsilon, delta), or pure epsilon at more noise."
    ),
    assurance="proven",
    Params=ProfilesParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, bipartite=True),
    units=frozenset({Unit.NODE}),
    kinds=frozenset({GuaranteeKind.APPROXIMATE, GuaranteeKind.PURE}),
    plan=plan,
    planned_reads=reads_of,
    cautions=cautions,
    require_room=require_room,
    fit=late("core.methods.profiles.graph:fit_graph"),
    load=late("core.methods.profiles.graph:load"),
    carries=carries,
    values_plan=values_plan,
)
