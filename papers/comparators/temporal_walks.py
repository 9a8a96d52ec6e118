"""Temporal walks: a network learns walks of the original graph over time, and edges are drawn from its own.

A walk goes from node to node along edges whose steps are at most ``window`` apart, either way; edges without
time are met in every step. A recurrent network learns to draw a walk: the step of the next edge, among those
in which the node has one, then the node that it leads to, among those that have one. Walks that it draws are
counted pair by pair. Each step gets as many edges as it has in the original: every node that walks came to in
that step one edge first, the others in proportion to their counts. Types of nodes are not looked at: a pair
is an edge of the relations that join its types in that step. A graph without time is one step.

It reads the raw graph, and keeps its numbers of edges, who has an edge in which step, and many of the edges:
its guarantee is ``none``. It shows what a walk generator reaches on a graph where nothing is protected,
beside methods that protect something; on data that its policy allows this for.

What is in of the papers: of TagGen, nodes at steps as what walks are made of, neighbours within a window of
steps, and an edge for every node before the rest by counts; of TG-GAN, a recurrent network that draws times
and nodes in turn, and walks that are valid in time by construction. What is not: TagGen's adding and deleting
in sampled walks with a discriminator that selects, TG-GAN's continuous times and its adversarial training.
The network is trained by likelihood instead, with fresh walks in every batch and nothing that can collapse
into one walk. Memory is linear in edges and nodes, and quadratic in steps.
Source: Zhou, Zheng, Han, He, "A data-driven graph generative model for temporal interaction networks", KDD
2020; Zhang, Zhao, Qin, Pfoser, Ling, "TG-GAN: continuous-time temporal graph deep generative models with
time-validity constraints", WWW 2021.

What to expect: on MovieLens-100k, in 120 CPU seconds, 43 % of the edges repeated, Degree MMD .002, degrees of
users and movies off by a total variation of .10 and .10, preferences told with an AUC of .79 (the original on
itself: .82); on DBLP's KDD papers, in 71, 46 %, .028, .02 and .06, .62 (.63).
"""

from __future__ import annotations

from pydantic import Field

from papers._shared.walks.method import WalkMethod
from papers._shared.walks.params import WalkParams


class TemporalWalkParams(WalkParams):
    """What a caller may set. All of it is public and enters the report."""

    window: int = Field(
        default=1, ge=0, le=1000, description="Steps that two edges in a row may be apart, either way."
    )


GENERATOR = WalkMethod(
    module=__name__,
    name="temporal_walks",
    title="Temporal walks (TagGen, TG-GAN)",
    summary=(
        "Learns random walks of the original graph over time and assembles a graph from generated ones: "
        "what such a generator reaches without privacy. Guarantee none."
    ),
    typed=False,
    Params=TemporalWalkParams,
).method()
