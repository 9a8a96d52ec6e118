"""HeteDP: ``hetesdg`` without its debias weight and semantic regulariser, and with epsilon in equal parts.

What is read, why that is private, the parameters and what to expect are those of ``hetesdg``; the predecessor
of its paper has no weight C in the attention over meta-paths and no term L_C, and halves its epsilon. Pure
epsilon, or (epsilon, delta) with link-sgd or protected rows; unit: one edge, and one row where rows are read.
Variant paper has no guarantee.
Source: Wei, Fu, Sun, Peng, Wu, Wang, Li, "Heterogeneous graph neural network for privacy-preserving
recommendation", ICDM 2022. The sound form is ours.
"""

from __future__ import annotations

from papers.hetesdg.method import HeteMethod
from papers.hetesdg.params import PlainParams

GENERATOR = HeteMethod(
    module=__name__,
    name="hetedp",
    title="HeteDP",
    summary=(
        "As hetesdg, without its semantic debias weight and regulariser and with epsilon in equal parts. "
        "Pure epsilon per edge; or as published, without a guarantee."
    ),
    Params=PlainParams,
).method()
