"""Parameters that make ``dcsbm`` read only counts. With them edges may stay in parts. Public facts."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from core.errors import NotAccepted
from core.methods.dcsbm.params import DCSBMParams

FREE = ("triangle_share", "clustering_share", "product_share")
"""The shares that pay for reads which need edges together."""

COUNTED: Mapping[str, Any] = {"triangle_share": 0, "clustering_share": 0, "product_share": 0, "groups": 1}
"""Parameters under which nothing else is read, where all others are left out."""


def require_counts(params: DCSBMParams) -> None:
    """Check that a graph in parts can be fitted.

    It must be sampled in shards too; NotAccepted with the field to mend. Then the reads are the number of
    edges, degrees, tails and edges between labels, and the labels are known before anything is read: one for
    all nodes, or a public attribute's.
    """
    for name in FREE:
        if getattr(params, name):
            raise NotAccepted(
                f"edges in parts are counted, and nothing else is read of them; set {name} to 0", field=name
            )
    if params.geometry:
        raise NotAccepted(
            "edges in parts are drawn in strips, not in a plane; leave geometry out", field="geometry"
        )
    if params.groups is None or (isinstance(params.groups, int) and params.groups > 1):
        raise NotAccepted(
            "edges in parts tell no labels; set groups to 1, or name a public attribute",
            field="groups",
        )
    if params.groups == 1 and not params.count_share:
        raise NotAccepted(
            "labels would be read where the number of edges is not; leave count_share above 0",
            field="count_share",
        )
