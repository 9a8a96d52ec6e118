"""Parameters of ``dpggan`` and ``dpgvae`` that others make idle. Public facts only."""

from __future__ import annotations

from collections.abc import Iterator

from core.methods._shared.frame.heeded import Idle
from core.methods.base import PublicFacts
from papers.dpggan.budget import composition
from papers.dpggan.params import LinkParams, PaperParams

PUBLISHED = tuple(PaperParams.model_fields)
"""What variant paper alone looks at."""
TRAINING = ("inputs", "decoder", "joint", "hat_share", "steps", "epochs")


def idle(params: LinkParams, public: PublicFacts) -> Iterator[Idle]:
    """Name what could change nothing, and why."""
    if params.variant == "paper":
        heeded = (*PUBLISHED, "variant", "preset")
        names = tuple(name for name in type(params).model_fields if name not in heeded)
        yield Idle(names, "variant=paper goes by the published algorithm; variant=sound looks at it")
        if not params.way.calibrated:
            yield Idle(("claimed_epsilon",), "preset=decoder makes most_steps; preset=paper goes by it")
        return
    yield Idle(PUBLISHED, "it is of variant=paper; variant=sound goes by the request's epsilon")
    yield from _idle_learning(params, public)


def _idle_learning(params: LinkParams, public: PublicFacts) -> Iterator[Idle]:
    shares = composition(params, public)
    if not shares.links:
        told = f"learn={params.learn}" + (" at this size and epsilon" if params.learn == "auto" else "")
        yield Idle(TRAINING, f"{told} trains nothing; learn=link-sgd does")
        if not shares.hat:
            yield Idle(("frame_share",), f"{told} has the frame alone; learn=evidence has more")
        return
    if params.decoder == "bilinear":
        yield Idle(("steps",), "decoder=bilinear takes one paid step; decoder=mlp looks at it")
    if params.inputs != "networks":
        yield Idle(("epochs",), f"inputs={params.inputs} trains no networks; inputs=networks does")
    if params.inputs == "random":
        yield Idle(("hat_share",), "inputs=random pays for no noisy graph; the other inputs do")
    if len(public.edge_types) < 2:
        yield Idle(("joint",), "there is one relation; several can share a decoder")
