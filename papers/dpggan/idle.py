"""Parameters of ``dpggan`` and ``dpgvae`` that others make idle. Public facts only."""

from __future__ import annotations

from collections.abc import Iterator

from core.methods._shared.frame.heeded import Idle
from core.methods._shared.triangles.params import NO_PRODUCTS, TriangleParameters
from core.methods.base import PublicFacts
from papers.dpggan.budget import composition, source_nodes
from papers.dpggan.params import LinkParams, PaperParams

NETWORKS = ("epochs", "structure", "adversarial")
MLP = ("steps", "clip", "clip_decay")
TRAINING = ("inputs", "decoder", "joint", "hat_share", "fit_steps", *MLP, *NETWORKS)
FRAME = (*TriangleParameters.model_fields, "product_nodes", "pooled")


def idle(params: LinkParams, public: PublicFacts) -> Iterator[Idle]:
    """Name what could change nothing, and why."""
    published = tuple(PaperParams.model_fields)
    if params.variant == "paper":
        names = tuple(name for name in type(params).model_fields if name not in (*published, "variant"))
        yield Idle(names, "variant=paper goes by the published algorithm; variant=sound looks at it")
        return
    why = "it is of variant=paper; variant=sound goes by the request's epsilon"
    yield Idle(published, why)
    yield from _idle_learning(params, public)
    yield from _idle_frame(params, public)


def _idle_learning(params: LinkParams, public: PublicFacts) -> Iterator[Idle]:
    shares = composition(params, public)
    if not shares.links:
        told = f"learn={params.learn}" + (" at this size and epsilon" if params.learn == "auto" else "")
        yield Idle(TRAINING, f"{told} trains nothing; learn=link-sgd does")
        if not shares.hat:
            yield Idle(("frame_share", "exchanges"), f"{told} has the frame alone; learn=evidence has more")
        return
    if params.decoder == "bilinear":
        yield Idle(MLP, "decoder=bilinear takes one paid step, and clips nothing; decoder=mlp looks at it")
    else:
        yield Idle(("fit_steps",), "decoder=mlp learns by its paid steps; decoder=bilinear is fitted")
    if params.inputs != "networks":
        yield Idle(NETWORKS, f"inputs={params.inputs} trains no networks; inputs=networks does")
    if params.inputs == "random":
        yield Idle(("hat_share",), "inputs=random pays for no noisy graph; the other inputs do")
    if len(public.edge_types) < 2:
        yield Idle(("joint",), "there is one relation; several can share a decoder")


def _idle_frame(params: LinkParams, public: PublicFacts) -> Iterator[Idle]:
    if not params.frame:
        yield Idle(FRAME, "frame=false pays for no degrees and triangles; frame=true does")
        yield Idle(("exchanges",), "frame=false has no degrees to keep; frame=true exchanges ends")
        return
    if not params.product_share:
        yield Idle(("band", "product_nodes"), NO_PRODUCTS)
    sizes = [source_nodes(public, public.schema.edge_type(name)) for name in public.edge_types]
    if params.product_share and all(size is not None and size < params.product_nodes for size in sizes):
        why = "no universe has product_nodes nodes, from which on products are paid for; lower product_nodes"
        yield Idle(("product_share", "band"), why)
    if public.schema.collection is None:
        yield Idle(("pooled",), "no collection is declared, whose graphs could learn from one another")
