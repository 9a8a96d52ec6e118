"""What somebody can learn, as a table on a terminal."""

from __future__ import annotations

from collections.abc import Sequence

from graphveil.cli.console import out, table
from graphveil.pages.numbers import at_most, percent_text
from graphveil.risk import PRIORS, Learned


def learned(found: Sequence[Learned]) -> None:
    """Print how likely a claim about one unit can become, for who held it so likely before."""
    if not found:
        return
    made = table(None, "held likely before", *(percent_text(prior) for prior in PRIORS))
    for each in found:
        delta = "" if each.delta == "0" else f", delta {each.delta}"
        made.add_row(f"{each.title} (epsilon {each.epsilon}{delta})", *map(at_most, each.after))
    out.print("Whatever somebody knows, a claim about one unit becomes at most so likely by reading:")
    out.print(made)
