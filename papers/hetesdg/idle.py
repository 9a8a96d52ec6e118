"""Parameters of ``hetesdg`` and ``hetedp`` that others make idle. Public facts only."""

from __future__ import annotations

from collections.abc import Iterator

from core.methods._shared.frame.heeded import Idle
from core.methods.base import PublicFacts
from papers.hetesdg.budget import follows_back, protected_types
from papers.hetesdg.params import HeteParams

OF_PAPER = ("claimed_epsilon", "noise")
"""What variant paper alone looks at."""
PUBLISHED = frozenset({"preset", "variant", "release", "steps", "debias", "meta_paths", "split", *OF_PAPER})
"""What variant paper looks at."""
TABLES = ("clusters", "split")


def idle(params: HeteParams, public: PublicFacts) -> Iterator[Idle]:
    """Name what could change nothing, and why."""
    if params.variant == "paper":
        names = tuple(name for name in type(params).model_fields if name not in PUBLISHED)
        yield Idle(names, "variant=paper goes by the published algorithm; variant=sound looks at it")
        if params.way.link_epochs is not None:
            yield Idle(("steps",), "preset=paper counts epochs; without it steps counts")
        return
    yield Idle(OF_PAPER, "it is of variant=paper; the request's epsilon counts here")
    if params.learn == "off":
        yield Idle(("steps",), "nothing is trained; learn=link-sgd trains a predictor")
    if params.mechanism == "gaussian-sums":
        yield Idle(TABLES, "gaussian-sums reads no histograms; mechanism=histogram does")
    if params.rows and "features" not in params.release and not protected_types(params, public):
        yield Idle(("rows",), "no node type of the job has protected numbers or vectors")
    yield from _idle_outputs(params, public)


def _idle_outputs(params: HeteParams, public: PublicFacts) -> Iterator[Idle]:
    if "embedding" not in params.release:
        why = "vectors alone follow meta-paths; embedding in release asks for them"
        yield Idle(("second_hop", "meta_paths", "debias"), why)
    elif not follows_back(params, public.nano_epsilon):
        why = "no meta-path is followed back here; second_hop=on follows them"
        yield Idle(("meta_paths",), why)
    if "graph" not in params.release:
        yield Idle(("attribute_share",), "no graph is released, whose edges could carry anything")
        if not follows_back(params, public.nano_epsilon):
            why = "a histogram is all that is read; a graph in release, or second_hop=on, reads more"
            yield Idle(("split",), why)
