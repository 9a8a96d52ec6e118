"""Anchored: our own method for temporal and heterogeneous graphs.

Every cell (relation and step) is a random graph with noisy degrees, drawn towards what randomised response
says about its pairs.

1. The number of edges, and the degrees of either side (an undirected relation inside one type has one
   degree for each node), by discrete Laplace noise. The law of the degrees is deconvolved, for all steps
   together and then for each, and its quantiles go to the nodes in the order of their posterior means. Of an
   undirected relation a step also buys, where that tells more than its noise, how many nodes have at least
   so many edges; its own law then explains both (``dcsbm``'s law).
2. Evidence: symmetric randomised response on every pair of the cell, at what is left of epsilon.
3. A graph with these degrees is drawn by matching edge ends at random. Then a Metropolis chain swaps the ends
   of two edges at a time, which keeps every degree, and accepts by the likelihood of the evidence: its limit
   is the posterior, under a prior that is uniform over graphs with these degrees.
4. With ``spectral=true``, and for timed relations between two sides, a few directions in which sources and
   targets prefer one another: private power iterations over all steps together, from the classes that
   relations without time give the targets (:mod:`core.methods.anchored.spectral`). What two nodes'
   coordinates say of their pair is added to the evidence.
A relation without time and with few pairs is fitted otherwise
(:mod:`core.methods._shared.relations.static`): noisy degrees of its targets, how many sources have how
many of them, randomised response on its pairs where that could tell true ones, and the best pairs of each
source. Lazy evidence, and none, go by the chain there too; so does a directed relation inside one type where
evidence could not tell true pairs, as sources would be nobody in particular.

How epsilon is shared is public, and so is where evidence is asked for at all: where epsilon is small beside
the log odds against a pair being linked, it could not tell true edges from false ones, and degrees get
everything. Set ``degree_share`` to choose: more keeps degrees closer and copies fewer true edges, less keeps
more of who is linked to whom. At epsilon 4 half to three quarters of a small relation's drawn edges may be
true ones; that is what such an epsilon allows, and an owner may want less. Plan and report print the share
that epsilon and the sizes let one expect. A parameter that could change nothing in a request is refused.

Directions are off unless asked for. On MovieLens-100k they told some preferences apart at epsilon 2, where
nothing else did, at a cost in degrees; at 4 they told less than evidence, kept degrees closer and repeated
fewer true edges; at 8 evidence alone was better. On DBLP, where nothing is released of the targets to start
from, they cost degrees and gained nothing.

What is read, at which sensitivity to one edge of one cell: the number of edges, 1; each side's degrees, 1 in
L1; the degrees of an undirected cell, 2, and its tail counts, 2 whatever the thresholds, which are paid for
(an edge raises two degrees by one, and each passes one threshold at most); of a cell that is fitted otherwise
one side's degrees, 1, and how many nodes of the other have which degree, 2; every pair once, by a coin. Under
unit pair a directed relation inside one type may link a pair both ways, and all of it doubles. Each pass for
directions, under unit event: one edge adds a row of length at most 1 to one row of sums, under Gaussian
noise. Proof: the reads follow one another on one cell, so their costs add up to the cell's epsilon
(directions: pure and Gaussian costs are composed, and converted once); an edge lies in one cell, and every
cell that a pass reads pays for it; all else is post-processing, chain lengths included, which are a constant
times the noisy number of edges. Guarantee: pure epsilon; (epsilon, delta) with directions. Units edge and
event: cells hold disjoint edges, so each has all of epsilon; w-event: a part for each step of a window, and
one for relations without time; pair: a part for each cell.

With ``node_attribute_share`` and ``evidence=none``, a share of epsilon pays for protected attributes of nodes
(:mod:`core.methods._shared.node_values`, with the reads and proofs of :mod:`core.privacy.reads.node_values`):
every node is dealt values by its degrees, and pairs of groups gain log odds in the chain, by which they meet
as the mixing matrix says that was read of all steps together; of a directed relation, and between two node
types, by source and target (:mod:`core.privacy.reads.mixing_between`). Not beside directions; what edges
carry is.

Declared facts are kept: a pair that occurs once over time is drawn once, a source of a functional relation
has one target.

Lazy evidence: where there are too many pairs to note those that the coin reports, the coin becomes a keyed
pseudo-random function (SipHash-2-4, fresh key) that is asked pair by pair. Its assurance is computational,
not statistical, and the model then holds the cell's edges and the key: it is private content, sealed and
erased with the dataset, and drawing again is free only while it exists.

In parts: with ``evidence=none`` and nothing set aside for nodes, every read is a sum over edges or a function
of one, so that edges may stay on disk, and cells are drawn in shards as independent pairs, in proportion to
the fitted degrees (:mod:`core.methods._shared.shards.law`).

Run times of the reads depend on the true edges and are not for publication. Source: our own; deconvolution by
smoothed expectation-maximisation, Silverman, Jones, Wilson, Nychka, JRSS B 52 (1990); degree-preserving
chains, Besag and Clifford, Biometrika 76 (1989).

What to expect: on MovieLens-100k at epsilon 4 users' degrees within a total variation of .08, and pairs that
predict the real ones beyond degrees with an AUC of .73, those that the release lacks with .70 (the original
itself .82; .5 is nothing). Degrees still come through at epsilon 2 (degree MMD .0008, at 4 .0002).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from core import errors
from core.graphs.schema import GraphSchema
from core.late import late
from core.methods._shared.flips.true_edges import true_share
from core.methods._shared.frame.plan import cell_plan
from core.methods._shared.frame.stages import staged
from core.methods._shared.node_values.stage import NodeValueStage
from core.methods._shared.relations.params import AnchoredParams
from core.methods._shared.values.stage import VALUES
from core.methods.anchored import allotted
from core.methods.anchored.allotted import NAME, granted, with_directions
from core.methods.anchored.budget import evidence_asked, planned_reads, require_kept
from core.methods.base import (
    GraphKinds,
    Method,
    PublicFacts,
    Sharding,
    checked,
    require_accepted,
)
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.queries import Shape
from core.privacy.units import EDGE_WISE


def plan(params: AnchoredParams, public: PublicFacts) -> PrivacyPlan:
    """Grant every cell (relation and step) the same epsilon, which it divides by a public rule.

    EDGE and EVENT: cells hold disjoint edges, each may spend everything. W_EVENT: epsilon/w per step.
    PAIR: epsilon divided by the number of cells. Rounded down to nano-epsilon. Directions take a fixed
    share of it in the relations that have them. Evidence that has to be materialised is refused where too
    many pairs would be reported.
    """
    require_accepted(EDGES, public)
    plan = cell_plan(NAME, public, "laplace and randomised response", f"{NAME} cell")
    if params.spectral:
        plan = with_directions(plan, public)
    counts = {kind.name: kind.count for kind in public.schema.node_types if kind.count is not None}
    if len(counts) == len(public.schema.node_types):
        require_kept(params, plan, public.schema, counts)
    return plan


def require_room(
    params: AnchoredParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> None:
    """Check evidence and directions by the sizes left open.

    The schema leaves them open; see :class:`Method`.
    """
    allotted.require_room(granted(plan), schema, nodes)
    require_kept(params, plan, schema, nodes)


def true_shares(
    params: AnchoredParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Mapping[str, tuple[float, float]]:
    """Compute expected shares of true edges, by relation.

    They are among those sampled; see :class:`Method`.
    """
    found = {}
    for name, nano_epsilon in evidence_asked(plan, schema, nodes, params).items():
        relation = schema.edge_type(name)
        found[name] = true_share(
            Shape(relation, nodes[relation.source], nodes[relation.target]), nano_epsilon
        )
    return found


class Groups(NodeValueStage):
    """Groups of attribute values. Pairs of them gain log odds in the chain, which follows them only."""

    def require_synthesised(self, public: PublicFacts) -> None:
        """Refuse relations whose edges may not exchange their ends, too."""
        super().require_synthesised(public)
        for each in public.schema.edge_types:
            if each.name in public.edge_types and each.homogeneous and each.functional:
                raise errors.NotAccepted(
                    f"protected node attributes are not synthesised along {each.name!r}, which gives each "
                    f"node one target; leave {self.field} out",
                    field=self.field,
                )


def require_mixed(params: AnchoredParams, public: PublicFacts, plan: PrivacyPlan) -> None:
    """Plan edges, and what they and nodes carry; attributes of nodes are refused beside evidence.

    Evidence says which true nodes are linked, and values are dealt anew: it would part linked nodes from
    their values, so that nothing would be left of who meets whom.
    """
    if STAGED.carries_nodes(params) and params.evidence != "none":
        raise errors.NotAccepted(
            "protected node attributes are synthesised without evidence on pairs, which tells of true "
            "nodes whose values are not released; set evidence to none, or leave node_attribute_share "
            "out",
            field="evidence",
        )


COUNTED: Mapping[str, Any] = {"evidence": "none"}
"""Parameters under which numbers of edges and degrees are read, and nothing else."""


def require_counts(params: AnchoredParams) -> None:
    """Check that a graph in parts can be fitted, and drawn in shards. NotAccepted with the field to mend."""
    if params.evidence != "none":
        raise errors.NotAccepted(
            "edges in parts are counted, and no pair is looked at; set evidence to none", field="evidence"
        )
    if params.spectral:
        raise errors.NotAccepted(
            "directions are read of edges together; set spectral to false", field="spectral"
        )
    if params.node_attribute_share:
        raise errors.NotAccepted(
            "edges in parts are drawn here without protected attributes of nodes; set node_attribute_share "
            "to 0",
            field="node_attribute_share",
        )


EDGES = Method(
    module=__name__,
    name=NAME,
    title="Anchored degrees with evidence",
    summary=(
        "Deconvolved degrees of both sides of every relation in every snapshot, and randomised response on "
        "pairs as evidence for a chain of swaps that keeps them. For temporal, typed and directed graphs. "
        "Pure epsilon under every unit but node; (epsilon, delta) where directions are paid for too."
    ),
    assurance="proven",
    Params=AnchoredParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, bipartite=True),
    units=EDGE_WISE,
    kinds=frozenset({GuaranteeKind.PURE, GuaranteeKind.APPROXIMATE}),
    plan=plan,
    fit=late("core.methods.anchored.fit:fit"),
    require_room=require_room,
    planned_reads=planned_reads,
    true_shares=true_shares,
    load=late("core.methods.anchored.model:load"),
    sharding=Sharding(
        COUNTED,
        require_counts,
        late("core.methods.anchored.fit:fit"),
        late("core.methods.anchored.shards:laws_of_model"),
        late("core.methods._shared.shards.cells:draw_shard"),
        late("core.methods.anchored.shards:degrees_of_model"),
    ),
)
STAGED = staged(EDGES, VALUES, Groups(late("core.methods.anchored.labels:PairsOfGroups")))
GENERATOR = replace(STAGED, plan=checked(STAGED.plan, require_mixed))
