"""Expected true edges in a release. A plan and a report say how many a release repeats where it follows bits
of pairs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.graphs.schema import GraphSchema
from core.methods.base import Method
from core.privacy.accounting.plan import PrivacyPlan
from core.reports.base import Notice

MOST_RELATIONS = 8
"""So many relations are named, those with the largest shares."""


def true_edge_notices(
    generator: Method, params: Any, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> tuple[Notice, ...]:
    """State the expected share of true edges. It is that among those released, by relation; nothing for other
    methods.

    A function of the plan and public facts: equal for every graph of these sizes. ``nodes``: the sizes of
    the node universes.
    """
    shares = generator.true_shares(params, plan, schema, nodes)
    if not shares:
        return ()
    largest = sorted(shares, key=lambda name: (-shares[name][1], name))[:MOST_RELATIONS]
    told = "; ".join(f"{name} {_percent(*shares[name])}" for name in largest)
    more = len(shares) - len(largest)
    rest = f"; {more} more relations at most as many" if more else ""
    return (
        Notice(
            code="true_edges",
            text="Noisy bits of single pairs are followed, so that released edges may be true ones. Expected "
            f"share of true edges among those released: {told}{rest}. By epsilon, the numbers of nodes and "
            "the declared bound on edges, or a guess of them; the more unequal degrees are, the more.",
        ),
    )


def _percent(low: float, high: float) -> str:
    least, most = f"{low:.0%}", f"{high:.0%}"
    return least if least == most else f"{least} to {most}"
