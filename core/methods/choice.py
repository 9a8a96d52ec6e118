"""``method: auto``: the choice of a method.

It is from public facts only.

Read are the sizes of the node universes, the sorts of relations, the unit, epsilon, and a *declared* bound on
the number of edges where there is one; nothing of the graph. The choice costs nothing, and so may be shown.

Each relation gets the structure that suits it (:mod:`core.methods._shared.preferences`), and all of them one
plan: that of the method which they have in common, or a composition (:mod:`core.methods.composed`).
"""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from dataclasses import astuple, dataclass, field, replace
from types import MappingProxyType
from typing import Any, Literal

from pydantic import Field, model_validator

from core import errors
from core.graphs.schema import Protection
from core.graphs.schema.node_bins import synthesised_in
from core.methods import registry
from core.methods._shared.aims import AIMS, COMMUNITIES_FROM, TOO_EARLY
from core.methods._shared.composition.params import NAME as COMPOSED
from core.methods._shared.composition.params import REST, StructureChoice
from core.methods._shared.composition.parts import facts_of
from core.methods._shared.frame.stages import beside, spent_on
from core.methods._shared.node_values import share as node_share
from core.methods._shared.preferences import (
    FLIPS,
    KEYFRAME,
    MIXING,
    SETTINGS,
    flips_of,
    preferred,
    two_sided,
)
from core.methods._shared.values import share as value_share
from core.methods.base import Parameters, PublicFacts
from core.methods.room import require_room
from core.privacy.accounting.events import NANO
from core.privacy.accounting.plan import PrivacyPlan
from core.privacy.units import EDGE_WISE, Unit

AUTO: Literal["auto"] = "auto"
"""What a request says instead of a method's name."""

VALUES, ROWS = 0.25, 0.1
"""Shares of epsilon for what edges carry, and for protected attributes of nodes. By regret of structure and
values together, leaving one of seven graphs out (``benchmarks/carry_shares.py``)."""
ROWS_OF_PERSONS = 0.3
"""The same for rows under unit node, where a person pays for them beside its edges. A prototype's, on
polblogs, lastfm and cora; looked at again on polblogs alone."""
CARRIED = {value_share.FIELD: "edges without what they carry", node_share.FIELD: "no attributes of nodes"}
NO_ROWS = "Protected attributes of nodes are left out: in a live stream none are released."
ANYTHING = (
    "no noise hides a value that may be any number or any text; declare bounds (of a vector its length too) "
    "or categories, or withhold it."
)
MOST_TOLD = 6
"""So many relations are named in a reason."""


@dataclass(frozen=True)
class Choice:
    """The method that was chosen, and why.

    The reason is in plain words; with it are the parameters that are not its defaults.

    ``plan`` is the method's plan with them, of the facts that it was chosen for.
    """

    method: str
    reason: str
    params: Mapping[str, Any]
    plan: PrivacyPlan


@dataclass(frozen=True)
class Request:
    """What a choice may use, in addition to public facts.

    ``allowed``: the methods that may be chosen, ``had``: those that can be run; None: every one. A method
    that is not had is passed over as one that is not registered. ``named``: relations whose structure is
    named, ``*`` for all others; AUTO leaves one to the rules. ``values``, ``rows``: the shares of epsilon for
    what edges carry and for protected attributes of nodes; None leaves them to the rules. ``aim``: of AIMS,
    None for the shape.
    """

    allowed: Collection[str] | None = None
    named: Mapping[str, StructureChoice] = field(default_factory=dict)
    values: float | None = None
    rows: float | None = None
    had: Container[str] | None = None
    aim: str | None = None

    def may(self, name: str) -> bool:
        """Tell whether the method may be chosen."""
        return self.allowed is None or name in self.allowed

    def structure(self, relation: str) -> StructureChoice | None:
        """Return the structure that is named for the relation. None where the rules choose."""
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

    objective: Literal["shape", "who", "communities"] = Field(
        default="shape",
        description="What a static graph is to be right in: 'shape', its degree law and clustering; 'who', "
        "that the right nodes have many edges; or 'communities', from epsilon 4 on.",
    )
    geometry: Literal["plane"] | None = Field(
        default=None,
        description="Declared: nodes are places of a plane and edges join near ones, as of roads and grids.",
    )

    @model_validator(mode="after")
    def _one_aim(self) -> Carry:
        if self.geometry and self.objective != "shape":
            raise ValueError("places of a plane are random: leave objective or geometry out")
        return self

    @property
    def aim(self) -> str | None:
        """What is aimed at beside the shape; of AIMS."""
        return self.geometry or (None if self.objective == "shape" else self.objective)

    @property
    def values(self) -> float | None:
        """Return the share for what edges carry. None leaves it to the rules."""
        return self.attribute_share if self.carry else 0

    @property
    def rows(self) -> float | None:
        """Return the share for protected attributes of nodes. None leaves it to the rules."""
        return self.node_attribute_share if self.carry else 0


def choose(public: PublicFacts, nodes: Mapping[str, int], request: Request = ANY) -> Choice:
    """Choose a structure for each relation, and shares.

    Shares are for all that is declared in addition to edges.

    ``nodes``: the size of every node universe by type. A function only of its arguments, and of which methods
    are registered. What edges carry and protected attributes of nodes are carried where any structure can;
    what cannot be is left out, and the reason says so, unless its share was requested. Raises
    ``errors.NotAccepted`` with the field to mend where no method takes the request. O(cells).
    """
    if request.aim == "communities" and public.nano_epsilon < COMMUNITIES_FROM * NANO:
        raise errors.NotAccepted(TOO_EARLY, field="parameters.objective")
    if public.tick is not None and request.rows:
        node_share.require_synthesised(public)
    refusals: list[errors.NotAccepted] = []
    for shares in _shares(public, request):
        try:
            found = _chosen(public, nodes, request, shares)
        except errors.NotAccepted as refusal:
            refusals.append(refusal)
        else:
            left = f" {_left_out(refusals[0])}" if refusals else ""
            rows = f" {NO_ROWS}" if request.rows is None and _rows_left(public) else ""
            _require_known(request.aim, found)
            grounds = f"{_shares_text(public, shares)}{left}{rows}{_without_bounds(public)}"
            return replace(found, reason=f"{found.reason}{grounds}")
    raise refusals[-1]


def _require_known(aim: str | None, found: Choice) -> None:
    """Refuse an aim that no chosen structure knows."""
    if aim is None:
        return
    structures = found.params.get("structures", {})
    if not {found.method, *(each["method"] for each in structures.values())} & AIMS[aim][0].keys():
        name = "geometry" if aim == "plane" else "objective"
        raise errors.NotAccepted(
            f"{name} {aim!r} is for static undirected relations, under unit edge or event; "
            f"{found.method}, which was chosen here, knows none: leave {name} out",
            field=f"parameters.{name}",
        )


Shares = Mapping[str, float]
"""Shares of epsilon by the parameter that names them; those of 0 are left out."""


def _shares(public: PublicFacts, request: Request) -> list[Shares]:
    """List the shares to try, the fullest first; what was asked for by the caller is in all of them."""
    values, rows = request.values, request.rows
    if values is None and not value_share.carrying(public.schema, public.edge_types):
        values = 0
    if rows is None and (_rows_left(public) or not node_share.carrying(public.schema, public.edge_types)):
        rows = 0
    usual = ROWS_OF_PERSONS if public.unit is Unit.NODE else ROWS
    tries = [
        {value_share.FIELD: VALUES if values is None else values, node_share.FIELD: each}
        for each in ((usual, 0) if rows is None else (rows,))
    ]
    if values is None:
        tries += [{**each, value_share.FIELD: 0} for each in tries]
    return [{name: share for name, share in each.items() if share} for each in tries]


def _rows_left(public: PublicFacts) -> bool:
    """Tell whether protected attributes of nodes are declared that no structure carries under this unit."""
    return public.tick is not None and bool(node_share.carrying(public.schema, public.edge_types))


def _without_bounds(public: PublicFacts) -> str:
    """Say which protected attributes of nodes no method carries, as they may be anything."""
    ends = [public.schema.edge_type(name) for name in public.edge_types]
    carried = synthesised_in(public.schema, public.edge_types)
    left = [
        each.name
        for kind in public.schema.node_types
        if any(kind.name in (end.source, end.target) for end in ends)
        for each in kind.attributes
        if each.protection is Protection.PROTECTED and each not in carried.get(kind.name, ())
    ]
    if not left:
        return ""
    verb = "is" if len(left) == 1 else "are"
    return f" {', '.join(left[:MOST_TOLD])} {verb} left out: {ANYTHING}"


def _shares_text(public: PublicFacts, shares: Shares) -> str:
    """Say what is set aside."""
    subjects = {value_share.FIELD: "what edges carry"}
    if node_share.given_up(public, 1):  # else rows cost edges nothing
        subjects[node_share.FIELD] = "protected attributes of nodes"
    named = [f"{shares[name]:g} of epsilon for {what}" for name, what in subjects.items() if name in shares]
    return f" Set aside: {', '.join(named)}." if named else ""


def _left_out(refusal: errors.NotAccepted) -> str:
    return f"Not all that is declared can be carried: {refusal.message.rstrip('.')}."


def _chosen(public: PublicFacts, nodes: Mapping[str, int], request: Request, shares: Shares) -> Choice:
    """Choose structures beside these shares; NotAccepted where there are none."""
    if public.schema.collection is not None:
        return _of_all_graphs(public, nodes, request, shares)
    if public.tick is not None and not request.named:  # all relations of a stream share one schedule
        return _pick(public, nodes, request, shares=shares)
    own: Shares = {}
    if public.unit is Unit.NODE:  # there each structure pays for what its edges carry
        own = {name: share for name, share in shares.items() if name == value_share.FIELD}
        shares = {name: share for name, share in shares.items() if name not in own}
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
        # A composition is of methods that every worker has; one method may serve all relations all the same.
        if not request.named and all(two_sided(public.schema.edge_type(name)) for name in picks):
            return _pick(public, nodes, request, mixes=node_share.FIELD in shares, shares=shares)
        picks = _picks(alone, nodes, replace(request, had=registry.common()), shares, own, but)
        if (one := _of_one(public, nodes, picks, shares)) is not None:
            return one
    reason = " ".join(dict.fromkeys(each.reason for each in picks.values()))
    structures = {
        name: {"method": each.method, "parameters": dict(each.params)} for name, each in picks.items()
    }
    listing = "; ".join(f"{name} by {each.method}" for name, each in list(picks.items())[:MOST_TOLD])
    more = f"; and {len(picks) - MOST_TOLD} more" if len(picks) > MOST_TOLD else ""
    if not _can(COMPOSED, request.had):
        raise errors.NotAccepted(
            f"relations would have structures of their own, and {COMPOSED} is not installed: name one method",
            field="method",
        )
    composed = _whole(
        COMPOSED,
        {"structures": structures, **shares},
        f"Each relation by a structure of its own, under one plan: {listing}{more}. {reason}",
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
    for name, spent in ((value_share.FIELD, spent_on), (node_share.FIELD, node_share.given_up)):
        public = beside(public, spent(public, shares[name])) if name in shares else public
    return public


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
        if node_share.FIELD in shares and public.unit is not Unit.NODE
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
    may_flip = public.unit in EDGE_WISE and request.may(FLIPS) and _can(FLIPS, request.had) and not mixes
    flips = flips_of(public, nodes) if may_flip else None
    if flips is not None:
        reason, params = flips
        flipped = _whole(FLIPS, {**params, **shares}, reason, public, nodes)
        if isinstance(flipped, Choice):
            return flipped
    order, reason = preferred(public, nodes)
    settings = SETTINGS.get(order, {})
    if mixes:
        order = tuple(name for name in (*order, *MIXING) if name in MIXING)
        settings = {name: {**settings.get(name, {}), **MIXING[name]} for name in order}
        reason += " Of those that link by protected attributes."
    first: tuple[str, errors.NotAccepted] | None = None
    for name in dict.fromkeys(order):
        if name in without or not _can(name, request.had):
            continue
        aimed, remark = ({}, "") if request.aim is None else AIMS[request.aim]
        params = {**settings.get(name, {}), **aimed.get(name, {}), **shares}
        planned: Choice | errors.NotAccepted
        if not request.may(name):
            planned = errors.NotAccepted("the dataset's policy does not allow it", field="method")
        else:
            planned = _whole(name, params, reason, public, nodes)
        if isinstance(planned, Choice):
            passed = "" if first is None else f" {first[0]} comes first, but it says: {first[1].message}."
            aimed_at = f" {remark}" if aimed.get(name) else ""
            return replace(planned, reason=reason + passed + aimed_at)
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
    """Choose the method that reads edges in parts, with the parameters that make it: of several the one that
    is made for the fewest kinds of graph, and of those the first by name. What edges carry
    has its usual share.

    ``nodes``, ``allowed`` and ``had``: as for :func:`choose`. Raises ``errors.NotAccepted`` where none takes
    it.
    """
    shares = {value_share.FIELD: VALUES} if value_share.carrying(public.schema, public.edge_types) else {}
    refusal = errors.NotAccepted("no method reads edges in parts, of those that are allowed", field="method")
    narrow = sorted(registry.generators().items(), key=lambda each: (sum(astuple(each[1].accepts)), each[0]))
    for name, generator in narrow:
        if generator.sharding is None or (allowed is not None and name not in allowed):
            continue
        if not _can(name, had) or public.unit not in generator.units:
            continue
        reason = f"The edges of the dataset stay in parts: {name} counts them, with these parameters."
        params = {**generator.sharding.counted, **shares}
        planned = _whole(name, params, reason, public, nodes, in_parts=True)
        if isinstance(planned, Choice):
            return planned
        refusal = planned
    raise refusal


def _can(name: str, had: Container[str] | None) -> bool:
    """Tell whether the method is registered and can be run; what workers have is looked up at need."""
    return registry.has(name) and (had is None or name in had)


def _whole(
    name: str,
    params: Mapping[str, Any],
    reason: str,
    public: PublicFacts,
    nodes: Mapping[str, int],
    *,
    in_parts: bool = False,
) -> Choice | errors.NotAccepted:
    """Plan the request by the method, or return why it does not take it."""
    generator = registry.get(name)
    for share, what in CARRIED.items():
        if share in params and share not in generator.Params.model_fields:
            return errors.NotAccepted(f"{name} releases {what}", field="method")
    chosen = generator.Params.model_validate(dict(params))
    try:
        plan = generator.plan(chosen, public)
        require_room(generator, chosen, plan, public.schema, nodes, in_parts=in_parts)
    except errors.NotAccepted as error:
        return error
    return Choice(name, reason, params, plan)
