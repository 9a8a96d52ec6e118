"""GraphRNN: a recurrent network that writes a graph node by node, without any privacy.

Nodes stand in the order of a breadth-first search from a random one. A recurrent network reads which earlier
nodes each was joined to, and a second one, begun from its state, says edge by edge which the next one is. A
sample writes as many nodes as the universe has, in random places of it: nodes are new ones, and which edges
are true is chance. It reads the raw graph, so its guarantee is ``none``: for comparison with ``dpggan``, on
data that its policy allows this for. The graphs of a collection share one network; other relations have each
its own.

As the paper has it: four layers of 128 and of 16, Adam, how far back a node looks as measured on orders of
the data. Otherwise here: the number of nodes is given and no end of a sequence is learned; a rate of .003
throughout (its program's first); the last layer begins at the share of edges; 300 steps of 4 orders, where
the program makes 96,000 of 32. Nobody looks back further than 256 places, and edges between nodes further
apart are not learned. Cost is linear in nodes times that reach, and a sample asks for each such pair by
itself: for graphs of some hundred nodes.

What to expect: of co-author networks of some hundred nodes, degrees of nearly the same law and components of
nearly the same size; one released edge in forty is true, by chance.
Source: You, Ying, Ren, Hamilton, Leskovec, "GraphRNN: generating realistic graphs with deep auto-regressive
models", ICML 2018.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

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
from papers.comparators.graphrnn.params import REASON, GraphRnnParams

if TYPE_CHECKING:
    from core.privacy.session.private_graph import PrivateGraph
    from papers.comparators.graphrnn.model import RowsModel

NAME = "graphrnn"


def plan(params: GraphRnnParams, public: PublicFacts) -> PrivacyPlan:
    """Plan one unprotected access to the whole graph."""
    require_accepted(GENERATOR, public)
    return unprotected_plan(NAME, public, REASON)


def accelerator(params: GraphRnnParams, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
    """Never useful: a sample is one small step after another."""
    return Accelerator.NONE


def fit_graph(
    graph: PrivateGraph, plan: PrivacyPlan, params: GraphRnnParams, progress: Progress
) -> RowsModel:
    """Train the networks on the raw graph."""
    from papers.comparators.graphrnn.model import fit_rows

    return fit_rows(NAME, graph, params, progress, REASON)


def load(folder: Path) -> RowsModel:
    """Read the model that its ``save`` wrote."""
    from papers.comparators.graphrnn.model import load

    return load(folder, NAME, GraphRnnParams)


GENERATOR = Method(
    module=__name__,
    name=NAME,
    title="GraphRNN",
    summary=(
        "A recurrent network that writes a graph like the original node by node, to compare dpggan with. "
        "Guarantee none."
    ),
    needs=("torch",),
    assurance="experimental",
    Params=GraphRnnParams,
    accepts=GraphKinds(static=True, heterogeneous=True),
    units=frozenset({Unit.EDGE}),
    kinds=frozenset({GuaranteeKind.NONE}),
    plan=plan,
    accelerator=accelerator,
    fit=fit_graph,
    load=load,
)
