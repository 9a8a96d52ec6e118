"""DPGGAN: degrees and triangles that are paid for, and a decoder of links that is learned where that pays.

Variant ``sound``. Read of each relation: what ``degree_triangle`` reads (number of edges, L1 sensitivity 1;
degrees, 2; triangles by the ladder mechanism; in large universes the sum of degree products), as a frame; and
with ``learn="link-sgd"`` every slot once by a coin, which gives a noisy graph of about the paid number of
edges, and edges by DP-SGD for the decoder. One edge is one example and touches one clipped gradient a step: a
pair's logit depends on the decoder and on its two nodes' latent vectors, and those come from the noisy graph
alone. The sum over all pairs that a likelihood needs besides does not look at the graph, and is free.
Proof: frame, coins and training compose in sequence, pure costs with the training's, converted once.
Relations hold disjoint edges, so each may spend all of epsilon and delta; with ``joint`` one training reads
all of them, and each pays for all of its steps. All else follows from these answers and public facts.
Guarantee: pure epsilon, or (epsilon, delta) with link-sgd. Unit: one edge. With ``attribute_share`` a
relation also pays, in pure epsilon that is composed with the rest, for tables of what edges carry.

Latent vectors are the noisy graph's leading eigenvectors; with ``inputs="networks"`` those of a two-layer GCN
encoder that starts from them, trained on the noisy graph beside a discriminator of that graph and of
generated ones. The decoder's logit is a bilinear form of two unit rows: its gradient at an edge does not
depend on its weights, so one paid step tells all that many would, and fitting is free. ``decoder="mlp"`` is
the paper's, with a noisy step for each look. A graph begins with the paid degrees; edges exchange ends by a
Metropolis walk under the learned score and the noisy graph's evidence, and are rewired to the paid triangles.
Degrees are exact throughout. With ``frame=false`` pairs are drawn by score alone, to the paid number.
Several undirected relations, each inside its own node type, are many graphs in one release. In a dataset that
declares a collection they learn from one another: how many edges a node has, and which laws
degrees follow, are fitted over the noisy answers of all graphs first. That is free: each graph has paid for
its own answers, and an edge moves those of one graph alone.

Variant ``paper`` is Algorithm 1: gradients clipped by node, encoder and discriminator on the raw graph.
Guarantee ``none``; the paper's claim is printed with our sensitivity of it. ``preset="paper"`` has all that
is stated; by default Adam, self-loops in the smoothing and 1,000 steps at most are filled in.
``preset="decoder"`` has noise on the decoder alone and edges from the encoder's output: near the paper's
table, with most edges true.

What to expect: on networks of some hundred nodes no learned form was closer than degrees and triangles, at
any epsilon from 1 to 8, and from about 8 on ``edgerand`` is; on Cora's 2 708 nodes of mean degree 4 neither,
up to 8. On Facebook's 4 039 nodes of mean degree 44 learning changes nothing at epsilon 2; from 3 on it finds
communities that the frame does not: at 4, nodes of largest centrality .78 against .28, shared communities
(NMI) .34 against .05, true edges .41 against .09, at a larger error of local clustering (.36 against .05).
The encoder and the discriminator gave less than the eigenvectors that they start from. ``auto`` goes by that:
all of epsilon to the frame, unless a delta is given, 1 000 nodes or more and a mean degree of 20 or more are
declared, and epsilon is .6 of the log odds against an edge. A fit may be kept in a folder and gone on with
(``fit(..., checkpoint=folder)``, ``resume``) once all is read.
Where a noisy graph is followed, plan and report print the share of true edges to expect: between chance and
what the posterior under its coins has; with ``frame=false`` and evidence alone it is one number.
Training in floating point; noise, coins and sums on integers. Checked on small graphs by audits.
Source: Yang, Wang, Zhang, Chen, Sun, "Secure deep graph generation with link differential privacy", IJCAI
2021; the sound form is ours.
"""

from __future__ import annotations

from papers.dpggan.method import LinkMethod
from papers.dpggan.params import GanParams

GENERATOR = LinkMethod(
    module=__name__,
    name="dpggan",
    title="DPGGAN",
    summary=(
        "Degrees and triangles that are paid for and, on request, a decoder of links that is learned from a "
        "noisy graph and by DP-SGD over edges. Pure epsilon or (epsilon, delta); or as published, without a "
        "guarantee."
    ),
    Params=GanParams,
).method()
