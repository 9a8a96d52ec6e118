"""The smallest epsilon that meets a target. What must be right is given, and what that costs is computed.

A plan is a public function, and so is what is expected of it; the search looks at plans alone, and at the
account's balance.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, model_validator

from core.errors import InvalidInput, NotAccepted, TargetNotMet
from core.methods.base import Method, PublicFacts, no_reads
from core.privacy.accounting.events import MAX_NANO_EPSILON
from core.workflows.jobs.questions import QUESTIONS, Assume, Facts, answers, check_assumed, noises_of
from graphveil.amounts import format_epsilon
from graphveil.models.plans import Reached, Solved

PLANS = 60
"""About so many plans a search makes: halvings, and a bisection of 30 steps."""
HALVINGS = 12
"""So often the most epsilon is halved before it is said that none meets the target."""

Wanted = Annotated[float, Field(gt=0, le=1e12, allow_inf_nan=False)] | None


class Target(BaseModel):
    """What a release must tell at least, by the questions of a plan's ``expected``; all of it must be met."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    edges_within_95: Wanted = Field(
        default=None, description="The paid number of edges of a snapshot is at most so far off."
    )
    edges_relative_95: Wanted = Field(
        default=None, description="The same as a share of the edges.", examples=[0.01]
    )
    degree_within_95: Wanted = Field(default=None, description="A node's paid degree is at most so far off.")
    degree_told_from_zero: Wanted = Field(
        default=None, description="Nodes of so many edges can be told from nodes without."
    )
    triangles_within_95: Wanted = Field(
        default=None,
        description="The paid number of triangles is at most so far off; needs a declared degree_bound.",
    )
    hubs_found: Annotated[float, Field(gt=0, lt=1)] | None = Field(
        default=None, description="Share of the 1 % of nodes of most edges that is expected to be found."
    )

    assume: Assume | None = Field(
        default=None, description="The same as the request's `assume`, written beside what needs it."
    )

    @model_validator(mode="after")
    def _asks_for_something(self) -> Target:
        if not self.wanted:
            raise ValueError("a target names at least one quantity")
        return self

    @property
    def wanted(self) -> dict[str, float]:
        """What is requested, by question."""
        return self.model_dump(exclude_none=True, exclude={"assume"})


@dataclass(frozen=True)
class Limit:
    """The most epsilon that may be chosen. It has what sets it; the least is what a policy demands, or 1."""

    most: int
    by: str
    least: int = 1


@dataclass(frozen=True)
class Search:
    """A target, with public facts for its epsilon. The latter follows from all of them.

    ``method`` returns the method and its parameters, which follow from the facts where ``auto`` chooses:
    ``varies`` says that another epsilon may take another method.
    """

    method: Callable[[PublicFacts], tuple[Method, BaseModel]]
    varies: bool
    public: PublicFacts
    nodes: Mapping[str, int]
    target: Target
    assume: Assume | None

    def at(self, nano_epsilon: int) -> list[Reached]:
        """Evaluate each part of the target at that epsilon. It is evaluated for every relation.

        Raises NotAccepted where the method refuses the epsilon, and InvalidInput where the plan does not tell
        what the target names.
        """
        schema, public = self.public.schema, replace(self.public, nano_epsilon=nano_epsilon)
        generator, params = self.method(public)
        if generator.planned_reads is no_reads:
            raise InvalidInput(
                f"{generator.name} tells nothing beforehand that a target could ask for; name a method "
                "whose dry run has precision.",
                field="target",
            )
        plan = generator.plan(params, public)
        reads = generator.planned_reads(params, plan, schema, self.nodes)
        # Shares are whole nano-epsilon: with one of none there is no noise to predict.
        if any(cost < 1 for read in reads for cost in read.nano_epsilon):
            raise NotAccepted("epsilon is too small to be divided", field="epsilon")
        noises = noises_of(plan, schema, reads)
        wanted, found = self.target.wanted, []
        for answer in answers(Facts(schema, self.nodes, self.assume, noises), wanted):
            target = wanted[answer.question]
            more = QUESTIONS[answer.question].larger
            met = answer.value >= target if more else answer.value <= target
            found.append(
                Reached(
                    question=answer.question,
                    edge_type=answer.edge_type,
                    asked=target,
                    value=answer.value,
                    met=met,
                )
            )
        # Each relation must answer: of a mix of methods one may say nothing of a question that others answer.
        answered = {(each.question, each.edge_type) for each in found}
        for question in wanted:
            for name in self.public.edge_types:
                if (question, name) not in answered:
                    raise _untold(generator.name, question, name)
        return found


def _untold(method: str, question: str, relation: str) -> InvalidInput:
    if question == "triangles_within_95":
        why = "declare a degree_bound, or choose a method that counts triangles"
    elif question in ("edges_relative_95", "hubs_found"):
        why = f"assume a number of edges for it, or choose a method that pays for {relation!r} so"
    else:
        why = "choose a method that does, or leave it out"
    return InvalidInput(
        f"{method} does not tell {question} of relation {relation!r} beforehand; {why}.",
        field=f"target.{question}",
    )


def solve(search: Search, limit: Limit) -> tuple[int, Solved]:
    """Find the smallest epsilon that meets the target. It is in nano, and within the limit; what binds there
    comes too.

    From the most on, epsilon is halved until the target is missed, and the rest found by bisection: one
    nano-epsilon less misses it. Precision grows with epsilon but for the few methods that read more where
    epsilon allows it; there it is the smallest of the range around it. Some 60 plans.
    Raises TargetNotMet, which says how close the limit comes and what would do; InvalidInput; NotAccepted
    where the method takes no such request at all.
    """
    _check_assumed(search)
    if not any(_attempt(search, each) for each in _halvings(1, MAX_NANO_EPSILON)):
        search.at(max(1, limit.most))  # what is wrong at any epsilon is told as such
    found = _least(search, limit.least, limit.most) if limit.most >= limit.least else None
    if found is None:
        raise _not_met(search, limit)
    reached = search.at(found)
    # What one nano-epsilon less misses is what binds.
    missed = _attempt(search, found - 1) if found > limit.least else []
    binds = next((each for each in missed or [] if not each.met), None)
    return found, Solved(
        epsilon=format_epsilon(found),
        binds=None if binds is None else binds.question,
        edge_type=None if binds is None else binds.edge_type,
        reached=tuple(reached),
    )


def _check_assumed(search: Search) -> None:
    """Raise InvalidInput where ``assume`` cannot be, with the field where the request has it."""
    try:
        check_assumed(search.assume, search.public.schema, search.nodes, search.public.edge_types)
    except InvalidInput as error:
        if search.target.assume is None:
            raise
        raise InvalidInput(error.message, field=f"target.{error.members['field']}") from error


def _attempt(search: Search, nano_epsilon: int) -> list[Reached] | None:
    """Tell what is reached; None where the method refuses so little."""
    try:
        return search.at(nano_epsilon)
    # Too little for a plan counts as a miss, so that the search goes on above it.
    except InvalidInput:
        return None


def _meets(search: Search) -> Callable[[int], bool]:
    def meets(nano_epsilon: int) -> bool:
        reached = _attempt(search, nano_epsilon)
        return reached is not None and all(each.met for each in reached)

    return meets


def _halvings(least: int, most: int) -> Iterator[int]:
    """List the most, half of it, and so on; not below the least."""
    floor = max(least, most >> HALVINGS)
    while most > floor:
        yield most
        most = max(least, most // 2)
    yield most


def _least(search: Search, least: int, most: int) -> int | None:
    """Find an epsilon that meets the target, of which one nano-epsilon less misses it; None for none."""
    meets = _meets(search)
    meeting = filter(meets, _halvings(least, most))
    # Where auto changes methods with epsilon the target may be met, missed and met again: look at all.
    high = min(meeting, default=None) if search.varies else next(meeting, None)
    if high is None:
        return None
    low = high
    # high meets the target throughout; low ends as one that misses it, or as the least.
    while low > least and meets(low):
        high, low = low, max(least, low // 2)
    if meets(low):
        return low
    # low misses it and high meets it, until nothing lies between them.
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if meets(middle) else (middle, high)
    return high


def _not_met(search: Search, limit: Limit) -> TargetNotMet:
    """Say how close the limit comes, and which epsilon would do."""
    # Beyond the limit, to say what would do; it plans only, and touches no budget.
    needed = _least(search, max(limit.least, limit.most), MAX_NANO_EPSILON)
    closest = _attempt(search, limit.most) if limit.most >= 1 else None
    missed = [each for each in closest or [] if not each.met]
    far = ", ".join(f"{each.question} of {each.edge_type!r} {each.value:.4g}" for each in missed)
    members: dict[str, Any] = {
        "limited_by": limit.by,
        "limit": format_epsilon(max(0, limit.most)),
        "needed": None if needed is None else format_epsilon(needed),
        "reached": [each.model_dump() for each in closest or []],
    }
    would = "no epsilon meets it" if needed is None else f"it takes epsilon {members['needed']}"
    comes = f" At epsilon {members['limit']} it comes to {far}." if far else ""
    return TargetNotMet(
        f"The target is not met within epsilon {members['limit']} ({limit.by}): {would}.{comes}", **members
    )
