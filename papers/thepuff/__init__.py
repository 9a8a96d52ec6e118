"""THEPUFF: walks of a temporal heterogeneous graph, learned adversarially, and a graph assembled from them.

A generator of typed walks plays against a discriminator that sees a perturbed graph and, with ``utility``,
listens to a second one that has learned what walks of the original graph look like. Its walks are counted
pair by pair, and each cell (relation and step) draws as many of its pairs as its paid number of edges; with
``keep_degrees``, which is ours, so that nodes have the degrees that were paid for.

Variant ``sound``, units edge and event. What is read of a learned cell: the number of edges (sensitivity 1)
and with ``bias="paid"`` the degrees of its sides (1 each; 2 of the one vector of an undirected cell), with
discrete Laplace noise; every slot once, by coins that are balanced about the noisy number of edges. In which
steps a node is active is told from its noisy degrees of all steps together. With ``utility`` single edges are
read too, by DP-SGD: an edge that a step has sampled is the middle of a walk whose other nodes come from the
perturbed graph alone, so that it touches one clipped gradient a step. Negative walks come from the perturbed
graph and pay nothing, but pass through the same clip and divisor. Relations without time, in a graph that has
time, are read and drawn as :mod:`core.methods.anchored` does.

Proof: cells hold disjoint edges, so each may spend all of epsilon and delta. In one cell the pure costs add
up and compose with the training's, if any, converted once; one training serves all learned cells and each of
them pays for all of its steps, as an edge lies in one of them. Candidates, start edges, embeddings, the
privacy discriminator, the number of batches and the assembler see answers that are paid for, and nothing
else. Guarantee: pure epsilon; (epsilon, delta) with a utility discriminator. With ``attribute_share`` a cell
also pays, in pure epsilon that is composed with the rest, for tables of what edges carry.

Variant ``paper`` follows Algorithms 1 to 4: coins from exact edge counts, a utility discriminator on walks of
the raw graph. It reads the raw graph, so its guarantee is ``none``; what the paper claims and what its coins
come to is printed beside it. ``preset="paper"`` has its every stated number and form, walks across timestamps
among them. Where the published text cannot work as it stands, this form is ours in both variants: no "end"
class, node choices with a gradient, masked walks, pairs that the schema allows, vectors of one length.

What to expect: on MovieLens-100k at epsilon 4 and 8, ``anchored`` was closer in degrees, closed 4-cycles and
preferences, in about a fiftieth of the CPU time; this method repeats fewer of the original's edges, and is
here for comparison. Its graphs have the degrees that were paid for. Of what pairs hold beyond degrees it
finds little, since below epsilon 8 the perturbed graph keeps little of it. A run whose generator has
collapsed says so: its cells are short of distinct pairs, and are filled from degrees. Plan and report print
the share of true edges to expect: between chance and what the perturbed graph holds.
A fit may be kept in a folder and gone on with (``fit(..., checkpoint=folder)``, ``resume``): the folder holds
paid-for answers and weights, is as private as the model, and going on reads nothing. The service does not
use it: there an attempt that ends is charged, and the next one reads and pays anew.
Training in floating point; noise, coins and sums on integers. Checked on small graphs by audits.
Source: He, Fu, Tong, Maciejewski, He, "Temporal Heterogeneous Graph Generation with Privacy, Utility, and
Efficiency", ICLR 2025; the sound form is ours.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from core import errors
from core.methods._shared.frame.heeded import require_heeded
from core.methods._shared.frame.stages import staged
from core.methods._shared.values.stage import VALUES
from core.methods.base import (
    Accelerator,
    Claimed,
    GraphKinds,
    Method,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.methods.room import require_nodes
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from papers._shared.unprotected import unprotected_plan
from papers.thepuff import paper
from papers.thepuff.budget import make_plan, true_shares_of
from papers.thepuff.params import ThepuffParams, idle

if TYPE_CHECKING:
    from core.graphs.schema import GraphSchema
    from core.privacy.session.private_graph import PrivateGraph
    from papers.thepuff.model import ThepuffModel

USEFUL_NODES = 1_000
"""A GPU is useful from here on: 2,625 nodes (MovieLens-100k) took 88 CPU seconds. The networks' steps are
bounded, so that it is needed by no size."""


NAME = "thepuff"


def plan(params: ThepuffParams, public: PublicFacts) -> PrivacyPlan:
    """Divide epsilon by :mod:`papers.thepuff.budget`; variant paper is one unprotected access.

    A parameter that could change nothing beside the others is refused.
    """
    require_accepted(EDGES, public)
    require_heeded(params, idle(params))
    if params.variant == "paper":
        return unprotected_plan(NAME, public, paper.TRAINING_REASON)
    return make_plan(NAME, params, public)


def accelerator(params: ThepuffParams, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
    """Useful from 1,000 nodes on, all types together; never needed: the steps are bounded."""
    return Accelerator.USEFUL if sum(nodes.values()) >= USEFUL_NODES else Accelerator.NONE


def claim(params: ThepuffParams, public: PublicFacts) -> Claimed | None:
    """Return what the paper claims for its own form. None for ours, whose guarantee is computed."""
    return paper.claim_of(params.epsilon_minus) if params.variant == "paper" else None


def require_room(
    params: ThepuffParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> None:
    """Check the degrees that are read of every relation. See :class:`Method`."""
    if params.variant != "paper":
        for name in {each.edge_type for each in plan.allotments}:
            require_nodes(schema, name, nodes)


def true_shares(
    params: ThepuffParams, plan: PrivacyPlan, schema: GraphSchema, nodes: Mapping[str, int]
) -> Mapping[str, tuple[float, float]]:
    """Compute shares of true edges, for variant sound.

    They go from what is left to chance to what is perturbed.
    """
    return {} if params.variant == "paper" else true_shares_of(plan, schema, nodes)


def fit_graph(
    graph: PrivateGraph,
    plan: PrivacyPlan,
    params: ThepuffParams,
    progress: Progress,
    checkpoint: Path | None = None,
) -> ThepuffModel:
    """Train the model, at the plan's cost.

    With ``checkpoint``, an empty folder, :meth:`resume` can go on with a fit that was cut short.
    """
    from papers.thepuff.fit import fit_paper, fit_sound

    if checkpoint is not None and checkpoint.exists() and any(checkpoint.iterdir()):
        raise errors.InvalidInput("a checkpoint begins in an empty folder", field="checkpoint")
    if params.variant == "paper":
        return fit_paper(NAME, graph, params, progress, checkpoint)
    return fit_sound(NAME, graph, plan, params, progress, checkpoint)


def resume(checkpoint: Path, progress: Progress) -> ThepuffModel:
    """Resume a fit from the last state in ``checkpoint``.

    It takes no graph: all reads are over by the first state, and a transcript of them is the caller's.
    Raises InvalidInput where there is none yet. On a CPU the weights are those of a fit that was not cut
    short, bit for bit.
    """
    from papers.thepuff.fit import resumed

    return resumed(NAME, checkpoint, progress)


def load(folder: Path) -> ThepuffModel:
    """Read the model that its ``save`` wrote."""
    from papers.thepuff.model import load

    return load(folder, NAME)


EDGES = Method(
    module=__name__,
    name=NAME,
    title="THEPUFF",
    summary=(
        "Learns walks of a temporal heterogeneous graph adversarially, from a perturbed graph, and "
        "assembles a graph from generated ones. Pure epsilon; or as published, without a guarantee."
    ),
    needs=("torch",),
    assurance="experimental",
    Params=ThepuffParams,
    accepts=GraphKinds(static=True, temporal=True, heterogeneous=True, directed=True, bipartite=True),
    units=frozenset({Unit.EDGE, Unit.EVENT}),
    kinds=frozenset({GuaranteeKind.PURE, GuaranteeKind.APPROXIMATE, GuaranteeKind.NONE}),
    plan=plan,
    accelerator=accelerator,
    claim=claim,
    require_room=require_room,
    true_shares=true_shares,
    fit=fit_graph,
    resume=resume,
    load=load,
)
GENERATOR = staged(EDGES, VALUES)
