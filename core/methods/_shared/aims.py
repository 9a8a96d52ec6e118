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
    "For communities: of a mean degree above twenty about half of what they are is kept at epsilon 4, as NMI "
    "above chance; of a mean degree below fifteen hardly anything is, at any epsilon that was measured."
)
TOO_EARLY = (
    "objective 'communities' tells too little below epsilon 4: at epsilon 2, .42 and .31 of NMI above chance "
    "were left on two graphs of mean degree above twenty, and none on seven sparse ones; "
    "raise epsilon to 4, or leave objective out"
)
AIMS = {
    "who": (WHO, WHO_TOLD),
    "communities": (COMMUNITIES, COMMUNITIES_TOLD),
    "plane": (PLANE, PLANE_TOLD),
}
"""What a static graph may be right in instead of its shape: how methods are set for it, and what is said."""
