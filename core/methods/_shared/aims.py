"""What a static graph may be right in instead of its shape, and what a plan says of it."""

from __future__ import annotations

from core.methods._shared.preferences import COMMUNITIES, PLANE, WHO

WHO_TOLD = (
    "For who has many edges: three quarters of epsilon are for degrees, by node, and clustering, communities "
    "and triangles are told worse."
)
PLANE_TOLD = (
    "As declared, edges join near places of a plane: distances and communities come out as of roads and "
    "grids, clustering and mixing by degree as they happen to."
)
COMMUNITIES_FROM = 4.0
"""The least epsilon at which communities of dense graphs are told in part (``benchmarks.good_for``)."""
COMMUNITIES_TOLD = (
    "For communities: two graphs of over a thousand nodes and a mean degree above twenty kept about half of "
    "what they are at epsilon 4, as NMI above chance; one of mean degree 16, one of 167 nodes and "
    "seven sparse ones kept hardly anything."
)
TOO_EARLY = (
    "objective 'communities' tells too little below epsilon 4: at epsilon 2, .42 and .31 of NMI above chance "
    "were left on two graphs of mean degree above twenty, and hardly any on nine others; "
    "raise epsilon to 4, or leave objective out"
)
AIMS = {
    "who": (WHO, WHO_TOLD),
    "communities": (COMMUNITIES, COMMUNITIES_TOLD),
    "plane": (PLANE, PLANE_TOLD),
}
"""What a static graph may be right in instead of its shape: how methods are set for it, and what is said."""
