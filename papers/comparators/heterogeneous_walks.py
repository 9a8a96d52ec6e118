"""Heterogeneous walks: a network learns typed walks of the original graph, and edges are drawn from its own.

A walk goes from node to node along edges of one step, and along those without time, which every step has. A
recurrent network learns to draw it: relation and direction of the next edge, among those of which the node
has one, so that the relations of a walk are a meta-path, then the node that it leads to, among those that
such an edge leads to. Walks that it draws are counted pair by pair, and each relation gets in each step as
many edges as it has in the original: every node that walks came to by it one edge first, the others in
proportion to their counts.

It reads the raw graph, and keeps its numbers of edges, who has an edge of which relation in which step, and
many of the edges: its guarantee is ``none``. It shows what a walk generator reaches on a graph where nothing
is protected, beside methods that protect something; on data that its policy allows this for.

What is in of HGEN: a recurrent network that draws the type, then the node, walks along meta-paths as often as
they occur, an assembly by counts of pairs that keeps the ratio of the types of edges. What is not: its
adversarial training and its pre-trained embeddings; the network is trained by likelihood, with fresh walks in
every batch. HGEN is for static graphs: of a temporal one each step is walked by itself, but by one network,
which is told the step. Memory is linear in edges and nodes, and quadratic in relations times steps.
Source: Ling, Yang, Zhao, "Deep generation of heterogeneous networks", ICDM 2021.

What to expect: on MovieLens-100k, in 120 CPU seconds, 49 % of the edges repeated, Degree MMD .000, degrees of
users and movies off by a total variation of .11 and .11, preferences told with an AUC of .80 (the original on
itself: .82); on DBLP's KDD papers, in 71, 62 %, .016, .01 and .06, .66 (.63).
"""

from __future__ import annotations

from papers._shared.walks.method import WalkMethod
from papers._shared.walks.params import WalkParams

GENERATOR = WalkMethod(
    module=__name__,
    name="heterogeneous_walks",
    title="Heterogeneous walks (HGEN)",
    summary=(
        "Learns typed random walks of the original graph and assembles a graph from generated ones: what "
        "such a generator reaches without privacy. Guarantee none."
    ),
    typed=True,
    Params=WalkParams,
).method()
