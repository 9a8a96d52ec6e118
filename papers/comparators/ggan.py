"""GGAN: the graph autoencoder with a discriminator that DPGGAN builds on, without any privacy.

As ``gvae``, with a discriminator of the original and of generated graphs: a two-layer GCN whose node rows are
averaged, and a network on that average. The decoder is paid for closeness in its eyes too. It reads the raw
graph, so its guarantee is ``none``: it repeats about half of the edges of a small graph. For comparison with
``dpggan``, on data that its policy allows this for.
Source: Yang, Wang, Zhang, Chen, Sun, "Secure deep graph generation with link differential privacy", IJCAI
2021, whose reconstruction loss is the discriminator's view alone; here it is added to that of the links.

What to expect: as much of a copy as ``gvae``, and nothing measured of its own.
"""

from __future__ import annotations

from papers.dpggan.method import BackboneMethod
from papers.dpggan.params import GanBackboneParams

GENERATOR = BackboneMethod(
    module=__name__,
    name="ggan",
    title="GGAN",
    summary=(
        "A variational autoencoder of the original graph with a discriminator, for comparison with dpggan. "
        "No privacy: guarantee none."
    ),
    Params=GanBackboneParams,
).method()
