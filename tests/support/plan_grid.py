"""What a grid of requests is planned as: one line by method, to compare before and after a change.

``python -m tests.support.plan_grid`` writes the file that the tests compare with.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from itertools import product
from pathlib import Path
from typing import Any

from core.errors import GraphveilError
from core.methods import registry
from core.methods.base import PublicFacts
from core.publishing.settle import settle
from tests.support.schema_grid import Shape, counts_of, shapes

STORED = Path(__file__).with_name("plan_grid.json")
EPSILONS = (0.2, 1.0, 4.0)
SHARES = ("attribute_share", "node_attribute_share")
EVERY = 6
"""Of the shapes a method is asked for one in so many, each method for others."""


def shares_of(name: str) -> list[dict[str, float]]:
    """List the shares that the method may set aside, none of them first."""
    taken = [each for each in SHARES if each in registry.get(name).Params.model_fields]
    return [
        {each: share for each, share in zip(taken, chosen, strict=True) if share}
        for chosen in product((0.0, 0.2), repeat=len(taken))
    ]


def requests(name: str, place: int) -> Iterator[tuple[dict[str, float], PublicFacts, Shape]]:
    """Yield parameters, facts and shape of the requests for one method; ``place``: its own."""
    asked = shares_of(name)
    for number, shape in enumerate(list(shapes())[place % EVERY :: EVERY]):
        yield asked[number % len(asked)], shape.facts(EPSILONS[number % len(EPSILONS)]), shape


def planned(name: str, parameters: Mapping[str, Any], facts: PublicFacts) -> str:
    """Return the method and the digest that a request is settled with, or why it is refused."""
    try:
        settled = settle(name, parameters, [], facts, counts_of(facts))
    except GraphveilError as refusal:
        return f"{type(refusal).__name__} {refusal.members.get('field')}: {refusal.message}"
    return f"{settled.generator.name} {settled.plan.digest()}"


def lines(name: str, place: int) -> list[str]:
    """List what every request for the method comes to."""
    return [planned(name, parameters, facts) for parameters, facts, _ in requests(name, place)]


def rows() -> dict[str, dict[str, Any]]:
    """Count by method what was asked and planned, with one hash of all answers in their order."""
    found = {}
    for place, name in enumerate([*registry.generators(), "auto"]):
        answers = lines(name, place) if name != "auto" else _of_auto()
        found[name] = {
            "asked": len(answers),
            "planned": sum(": " not in each for each in answers),
            "sha256": hashlib.sha256("\n".join(answers).encode()).hexdigest(),
        }
    return found


def _of_auto() -> list[str]:
    return [planned("auto", {}, facts) for _, facts, _ in requests("composed", 0)]


if __name__ == "__main__":
    STORED.write_text(json.dumps(rows(), indent=1) + "\n", encoding="utf-8")
