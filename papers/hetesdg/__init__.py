"""HeteSDG: typed graphs by noisy histograms of neighbours over clusters of public features.

Variant ``sound``. Of a relation, the end whose type has features is grouped: its nodes are put into clusters
by public columns alone (k-means). Read are how many neighbours every node of the other end has in each
cluster (L1 sensitivity 1, as an edge adds to one entry; 2 for an undirected relation inside one type) and,
for a graph, the number of edges (1), which bounds degrees, and the sorted degrees of both ends (1 each; 2 as
before). Types of fewer than 200 nodes have no sequence of their own. With an embedding and epsilon of 2 or
more, meta-paths are followed back: neighbours are counted by the noisy part of the type in between, of the
same sensitivity. ``mechanism="gaussian-sums"`` reads sums of neighbours' rows instead, under Gaussian noise
(L2 sensitivity 1; sqrt 2 as before), for scores and vectors. ``rows`` reads protected numbers of nodes, each
row at length 1 under one Gaussian draw (unit: one node's row, present or replaced by zeros).
``learn="link-sgd"`` trains a variational encoder of noisy tables and a link predictor by DP-SGD, one link
being one example; absent pairs are uniform and free.
Proof: the reads of a relation compose in sequence, training and sums converted once. Relations hold
disjoint edges and no row lies in a relation, so each relation, and each type's rows, may spend all of epsilon
and delta. Clusters, attention, splits and draws follow from these answers and public facts. ``bilevel``
divides epsilon by a noisy number of edges, which is paid for; what it divides sums to the same.
Guarantee: pure epsilon, or (epsilon, delta) with link-sgd, gaussian-sums or rows. Unit: one edge, and one row
where rows are read. With ``attribute_share`` a relation also pays, in pure epsilon that is composed with the
rest, for tables of what the edges of its graph carry.

Noise is integer (discrete Laplace): at epsilon 1 its deviation is 1.4 an entry, where a Gaussian draw at
delta 1e-5 has more than twice that. Degrees come from the sequences by a posterior of how many nodes reach
each degree. Every counted node's neighbours by cluster are drawn given its noisy row; ends are then matched
within clusters. Attention over neighbours and over meta-paths is worked out from the tables, without weights
to learn.
``release`` says what is published: a graph, vectors of nodes, noisy rows; epsilon goes to what is asked for.

Other than in the paper: a graph's links come from the tables; with ``links="predictor"`` they change
partners, at paid degrees, until the odds of the predictor hold. Attention has no weights that links teach.
Meta-paths have two relations; variant ``paper`` walks longer ones too. No node has noise of its own: a scale
that follows attention follows links, and one that only adds to what is needed serves nobody. An edge and a
row cost all of epsilon each, for they are two units.

Variant ``paper`` is Algorithm 1 on the raw graph. Guarantee ``none``; the claim is printed, and beside it the
epsilon of the noise after its factor of .01: 96 for a claim of 1. ``preset="paper"`` has every number that
the paper states, and its bi-level split; ``noise`` has its ablations. Filled in: see
:mod:`papers.hetesdg.published.algorithm1`. Its graph has the original's exact number of links.

Pairs are scored by the posterior of whole rows: a thin row's entries together, under a prior that the noisy
rows tell; each divided by its cluster's size, and weighed by how far the other end belongs to each cluster.

What to expect at epsilon 1: on ACM (4 019 papers, 13 407 links to authors) degrees within a total variation
of .04 (authors) and .04 (papers), paths from author to author within .04; links held out are ranked with an
AUC of .65, and links that stayed in with .80. On IMDB .62 and .76; features tell nothing of those held out.
Classes of nodes are told by features alone; at epsilon 4 links add two points on ACM. What limits it is a
node's degree: noise stops hurting from about epsilon times mean degree 8. Gaussian sums were 5 to 13 points
behind, and the predictor was never closer than the tables up to epsilon 4.
Training in floating point; noise, coins and sums on integers. Checked on small graphs by audits.
Source: Wei, Fu, Yan, Sun, Peng, Wu, Wang, Li, "Heterogeneous graph neural network with semantic-aware
differential privacy guarantees", Knowledge and Information Systems 2023; the sound form is ours.
"""

from __future__ import annotations

from papers.hetesdg.method import HeteMethod

GENERATOR = HeteMethod(
    module=__name__,
    name="hetesdg",
    title="HeteSDG",
    summary=(
        "Typed graphs by noisy degrees and noisy histograms of neighbours over clusters of node features: a "
        "graph, vectors of nodes, noisy features. Pure epsilon per edge; or as published, without a "
        "guarantee."
    ),
).method()
