"""GVAE: the variational graph autoencoder that DPGVAE builds on, without any privacy.

A two-layer GCN encodes the original graph with one-hot inputs, and a two-layer decoder tells its links from
all pairs. Graphs are drawn from the encoder's output, by score, to the true number of edges. It reads the raw
graph, so its guarantee is ``none``: it repeats about half of the edges of a small graph. For comparison with
``dpgvae``, on data that its policy allows this for.
Source: Kipf and Welling, "Variational graph auto-encoders", 2016.

What to expect: a copy in part. On 14 networks of DBLP, of 80 to 260 nodes, an attacker told which links were
in with an AUC of .99.
"""

from __future__ import annotations

from papers.dpggan.method import BackboneMethod

GENERATOR = BackboneMethod(
    module=__name__,
    name="gvae",
    title="GVAE",
    summary="A variational autoencoder of the original graph, to compare dpgvae with. Guarantee none.",
).method()
