"""DPGVAE: ``dpggan`` without its discriminator.

What is read, why that is private, the parameters and what to expect are those of ``dpggan``. The two differ
where networks are trained alone: with ``inputs="networks"`` the encoder learns from the cross entropy of the
noisy graph's links, and nothing else; in variant ``paper`` the decoder's loss is that of the links too. Pure
epsilon, or (epsilon, delta) with link-sgd; unit: one edge. Variant paper has no guarantee.
Source: Yang, Wang, Zhang, Chen, Sun, "Secure deep graph generation with link differential privacy", IJCAI
2021; Kipf and Welling, "Variational graph auto-encoders", 2016. The sound form is ours.
"""

from __future__ import annotations

from papers.dpggan.method import LinkMethod

GENERATOR = LinkMethod(
    module=__name__,
    name="dpgvae",
    title="DPGVAE",
    summary=(
        "As dpggan, without a discriminator: degrees and triangles that are paid for and, on request, a "
        "learned decoder of links. Pure epsilon or (epsilon, delta); or as published, without a guarantee."
    ),
).method()
