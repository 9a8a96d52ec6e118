"""The guarantee in plain words, and how to ask for such a release again."""

from __future__ import annotations

import math
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import Decimal

from core.privacy.units import Unit
from core.reports.model import GuaranteePart, PublicPart
from core.reports.reproduction import command

UNITS: Mapping[Unit, tuple[str, str]] = {
    Unit.EDGE: ("one edge", "one relation between two nodes"),
    Unit.EVENT: ("one event", "one edge in one snapshot"),
    Unit.W_EVENT: (
        "one window",
        "all changes within {window} consecutive snapshots, at most one edge in each, and one edge without "
        "time",
    ),
    Unit.PAIR: ("one pair", "everything between two nodes, over all snapshots and relations"),
}
ASSURANCE = {
    "proven": "The method's privacy proof is complete and its mechanism is audited.",
    "reviewed": "The method's privacy proof was reviewed.",
    "experimental": "The method's privacy proof was not reviewed yet.",
}
# Caveats that a reader must not miss.
SEVERE = frozenset({"no_guarantee", "large_epsilon", "universe_from_edges", "grid_from_data"})
GROUPS = (1, 2, 5, 10)


@dataclass(frozen=True)
class Together:
    """How sure an attacker can become whether ``units`` units are all there or all absent."""

    units: int
    epsilon: float
    right: float


def right_at_most(epsilon: float, delta: float) -> float:
    """The probability with which the best guess between two neighbours is right, each as likely before.

    (1 + advantage) / 2 = (e^eps + delta) / (1 + e^eps), at most 1 (Kairouz, Oh, Viswanath 2015).
    """
    falling = math.exp(-epsilon)
    return min(1.0, (1 + delta * falling) / (1 + falling))


def together(guarantee: GuaranteePart) -> list[Together]:
    """The bound for several units at once, for each of GROUPS; empty for kind none.

    k units: k epsilon, delta (e^(k eps) - 1) / (e^eps - 1). Vadhan, The Complexity of Differential Privacy
    (2017), Lemma 2.2.
    """
    if guarantee.kind == "none" or guarantee.epsilon is None:
        return []
    epsilon, delta = float(Decimal(guarantee.epsilon)), float(Decimal(guarantee.delta or "0"))
    found = []
    for units in GROUPS:
        # Above this exponent the bound is 1 in any case, and the sum would overflow.
        safe = units * epsilon < 700
        grown = delta * math.fsum(math.exp(j * epsilon) for j in range(units)) if safe and delta else 0.0
        found.append(Together(units, units * epsilon, right_at_most(units * epsilon, grown)))
    return found


def unit_words(guarantee: GuaranteePart) -> tuple[str, str]:
    """What one unit is called, and what it is."""
    name, meaning = UNITS[guarantee.unit]
    return name, meaning.format(window=guarantee.window)


def short_guarantee(guarantee: GuaranteePart) -> str:
    """The guarantee in a few signs: ``ε = 1 per event`` or ``none``."""
    if guarantee.kind == "none":
        return "none"
    delta = f", δ = {guarantee.delta}" if guarantee.delta not in (None, "0") else ""
    return f"ε = {guarantee.epsilon}{delta} per {unit_words(guarantee)[0].removeprefix('one ')}"


def command_lines(public: PublicPart) -> str:
    """:func:`core.reports.reproduction.command`, one option a line, still safe to paste."""
    words = shlex.split(command(public))
    lines: list[list[str]] = [[]]
    for word in words:
        if word.startswith("--"):
            lines.append([])
        lines[-1].append(shlex.quote(word))
    return " \\\n  ".join(" ".join(line) for line in lines)
