"""The parameters of ``ppgsl``. Public facts only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from core.errors import NotAccepted
from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.presets import PresetParameters
from core.methods.base import Parameters
from papers._shared.defences.visible import DefenceParams

MOST_STEPS = 10_000
FULL_NODES = 3_000
"""Most nodes of a graph of which every pair is a parameter."""


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": {
        "against": "surrogate",
        "change": "squared",
        "alpha": 0.01,
        "surrogate_steps": 500,
        "rounding": "bernoulli",
    },
}
"""What a preset sets apart from the parameters' own defaults. The paper states a range of alpha: its end."""


@dataclass(frozen=True)
class Way:
    """A preset's choices that nobody sets singly: none."""


def require_few(nodes: int) -> None:
    """Raise NotAccepted where ``full`` would make too many parameters."""
    if nodes > FULL_NODES:
        raise NotAccepted(f"full is for graphs of at most {FULL_NODES} nodes", field="full")


class Target(Parameters):
    """One of the two: what the trade-off is to reach."""

    attack_auc: float | None = Field(
        default=None,
        ge=0.5,
        lt=1,
        description="The least change at which the attack on the sensitive links has at most this AUC.",
    )
    link_auc: float | None = Field(
        default=None,
        gt=0.5,
        lt=1,
        description="The most protection at which links held out are predicted with at least this AUC.",
    )

    @model_validator(mode="after")
    def _one(self) -> Target:
        if (self.attack_auc is None) == (self.link_auc is None):
            raise ValueError("give either attack_auc or link_auc")
        return self


class PpgslParams(PresetParameters, DefenceParams):
    """What a caller may set. All of it is public and enters the report."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"rounds": 6, "learning_rate": 0.5}
    rounds: ClassVar[int] = RETIRED["rounds"]
    """With a target: how many values of alpha are tried."""
    learning_rate: ClassVar[float] = RETIRED["learning_rate"]
    """Of the graph learner."""
    PRESETS = PRESETS
    WAYS: ClassVar[Mapping[str, Way]] = dict.fromkeys(PRESETS, Way())

    preset: Literal["default", "paper"] = Field(
        default="default",
        description=(
            "Values for all that is not set: 'default' is what measures best, 'paper' what the paper states, "
            "with alpha at the end of its range, 0 to 0.01."
        ),
    )

    alpha: float = Field(
        default=0.25,
        ge=0,
        le=100,
        description=(
            "Weight of utility against privacy; not looked at where a target is given. Its scale is that of "
            "`change`."
        ),
    )
    change: Literal["relative", "squared"] = Field(
        default="relative",
        description=(
            "How utility is lost by the change of weights. relative: by its length over that of the visible "
            "graph, 0 unchanged, 1 emptied, so that alpha means the same in graphs of any size. squared: by "
            "the squared Frobenius norm, as the paper's Eq. 8 says."
        ),
    )
    against: Literal["surrogate", "informed"] = Field(
        default="informed",
        description=(
            "Whom the links are hidden from. surrogate: as published, attackers who rank pairs as the "
            "surrogate does: it is to take sensitive links for non-links. informed: those, too, who have run "
            "the defence on graphs of their own: in degrees and cosines sensitive links are to differ as "
            "little as can be from non-links that are as alike in public features."
        ),
    )
    target: Target | None = Field(
        default=None,
        description="What the trade-off is to reach; alpha is then found by bisection of its logarithm.",
    )
    additions: float = Field(
        default=1.0,
        ge=0,
        le=100,
        description="Pairs that may be added, drawn at random, as a multiple of the links (k).",
    )
    full: bool = Field(
        default=False,
        description=f"Every pair may be added. For graphs of at most {FULL_NODES} nodes.",
    )
    encoder: Literal["gcn", "sage"] = Field(
        default="gcn", description="The surrogate's encoder: graph convolutions, or GraphSAGE with means."
    )
    head: Literal["cosine", "inner", "mlp"] = Field(
        default="cosine",
        description="How the surrogate scores two nodes' vectors: by cosine, inner product, or a network.",
    )
    protocol: Literal["sitp", "alternating"] = Field(
        default="sitp",
        description=(
            "sitp: the surrogate is trained anew, from fresh weights, every interval. alternating: it is "
            "kept and trained on, for comparison."
        ),
    )
    steps: int = Field(default=500, ge=1, le=MOST_STEPS, description="Steps of the graph learner.")
    interval: int = Field(
        default=50, ge=1, le=MOST_STEPS, description="Steps of the learner between trainings (mu)."
    )
    surrogate_steps: int = Field(
        default=100, ge=1, le=MOST_STEPS, description="Steps of one training of the surrogate."
    )
    rounding: Literal["bernoulli", "threshold"] = Field(
        default="threshold",
        description=(
            "threshold: a pair is published from a weight of 1/2 on, the same in every sample. bernoulli, as "
            "in the paper: with its weight for probability, which several samples give away."
        ),
    )
    release: Literal["graph", "weighted"] = Field(
        default="graph",
        description=(
            "graph: pairs are published or not, as `rounding` says. weighted: every pair with a weight above "
            "0, and the weight beside it in the column `weight`; `rounding` is then not looked at."
        ),
    )


def idle(params: PpgslParams) -> Iterator[Idle]:
    """Name the parameters that the others leave without effect."""
    if params.target is None:
        if params.release == "weighted":
            yield Idle(("rounding",), "release=weighted publishes the weights; release=graph rounds them")
    else:
        yield Idle(("alpha",), "the target's search finds it; without a target it is taken as it stands")
    if params.full:
        yield Idle(("additions",), "full=true lets every pair be added; full=false draws some")
    if params.interval >= params.steps:
        why = "the surrogate is trained once; an interval below steps trains it again"
        yield Idle(("protocol",), why)
