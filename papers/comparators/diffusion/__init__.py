"""Diffusion: a discrete diffusion model of the original graph, without any privacy: what a ceiling is.

Edges are removed at random until none is left; a denoiser learns to put them back. It reads the partial
graph by a graph network of two layers, and adds what the paths of two and three edges between two nodes say,
and whether both are of one community of the original (Louvain). A sample starts from the empty graph and adds
an equal part of the edges at each step: one end of each by how many edges nodes still lack, the other by the
denoiser. Degrees and communities are those of the original, node by node. It reads the raw graph, so its
guarantee is ``none``: for comparison with methods that carry one, on data that its policy allows this for.
The graphs of a collection share one denoiser; other relations have each its own. With ``node_attributes``
values of nodes are drawn first, by a second diffusion whose noise draws values anew from their frequencies,
given degrees and public attributes; edges are then drawn by them.

What it takes from which paper. EDGE (Chen, He, Han, Liu, "Efficient and degree-guided graph generation via
discrete diffusion modeling", ICML 2023): removal of edges until the graph is empty as the forward process,
the degrees of the original as guidance, and active nodes, one end of each new edge, drawn by their degrees'
closed law, so that no step looks at all pairs. GraphMaker (Li, Kreacic, Potluru, Li, 2024): values of nodes
denoised before structure (its asynchronous form), categorical noise towards the marginals, and batches of
edges in training. What these two and DISCO (Xu et al., "Discrete-state continuous-time diffusion for graph
generation", NeurIPS 2024) share: a discrete state, a graph network that predicts the clean graph, sampling
by parts. Not in: EDGE's second end, which it draws among active nodes alone (here all candidates compete, so
that degrees are met and neighbours of neighbours find one another), its learned law of degrees, DISCO's
continuous time, and GraphMaker's joint form. In no paper: paths and communities as what the denoiser sees.

What to expect: on Cora, in ten CPU seconds, degrees are exact, an eighth of the triangles is missing, two
nodes of one community are again of one (NMI .7), and a tenth of the released edges is true; without
``communities`` one in a hundred, and an NMI of .1. Of networks of some hundred nodes half of the released
edges are true. Time and memory are linear in edges times candidates: all nodes up to 4,096 of them, beyond as
many and those at a distance of two. A training that diverges is ended with its last finite weights, and the
report says so.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from core import errors
from core.graphs.schema.node_bins import synthesised_in
from core.methods.base import (
    Accelerator,
    GraphKinds,
    Method,
    Progress,
    PublicFacts,
    require_accepted,
)
from core.privacy.accounting.plan import GuaranteeKind, PrivacyPlan
from core.privacy.units import Unit
from papers._shared.unprotected import unprotected_plan
from papers.comparators.diffusion.params import REASON, DiffusionParams

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateGraph
    from papers.comparators.diffusion.model import DiffusionModel

USEFUL_NODES = 4_000


NAME = "diffusion"


def plan(params: DiffusionParams, public: PublicFacts) -> PrivacyPlan:
    """Plan one unprotected access to the whole graph. Asking for node attributes is refused where the
    schema declares none that may be synthesised."""
    require_accepted(GENERATOR, public)
    if params.node_attributes and not synthesised_in(public.schema, public.edge_types):
        raise errors.NotAccepted(
            "node_attributes has no effect: no node type at an end of the relations declares a protected "
            "attribute with categories or bounds; declare one, or leave it out",
            field="node_attributes",
        )
    return unprotected_plan(NAME, public, REASON)


def accelerator(params: DiffusionParams, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
    """Useful from 4,000 nodes on."""
    return Accelerator.USEFUL if sum(nodes.values()) >= USEFUL_NODES else Accelerator.NONE


def carries_nodes(params: DiffusionParams) -> bool:
    """Tell whether a release carries protected node attributes. They are those that the schema declares."""
    return params.node_attributes


def node_values_plan(plan: PrivacyPlan) -> PrivacyPlan:
    """Return the part of the plan for node attributes. It is all of it."""
    return plan


def fit_graph(
    graph: PrivateGraph, plan: PrivacyPlan, params: DiffusionParams, progress: Progress
) -> DiffusionModel:
    """Train the denoisers on the raw graph."""
    from papers.comparators.diffusion.fit import fit_diffusion

    return fit_diffusion(NAME, graph, params, progress)


def load(folder: Path) -> DiffusionModel:
    """Read the model that its ``save`` wrote."""
    from papers.comparators.diffusion.model import load

    return load(folder, NAME, DiffusionParams)


GENERATOR = Method(
    module=__name__,
    name=NAME,
    title="Diffusion",
    summary=(
        "A discrete diffusion model of the original graph and its node attributes: what is reached without "
        "privacy. Guarantee none."
    ),
    needs=("torch",),
    assurance="experimental",
    Params=DiffusionParams,
    accepts=GraphKinds(static=True, heterogeneous=True, attributed=True),
    units=frozenset({Unit.EDGE}),
    kinds=frozenset({GuaranteeKind.NONE}),
    plan=plan,
    accelerator=accelerator,
    carries_nodes=carries_nodes,
    node_values_plan=node_values_plan,
    fit=fit_graph,
    load=load,
)
