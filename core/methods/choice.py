"""``method: auto``: which method suits a request, from public facts alone.

Read are the sizes of the node universes, the sorts of relations, the unit, epsilon, and a *declared* bound on
the number of edges where there is one; nothing of the graph. The choice costs nothing, and so may be shown.

Where the preferences come from: below epsilon of about ln(pairs / edges) no mechanism learns which pairs are
linked, and a model of degrees, communities and triangles is closest; above it, flipping single pairs keeps
nearly all edges and no model comes near. The line is drawn where nine edges of ten are kept.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Container, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field

from core import errors
from core.graphs.schema import EdgeType
from core.methods import registry
from core.methods._shared.composition.params import NAME as COMPOSED
from core.methods._shared.composition.params import REST, SHARES, StructureChoice
from core.methods._shared.composition.parts import facts_of
from core.methods._shared.flips.worth import WORTH, strength
from core.methods._shared.frame.plan import cell_nano_epsilon
from core.methods._shared.node_values import share as node_share
from core.methods._shared.values import share as value_share
from core.methods.base import Generator, Parameters, PublicFacts, ShardedGenerator
from core.methods.room import require_room
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.units import EDGE_WISE, Unit, edges_of_unit

AUTO: Literal["auto"] = "auto"
"""What a request says instead of a method's name."""

KEPT = 0.9
"""Randomised response is chosen above this probability of an edge to be kept."""
FALSE_EDGES_PER_NODE = 0.1
"""Symmetric flips may add so many false edges for each node, on average."""
COUNT_SHARE = 0.1
"""What the balanced form pays for its number of edges, as its parameter ``count_share`` has it."""
SMALL_NODES = 1_000
"""Up to so many nodes a static graph is small: too few edges to find communities in at common epsilons."""
SPARSE_DEGREE = 20
"""A small graph whose declared bound allows a mean degree above this is not sparse."""
MAX_EXPONENT = 700.0

FLIPS = "edgerand"
SINGLE = ("dcsbm", "psgraph", "privgraph", "ldpgen", "dgg", "dp_dk", "tmf", "lapgraph", "edgerand")
SMALL = ("dcsbm", "degree_triangle", *SINGLE[1:])
SMALL_PARAMS: Mapping[str, Mapping[str, Any]] = MappingProxyType({"dcsbm": {"preset": "small"}})
"""What a method is set to where a static graph is small."""
NO_EVIDENCE: Mapping[str, Mapping[str, Any]] = MappingProxyType({"anchored": {"evidence": "none"}})
"""What it is set to where bits of pairs could not tell edges, and every node is to keep its own degrees."""
TIMED = ("anchored", *SINGLE)
STREAM = (
    *("keyframe", "psgraph", "anchored", "dcsbm", "dgg"),
    *("dp_dk", "privgraph", "tmf", "lapgraph", "edgerand"),
)
TYPED = ("anchored", "tmf", "edgerand", "lapgraph")
TYPED_WEAK = ("hetesdg", *TYPED)
"""Typed and directed graphs without time where epsilon is small beside the log odds against an edge. By
regret over ten graphs (``benchmarks/typed_choice.py``)."""
DIRECTED_SMALL = ("anchored", "hetesdg", *TYPED[1:])
"""The same inside one type of few nodes: other recipes make one side anonymous, and who has how many edges is
lost. By regret on radoslaw-email, us-flights, email-Eu and generated graphs of 60 to 300 nodes."""
PERSONS, BETWEEN_PERSONS = ("profiles",), ("projection",)
"""What hides all edges of a node: of persons and things, and of persons and persons."""
SETTINGS = {SMALL: SMALL_PARAMS, DIRECTED_SMALL: NO_EVIDENCE}
KEYFRAME = "keyframe"
MIXING: Mapping[str, Mapping[str, Any]] = MappingProxyType({"keyframe": {}, "dcsbm": {}, **NO_EVIDENCE})
"""What draws edges by protected attributes of nodes, and how it is set then."""
VALUES, ROWS = 0.25, 0.1
"""Shares of epsilon for what edges carry, and for protected attributes of nodes. By regret, of structure and
values together: on bitcoin-otc, bitcoin-alpha, radoslaw, us-flights and ml-100k, and on polblogs, cora, acm
and lastfm, at epsilon .5, 1 and 2."""
CARRIED = {value_share.FIELD: "edges without what they carry", node_share.FIELD: "no attributes of nodes"}
WITHOUT_DELTA = (
    "Without a delta noise grows with a person's edges, not with their root: a delta of 1e-6, and of at most "
    "1 over ten times the number of persons, divides it by two to four."
)
MOST_TOLD = 6
"""So many relations are named in a reason."""


@dataclass(frozen=True)
class Choice:
    """The method that was chosen, why, in plain words, and the parameters that are not its defaults.

    ``plan`` is the method's plan with them, of the facts that it was chosen for.
    """

    method: str
    reason: str
    params: Mapping[str, Any]
    plan: PrivacyPlan


@dataclass(frozen=True)
class Request:
    """What a choice may be made of, beside public facts.

    ``allowed``: the methods that may be chosen, ``had``: those that can be run; None: every one. A method
    that is not had is passed over as one that is not registered. ``named``: relations whose structure is
    named, ``*`` for all others; AUTO leaves one to the rules. ``values``, ``rows``: the shares of epsilon for
    what edges carry and for protected attributes of nodes; None leaves them to the rules.
    """

    allowed: Collection[str] | None = None
    named: Mapping[str, StructureChoice] = field(default_factory=dict)
    values: float | None = None
    rows: float | None = None
    had: Container[str] | None = None

    def may(self, name: str) -> bool:
        """Tell whether the method may be chosen."""
        return self.allowed is None or name in self.allowed

    def structure(self, relation: str) -> StructureChoice | None:
        """Return the structure that is named for the relation; None where the rules choose."""
        found = self.named.get(relation) or self.named.get(REST)
        return None if found is None or found.method == AUTO else found


ANY = Request()


class Carry(Parameters):
    """Parameters of ``auto``, and of a map of relations to methods: what is carried beside edges."""

    carry: bool = Field(
        default=True,
        description="Whether what edges carry and protected attributes of nodes are released, as far as the "
        "schema declares them.",
    )
    attribute_share: float | None = Field(
        default=None, ge=0, le=0.9, description="Share of epsilon for what edges carry; 0: without."
    )
    node_attribute_share: float | None = Field(
        default=None,
        ge=0,
        le=0.5,
        description="Share of epsilon for protected attributes of nodes; 0: without.",
    )

    @property
    def values(self) -> float | None:
        """The share for what edges carry; None leaves it to the rules."""
        return self.attribute_share if self.carry else 0

    @property
    def rows(self) -> float | None:
        """The share for protected attributes of nodes; None leaves it to the rules."""
        return self.node_attribute_share if self.carry else 0


def choose(public: PublicFacts, nodes: Mapping[str, int], request: Request = ANY) -> Choice:
    """Choose a structure for each relation, and shares for all that is declared beside edges.

    ``nodes``: the size of every node universe by type. A function of its arguments alone, and of which
    methods are registered. What edges carry and protected attributes of nodes are carried where any structure
    can; what cannot be is left out, and the reason says so, unless its share was asked for. Raises
    ``errors.NotAccepted`` with the field to mend where no method takes the request. O(cells).
    """
    refusals: list[errors.NotAccepted] = []
    for shares in _shares(public, request):
        try:
            found = _chosen(public, nodes, request, shares)
        except errors.NotAccepted as refusal:
            refusals.append(refusal)
        else:
            left = f" {_left_out(refusals[0])}" if refusals else ""
            return replace(found, reason=f"{found.reason}{_told(shares)}{left}")
    raise refusals[-1]


Shares = Mapping[str, float]
"""Shares of epsilon by the parameter that names them; those of 0 are left out."""


def _shares(public: PublicFacts, request: Request) -> list[Shares]:
    """List the shares to try, the fullest first; what was asked for by the caller is in all of them."""
    values, rows = request.values, request.rows
    if values is None and not value_share.carrying(public.schema, public.edge_types):
        values = 0
    may_mix = public.tick is None and public.unit is not Unit.NODE
    if rows is None and not (may_mix and node_share.carrying(public.schema, public.edge_types)):
        rows = 0
    tries = [
        {value_share.FIELD: VALUES if values is None else values, node_share.FIELD: each}
        for each in ((ROWS, 0) if rows is None else (rows,))
    ]
    if values is None:
        tries += [{**each, value_share.FIELD: 0} for each in tries]
    return [{name: share for name, share in each.items() if share} for each in tries]


def _told(shares: Shares) -> str:
    """Say what is set aside."""
    subjects = {value_share.FIELD: "what edges carry", node_share.FIELD: "protected attributes of nodes"}
    named = [
        f"{shares[field]:g} of epsilon for {what}" for field, what in subjects.items() if field in shares
    ]
    return f" Set aside: {', '.join(named)}." if named else ""


def _left_out(refusal: errors.NotAccepted) -> str:
    return f"Not all that is declared can be carried: {refusal.message.rstrip('.')}."


def _chosen(public: PublicFacts, nodes: Mapping[str, int], request: Request, shares: Shares) -> Choice:
    """Choose structures beside these shares; NotAccepted where there are none."""
    if public.schema.collection is not None:
        return _of_all_graphs(public, nodes, request, shares)
    own = shares if public.unit is Unit.NODE else {}  # there each structure pays for what its edges carry
    shares = {} if own else shares
    alone = _beside(public, shares)
    but: frozenset[str] = frozenset()
    picks = _picks(alone, nodes, request, shares, own, but)
    timed = {each.method for name, each in picks.items() if public.schema.edge_type(name).temporal}
    if public.unit is Unit.W_EVENT and KEYFRAME in timed and len(timed) > 1:
        but = frozenset({KEYFRAME})
        picks = _picks(alone, nodes, request, shares, own, but)
    if (one := _of_one(public, nodes, picks, shares)) is not None:
        return one
    if any(each.method not in registry.common() for each in picks.values()):
        # A composition is of methods that every worker has.
        picks = _picks(alone, nodes, replace(request, had=registry.common()), shares, own, but)
        if (one := _of_one(public, nodes, picks, shares)) is not None:
            return one
    reason = " ".join(dict.fromkeys(each.reason for each in picks.values()))
    structures = {
        name: {"method": each.method, "parameters": dict(each.params)} for name, each in picks.items()
    }
    told = "; ".join(f"{name} by {each.method}" for name, each in list(picks.items())[:MOST_TOLD])
    more = f"; and {len(picks) - MOST_TOLD} more" if len(picks) > MOST_TOLD else ""
    if COMPOSED not in _known(request.had):
        raise errors.NotAccepted(
            f"relations would have structures of their own, and {COMPOSED} is not installed: name one method",
            field="method",
        )
    composed = _whole(
        COMPOSED,
        {"structures": structures, **shares},
        f"Each relation by a structure of its own, under one plan: {told}{more}. {reason}",
        public,
        nodes,
    )
    if isinstance(composed, errors.NotAccepted):
        raise composed
    return composed


def _of_one(
    public: PublicFacts, nodes: Mapping[str, int], picks: Mapping[str, Choice], shares: Shares
) -> Choice | None:
    """Choose the method that all relations have in common; None where there is none, or it refuses them."""
    first, *others = picks.values()
    if any((each.method, each.params) != (first.method, first.params) for each in others):
        return None
    reason = " ".join(dict.fromkeys(each.reason for each in picks.values()))
    if not others and not shares:
        return replace(first, reason=reason)
    made = _whole(first.method, {**first.params, **shares}, reason, public, nodes)
    return made if isinstance(made, Choice) else None


def _beside(public: PublicFacts, shares: Shares) -> PublicFacts:
    """Return the facts of the structures, with what the shares leave of epsilon."""
    left = public.nano_epsilon
    for name in SHARES:
        if name in shares:
            left -= max(1, int(left * shares[name]))
    return replace(public, nano_epsilon=left, beside_nano_epsilon=public.nano_epsilon - left)


def _picks(
    public: PublicFacts,
    nodes: Mapping[str, int],
    request: Request,
    shares: Shares,
    of_each: Shares,
    but: frozenset[str],
) -> dict[str, Choice]:
    """Pick a structure for every relation.

    ``of_each``: shares that each structure sets aside itself; ``but``: methods that a relation with time may
    not have.
    """
    mixed = {
        each.name
        for each in node_share.mixed_along(public.schema, public.edge_types)
        if node_share.FIELD in shares
    }
    found = {}
    for name in public.edge_types:
        without = but if public.schema.edge_type(name).temporal else frozenset()
        own = facts_of(public, (name,))
        aside = of_each if public.schema.edge_type(name).attributes else {}
        named = request.structure(name)
        if named is not None:
            found[name] = _named(named, name, own, nodes, request, aside)
        else:
            found[name] = _pick(own, nodes, request, without, mixes=name in mixed, shares=aside)
    return found


def _named(
    structure: StructureChoice,
    relation: str,
    public: PublicFacts,
    nodes: Mapping[str, int],
    request: Request,
    shares: Shares,
) -> Choice:
    """Take the structure that was named for a relation; NotAccepted where it does not take it."""
    if not request.may(structure.method):
        raise errors.NotAccepted(
            f"the dataset's policy does not allow {structure.method}, named for {relation!r}", field="method"
        )
    params = {**shares, **structure.parameters}
    made = _whole(structure.method, params, f"{relation} as named.", public, nodes)
    if isinstance(made, errors.NotAccepted):
        raise errors.NotAccepted(f"{structure.method} for {relation!r}: {made.message}", field="method")
    return made


def _pick(
    public: PublicFacts,
    nodes: Mapping[str, int],
    request: Request,
    without: Collection[str] = (),
    *,
    mixes: bool = False,
    shares: Shares = MappingProxyType({}),
) -> Choice:
    """Choose the first method of a fixed order of preference that takes the request.

    ``mixes``: edges are to meet by protected attributes of nodes, which few structures can.
    """
    known = _known(request.had)
    may_flip = public.unit in EDGE_WISE and FLIPS in known and request.may(FLIPS) and not mixes
    flips = _flips(public, nodes) if may_flip else None
    if flips is not None:
        reason, params = flips
        flipped = _whole(FLIPS, {**params, **shares}, reason, public, nodes)
        if isinstance(flipped, Choice):
            return flipped
    order, reason = _preferred(public, nodes)
    settings = SETTINGS.get(order, {})
    if mixes:
        order = tuple(name for name in (*order, *MIXING) if name in MIXING)
        settings = {name: {**settings.get(name, {}), **MIXING[name]} for name in order}
        reason += " Of those that link by protected attributes."
    first: tuple[str, errors.NotAccepted] | None = None
    for name in dict.fromkeys(order):
        if name not in known or name in without:
            continue
        params = {**settings.get(name, {}), **shares}
        planned: Choice | errors.NotAccepted
        if not request.may(name):
            planned = errors.NotAccepted("the dataset's policy does not allow it", field="method")
        else:
            planned = _whole(name, params, reason, public, nodes)
        if isinstance(planned, Choice):
            passed = "" if first is None else f" {first[0]} comes first, but it says: {first[1].message}."
            return replace(planned, reason=reason + passed)
        first = first or (name, planned)
    if first is None:
        raise errors.NotAccepted("no method is installed that could be chosen", field="method")
    name, refusal = first
    raise errors.NotAccepted(
        f"no method takes this request; {name}, which comes first, says: {refusal.message}",
        field=refusal.members.get("field", "method"),
    )


def _of_all_graphs(public: PublicFacts, nodes: Mapping[str, int], request: Request, shares: Shares) -> Choice:
    """Choose one method for all graphs of a collection, which are alike."""
    if request.named:
        raise errors.NotAccepted(
            "the graphs of a collection are alike, and one method serves all: name it alone", field="method"
        )
    return _pick(public, nodes, request, mixes=node_share.FIELD in shares, shares=shares)


def choose_in_parts(
    public: PublicFacts,
    nodes: Mapping[str, int],
    *,
    allowed: Collection[str] | None = None,
    had: Container[str] | None = None,
) -> Choice:
    """Choose the first method by name that reads edges in parts, with the parameters that make it.

    ``nodes``, ``allowed`` and ``had``: as for :func:`choose`. Raises ``errors.NotAccepted`` where none takes
    it.
    """
    refusal = errors.NotAccepted("no method reads edges in parts, of those that are allowed", field="method")
    for name, generator in sorted(_known(had).items()):
        if not isinstance(generator, ShardedGenerator) or (allowed is not None and name not in allowed):
            continue
        reason = f"The edges of the dataset stay in parts: {name} counts them, with these parameters."
        planned = _whole(name, generator.counted, reason, public, nodes)
        if isinstance(planned, Choice):
            return planned
        refusal = planned
    raise refusal


def _known(had: Container[str] | None) -> dict[str, Generator]:
    """Return the registered methods that can be run, by name."""
    known = registry.generators()
    return known if had is None else {name: each for name, each in known.items() if name in had}


def _whole(
    name: str, params: Mapping[str, Any], reason: str, public: PublicFacts, nodes: Mapping[str, int]
) -> Choice | errors.NotAccepted:
    """Plan the request by the method, or return why it does not take it."""
    generator = registry.generators().get(name) or registry.get(name)
    for share, what in CARRIED.items():
        if share in params and share not in generator.Params.model_fields:
            return errors.NotAccepted(f"{name} releases {what}", field="method")
    chosen = generator.Params.model_validate(dict(params))
    try:
        plan = generator.plan(chosen, public)
        require_room(generator, chosen, plan, public.schema, nodes)
    except errors.NotAccepted as error:
        return error
    return Choice(name, reason, params, plan)


def _preferred(public: PublicFacts, nodes: Mapping[str, int]) -> tuple[tuple[str, ...], str]:
    """Order the methods by preference, and say what speaks for that order."""
    relations = [public.schema.edge_type(name) for name in public.edge_types]
    if public.unit is Unit.NODE:
        if all(relation.homogeneous for relation in relations):
            return BETWEEN_PERSONS, "Unit node, and both ends of every relation are persons."
        pure = "" if public.delta_atto else f" {WITHOUT_DELTA}"
        return PERSONS, f"Unit node, and one end of a relation is a person, the other is not.{pure}"
    if any(relation.directed or not relation.homogeneous for relation in relations):
        if public.unit is Unit.EDGE and _mean_strength(public, relations, nodes) < WORTH:
            if all(each.homogeneous and nodes[each.source] <= SMALL_NODES for each in relations):
                return DIRECTED_SMALL, (
                    f"A directed relation of at most {SMALL_NODES} nodes, and at this epsilon noisy bits of "
                    "pairs could not tell which are linked: the degrees of both sides are paid for, node by "
                    "node."
                )
            return TYPED_WEAK, (
                "A relation is directed or joins two node types, and at this epsilon noisy bits of pairs "
                "could not tell which are linked: sorted degrees of both sides come closest."
            )
        return TYPED, (
            "A relation is directed or joins two node types: the degrees of both sides are paid for, and at "
            "larger epsilons which pairs are linked, by noisy bits of them."
        )
    if public.unit is Unit.W_EVENT or public.tick is not None:
        return STREAM, (
            "A stream under w-event privacy: each step has a small part of epsilon, so what holds over "
            "several steps is read once and kept."
        )
    if public.unit is Unit.PAIR:
        return STREAM, (
            "Unit pair divides epsilon over all snapshots: what holds over several of them is read once and "
            "kept, where the method can."
        )
    largest = max(nodes[relation.source] for relation in relations)
    if public.schema.temporal:
        return TIMED, (
            "Every snapshot may spend the whole epsilon: its degrees come out almost exact, and noisy bits "
            "of its pairs say more than communities."
        )
    if largest <= SMALL_NODES and _sparse(relations, nodes):
        return SMALL, (
            f"A static graph of at most {SMALL_NODES} nodes: too few edges to find communities in, so a "
            "model of its degrees and triangles comes closest."
        )
    return SINGLE, "A static graph: a model of degrees, communities and triangles comes closest."


def _mean_strength(public: PublicFacts, relations: list[EdgeType], nodes: Mapping[str, int]) -> float:
    """Average over relations epsilon over the log odds against an edge, by declared bounds or a guess."""
    try:
        nano = cell_nano_epsilon(public)
    except errors.NotAccepted:
        return 0.0  # too little to divide: every method will say so
    strengths = [
        strength(Shape(each, nodes[each.source], nodes[each.target]), nano, edges_of_unit(public.unit, each))
        for each in relations
    ]
    return math.fsum(strengths) / len(strengths)


def _sparse(relations: list[EdgeType], nodes: Mapping[str, int]) -> bool:
    """Return False only where a declared bound allows more than a sparse graph's edges."""
    return all(
        relation.edge_bound is None or 2 * relation.edge_bound <= SPARSE_DEGREE * nodes[relation.source]
        for relation in relations
    )


def _flips(public: PublicFacts, nodes: Mapping[str, int]) -> tuple[str, Mapping[str, Any]] | None:
    """Say why randomised response, and its form, where it keeps nine edges of ten and adds hardly any."""
    try:
        epsilon = cell_nano_epsilon(public) / NANO
    except errors.NotAccepted:
        return None  # too little to divide: every method will say so
    relations = [public.schema.edge_type(name) for name in public.edge_types]
    budgets = [epsilon / edges_of_unit(public.unit, relation) for relation in relations]
    pairs = [_pairs(relation, nodes) for relation in relations]
    ends = [
        nodes[relation.source] + (0 if relation.homogeneous else nodes[relation.target])
        for relation in relations
    ]
    kept = min(_kept_symmetric(budget) for budget in budgets)
    false = max(
        slots * (1 - _kept_symmetric(b)) / max(n, 1) for slots, b, n in zip(pairs, budgets, ends, strict=True)
    )
    if kept > KEPT and false <= FALSE_EDGES_PER_NODE:
        return (
            f"At this epsilon randomised response keeps an edge with probability {_shown(kept)} and adds at "
            f"most {false:.2g} false edges for each node: closer than any model.",
            MappingProxyType({"form": "symmetric"}),
        )
    kept = min(
        _kept_balanced((1 - COUNT_SHARE) * budget, relation.edge_bound or 0, slots)
        for relation, budget, slots in zip(relations, budgets, pairs, strict=True)
    )
    if kept > KEPT:
        return (
            f"With the declared number of edges, randomised response keeps an edge with probability "
            f"{_shown(kept)} at this epsilon and adds as many as it drops: closer than any model.",
            MappingProxyType({"form": "balanced", "count_share": COUNT_SHARE}),
        )
    return None


def _pairs(relation: EdgeType, nodes: Mapping[str, int]) -> int:
    """Count the pairs that could be linked in one snapshot."""
    sources, targets = nodes[relation.source], nodes[relation.target]
    if not relation.homogeneous:
        return sources * targets
    return sources * (sources - 1) // (1 if relation.directed else 2)


def _kept_symmetric(epsilon: float) -> float:
    """Compute the probability e^eps / (1 + e^eps) that a pair is reported as it is."""
    return 1 / (1 + math.exp(-epsilon))


def _kept_balanced(epsilon: float, edges: int, slots: int) -> float:
    """Compute e^eps / (e^eps + (slots - edges) / edges), as edgerand balances its flips; 0 without edges."""
    if min(edges, slots) < 1:
        return 0.0
    ratio = max(1.0, (slots - edges) / edges)
    return 1 / (1 + ratio * math.exp(-min(epsilon, MAX_EXPONENT)))


def _shown(probability: float) -> str:
    """Write to three digits, never rounded up to certainty."""
    return f"{min(probability, 0.999):.3g}"
