"""The guarantee in plain words. It says too how to ask for such a release again."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

from core.privacy.accounting.guarantee import of_several
from core.privacy.units import Unit
from core.reports.model import GuaranteePart, PublicPart
from core.reports.notices import READ_OFF
from core.reports.reproduction import command
from core.reports.scoring import FAIR, GOOD
from graphveil.pages.numbers import at_most

UNITS: Mapping[Unit, tuple[str, str]] = {
    Unit.EDGE: ("one edge", "one relation between two nodes"),
    Unit.EVENT: ("one event", "one edge in one snapshot"),
    Unit.W_EVENT: (
        "one window",
        "all changes within {window} consecutive snapshots, at most one edge in each, and one edge without "
        "time",
    ),
    Unit.PAIR: ("one pair", "everything between two nodes, over all snapshots and relations"),
    Unit.NODE: (
        "one node",
        "all edges of one node of {kind}, over all snapshots and all relations but public ones, however many "
        "they are",
    ),
}
ASSURANCE = {
    "proven": "The method's privacy proof is complete, and the tests of this software audit its reads.",
    "reviewed": "The method's privacy proof was reviewed.",
    "experimental": "The method's privacy proof was not reviewed yet.",
}
# Caveats that a reader must not miss.
SEVERE = frozenset({"no_guarantee", "large_epsilon", *READ_OFF})
GROUPS = (1, 2, 5, 10)
Level = Literal["good", "fair", "poor"]
# The best guess about one unit, a coin flip being right with one half.
GOOD_GUESS, FAIR_GUESS = 0.75, 0.95


@dataclass(frozen=True)
class Together:
    """What is promised about ``units`` units at once. It has how sure an attacker can become whether they are
    all there or all absent. Each figure is an upper bound."""

    units: int
    epsilon: Decimal
    delta: Decimal
    right: float


def right_at_most(epsilon: float, delta: float) -> float:
    """Bound the probability that the best guess is right. It guesses between two neighbours, each as likely
    before."""
    # (1 + advantage) / 2 = (e^eps + delta) / (1 + e^eps) (Kairouz, Oh, Viswanath 2015), by e^-eps: e^eps is
    # more than a double holds from 710 on.
    falling = math.exp(-epsilon)
    return min(1.0, (1 + delta * falling) / (1 + falling))


def together(guarantee: GuaranteePart) -> list[Together]:
    """Bound the promise for several units at once. It is bounded for each of GROUPS; empty for kind none."""
    if guarantee.kind == "none" or guarantee.epsilon is None:
        return []
    promised = Decimal(guarantee.epsilon), Decimal(guarantee.delta or "0")
    bounds = []
    for units in GROUPS:
        epsilon, delta = of_several(*promised, units)
        delta = min(delta, Decimal(1))  # a larger delta would mean the same
        right = right_at_most(float(epsilon), float(delta))
        bounds.append(Together(units, epsilon.normalize(), delta, right))
    return bounds


def level(share: float) -> Level:
    """Name, and colour, a share of the way from worst to best."""
    return "good" if share >= GOOD else "fair" if share >= FAIR else "poor"


def promise_level(guarantee: GuaranteePart) -> Level:
    """Colour the promise by the best guess it leaves. Without a promise it is never but poor."""
    bounds = together(guarantee)
    return guess_level(bounds[0].right) if bounds else "poor"


def guess_level(right: float) -> Level:
    """Colour the best guess about one unit."""
    return "good" if right <= GOOD_GUESS else "fair" if right <= FAIR_GUESS else "poor"


def dataset_of(public: PublicPart) -> str:
    """Name the dataset. It goes by its identifier in a report that was not served."""
    return public.provenance.dataset_name or public.provenance.dataset_id


def unit_words(guarantee: GuaranteePart) -> tuple[str, str]:
    """Say what one unit is called, and what it is."""
    name, meaning = UNITS[guarantee.unit]
    if guarantee.apart:
        return (
            "one row",
            f"one row of {' or '.join(guarantee.apart)}, with its edge where it is the only one; elsewhere "
            f"{meaning}",
        )
    return name, meaning.format(window=guarantee.window, kind=guarantee.hidden_type)


def reliance(guarantee: GuaranteePart) -> tuple[str, ...]:
    """Say what a person in the data can rely on. It is said in a few paragraphs; empty unless a node is
    hidden."""
    bounds = together(guarantee)
    if not guarantee.unit.replaced or not bounds:
        return ()
    delta = "" if not bounds[0].delta else f" and a probability of {guarantee.delta} beside"
    return (
        f"A person here is a node of {guarantee.hidden_type}. Each of them has the same promise, with few "
        "edges or many: had all of their edges been any others, over all snapshots and all relations but "
        "public ones, this release would have been as likely up to a factor of "
        f"e^{guarantee.epsilon}{delta}.",
        "Told as a guess: somebody knows everything else in the original, and two lists of this person's "
        "edges are equally likely to them. Whatever they compute from the release, they name the true one "
        f"with probability at most {at_most(bounds[0].right)}; a coin flip is right with 50 %. That holds "
        "for every attacker and for the two lists that are easiest to tell apart.",
        "The edges that such a node has in the release are drawn anew and are nobody's, also where node ids "
        "are public. What holds of people in general, such as which things go together, the release may "
        "tell of a person too, whether or not their edges were in the original: that is what it is for.",
    )


def guess_words(guarantee: GuaranteePart) -> tuple[str, str, str]:
    """Say what an attacker does not know. It is said between what they guess of the original, and in one
    word."""
    if guarantee.unit.replaced:
        return "all edges of one person", "one list of its edges and any other", "which of two lists they are"
    name = unit_words(guarantee)[0]
    return name, "“it is there” and “it is not there”", "whether it is there"


def short_guarantee(guarantee: GuaranteePart) -> str:
    """Write the guarantee in a few signs. They are ``ε = 1 per event`` or ``none``."""
    if guarantee.kind == "none":
        return "none"
    if guarantee.kind == "unread":
        return "ε = 0, as nothing was read"
    delta = f", δ = {guarantee.delta}" if guarantee.delta not in (None, "0") else ""
    return f"ε = {guarantee.epsilon}{delta} per {unit_words(guarantee)[0].removeprefix('one ')}"


def command_lines(public: PublicPart) -> str:
    """Split the command into one option a line. It is :func:`core.reports.reproduction.command`, and still
    safe to paste."""
    words = shlex.split(command(public))
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(shlex.quote(word))
    return " \\\n  ".join(" ".join(line) for line in lines)
