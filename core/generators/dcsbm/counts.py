"""Which parameters of ``dcsbm`` make it read counts alone, so that edges may stay in parts. Public facts."""

from __future__ import annotations

from core.errors import NotAccepted
from core.generators.dcsbm.params import DCSBMParams

FREE = ("triangle_share", "clustering_share", "product_share", "attribute_share", "node_attribute_share")
"""The shares that pay for reads which need edges together, or a graph that is drawn as a whole."""


def require_counts(params: DCSBMParams) -> None:
    """Check that a graph in parts can be fitted and drawn in shards; NotAccepted with the field to mend.

    Then the reads are the number of edges, degrees, tails and edges between labels, and the labels are known
    before anything is read: one for all nodes, or a public attribute's.
    """
    for name in FREE:
        if getattr(params, name):
            raise NotAccepted(f"a graph in parts is counted only: {name} is 0 there", field=f"params.{name}")
    if params.groups is None or (isinstance(params.groups, int) and params.groups > 1):
        raise NotAccepted(
            "a graph in parts has one label, or those of a public attribute: groups is 1 or its name",
            field="params.groups",
        )
    if params.groups == 1 and not params.count_share:
        raise NotAccepted(
            "one label is known beforehand where the number of edges is read: count_share is above 0",
            field="params.count_share",
        )
