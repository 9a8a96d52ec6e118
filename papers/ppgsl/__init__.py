"""PPGSL: a graph that is learned so that the links named sensitive are hard to infer from it.

A defence, not differential privacy: the guarantee is ``none``, and the evidence is what attackers reach on
the sensitive links, before and after. It reads the raw graph and the curator's list of sensitive links (or a
share of the links drawn at random, where there is no list). Those links are taken out first and never put
back. Of the other links each has a weight, and so have as many pairs drawn at random that are no links
(times ``additions``), or all of them (``full``). A surrogate attacker, a two-layer encoder with public node
features or one learned row a node, is trained to tell the weighted graph's links from random pairs; then the
weights move, by 50 steps of Adam, to where the sensitive links are hidden, held back by the length of the
change times ``alpha``; then a fresh surrogate is trained, ten times in all. A release takes the pairs of
weight 1/2 or more, or draws every pair with its weight for probability, as the paper does.

Hidden from whom, ``against`` says. The paper's form (``surrogate``) makes the surrogate take sensitive
links for non-links, which leaves traces: their ends lose links, their cosines fall below other pairs'.
``informed``, the default and no part of the paper, makes each sensitive link look like a *reference* pair,
one without a link and as alike in public features: the loss is the sliced Wasserstein distance between the
two sorts in degrees and in cosines of the surrogate's rows and of features spread along one and two links.
Pushing too far costs as much as not far enough, and what public features say by themselves, which no change
of links hides, is not paid for with links.

``preset="paper"`` has every number that the paper states, and its squared norm of the change (Eq. 8), with
which its range of alpha did nothing here. By default the norm is not squared and is divided by the length
of the visible graph, so that alpha means the same in graphs of any size. Read from the paper where it
leaves a choice: what is cut to [0, 1] passes its gradient on, else most weights freeze after the first
step; one weight a pair keeps the graph symmetric; weights start as the graph is. The surrogate's positives
are all links, counted by weight, which is what drawing them by weight estimates; its negatives are every
node with another by a fresh random order. A surrogate that is kept remembers links of the graph as it was,
so that none is: it starts from fresh weights every time (``protocol="sitp"``). ``alternating`` keeps it, to
compare. Only the graph's weights go on from one alpha to the next in a search.

A directed relation is learned as the pairs that it joins in either direction: kept pairs keep their
directions, added ones point either way by a coin, and a sensitive link hides both directions of its pair.

With a ``target`` alpha is searched for: ``{"attack_auc": 0.55}`` is the least change at which a fresh
surrogate tells the sensitive links from other pairs with at most that AUC, ``{"link_auc": 0.8}`` the most
protection at which it predicts a tenth of the links, held out of the search, with at least that AUC. The
training report has what was tried and what it gave. Progress has a fixed number of ticks.

What to expect, at alpha .25, AUC in percent, of links held out and of the best attacker: one who has
learned from four fifths of the sensitive links themselves and is asked about the rest. ``informed``:
PolBlogs 75 and 75, LastFM Asia 77 and 72, Cora 85 and 87, CiteSeer 83 and 91. ``surrogate``: 72 and 94, 72
and 82, 80 and 84, 86 and 92. Undefended: 92 and 96 to 98. By the surrogate's sort of attacker alone
``surrogate`` hides better: on Cora 54 against 75.

What to know of it: public features tell by themselves, without any release, 81 on Cora and 90 on CiteSeer,
and no change of links hides that; the links that are left teach which features go together besides. Where
features are not known ``informed`` leaves 58 and 52 there. Attackers were looked for, not all there are:
the loss reads what boosted trees on degrees, shared neighbours and cosines read. An AUC below one half is a
leak too, to whoever turns the scores round. The cosine is the head to take: against a network the published
form fools that network alone (Cora at alpha .25: .48, and .73 to .80 for attackers by cosine or inner
product), and inner products cost utility. The paper's lower bound for any attack rests on assumptions about
entropies and is no guarantee. Steps are fixed in number, memory is linear in links, one code path serves
CPU and CUDA.
Source: Wu, Yang, Han, Wang, Wu, "Learning-based privacy-preserving graph publishing against sensitive link
inference attacks", 2025, Algorithm 1, Eqs. 5 to 9.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from core import errors
from core.methods._shared.frame.heeded import require_heeded
from core.methods.base import Accelerator, Progress, checked
from papers._shared.defences.defence import defence
from papers._shared.defences.visible import Altered, Visible
from papers.ppgsl.params import PpgslParams, idle, require_few

if TYPE_CHECKING:
    from core.methods.base import PublicFacts
    from core.privacy.accounting.plan import PrivacyPlan
    from core.privacy.entropy import Generator as Rng

USEFUL_NODES, NEEDED_NODES, USUAL_STEPS = 10_000, 1_000_000, 500
"""A GPU is useful, or needed, from so many nodes on, at the usual number of steps: 10,000 nodes took 55 CPU
seconds, 500,000 two hours by an estimate, and twice as many would take five."""


def require_sensible(params: PpgslParams, public: PublicFacts, plan: PrivacyPlan) -> None:
    """Refuse what a defence takes and the learner does not.

    ``full`` is refused for node types that are declared larger than it is meant for; weights, for
    relations with declared facts: pairs with weights are more than the edges that those speak of. A
    parameter that could change nothing beside the others is refused.
    """
    require_heeded(params, idle(params))
    for name in public.edge_types if params.release == "weighted" else ():
        relation = public.schema.edge_type(name)
        if relation.functional or relation.edge_bound:
            raise errors.NotAccepted(
                f"pairs with weights cannot keep what {name!r} declares (functional, edge_bound); "
                "release=graph can",
                field="params.release",
            )
    if params.full:
        for name in public.edge_types:
            require_few(public.schema.node_type(public.schema.edge_type(name).source).count or 0)


def accelerator(params: PpgslParams, public: PublicFacts, nodes: Mapping[str, int]) -> Accelerator:
    """Useful from 10,000 nodes of the learned relations on, needed from 1,000,000; at 500 steps, fewer at
    more steps."""
    ends = [public.schema.edge_type(name).source for name in public.edge_types]
    rounds = 1 if params.target is None else params.rounds
    work = sum(nodes[each] for each in ends) * rounds * params.steps / USUAL_STEPS
    if work >= NEEDED_NODES:
        return Accelerator.NEEDED
    return Accelerator.USEFUL if work >= USEFUL_NODES else Accelerator.NONE


def altered(visible: Visible, params: PpgslParams, rng: Rng, progress: Progress) -> Altered:
    """Learn the weights of one relation. O(steps * (pairs + nodes))."""
    from papers.ppgsl.fit import learned_weights

    return learned_weights(visible, params, rng, progress)


DEFENCE = defence(
    module=__name__,
    name="ppgsl",
    title="PPGSL",
    summary=(
        "Learns which links to drop and which to add so that the links named sensitive are hard to infer, "
        "and changes as little else as it can. Guarantee none."
    ),
    needs=("torch",),
    Params=PpgslParams,
    accelerator=accelerator,
    altered=altered,
)
GENERATOR = replace(DEFENCE, plan=checked(DEFENCE.plan, require_sensible))
