"""The parameters of ``dpggan`` and its relatives. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from core.methods._shared.frame.presets import PresetParameters
from core.methods._shared.values.share import ValueParameters
from core.methods.base import Parameters
from papers.dpggan import paper

LATEST_STEPS = 100_000
WHOLE = 1_000_000
"""As many steps as the calibration gives."""
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": {"variant": "paper", "most_steps": WHOLE},
    "decoder": {"variant": "paper", "most_steps": 200, "latent": "encoder"},
}


@dataclass(frozen=True)
class Way:
    """What a preset fixes of variant paper, which nobody sets by itself.

    ``calibrated``: whether its calibration gives the number of steps; else ``most_steps`` are made, and no
    epsilon is claimed.
    ``node_rate``: share of the nodes in a step (q). ``noise_scale``: noise over the clipping norm (sigma).
    ``node_clip``: norm that gradients are cut to (C), ``node_clip_decay`` times that after each step (gamma).
    ``learning_rate``: of all networks (eta). ``prior_weight``: of the divergence (lambda_1). ``updates``
    plain: gradients times eta, as in Algorithm 1. ``equations`` paper: Eq. 2 to 4 as printed; ours:
    self-loops in the smoothing, small deviations to begin with, scaled products, and losses over pairs once
    and nodes' mean. ``offset``: one offset for all pairs, learned from the log odds on; Eq. 3 has none.
    """

    calibrated: bool = True
    node_rate: float = paper.RATE
    noise_scale: float = paper.NOISE
    node_clip: float = paper.CLIP
    node_clip_decay: float = paper.DECAY
    learning_rate: float = paper.LEARNING_RATE
    prior_weight: float = paper.PRIOR_WEIGHT
    updates: Literal["adam", "plain"] = "adam"
    equations: Literal["ours", "paper"] = "ours"
    offset: bool = False


@dataclass(frozen=True)
class GanWay(Way):
    """As :class:`Way`, with a discriminator, of both variants.

    ``structure``: weight of the distance between its views of two graphs; variant sound. ``adversarial``:
    weight of the generator's adversarial loss (lambda_2).
    ``graph_vector``: what it makes of its nodes' rows; the sum by Eq. 6. ``reconstruction`` views: the
    distance between the discriminator's views; both: the cross entropy of pairs besides.
    """

    structure: float = 0.1
    adversarial: float = 0.1
    graph_vector: Literal["mean", "sum"] = "mean"
    reconstruction: Literal["views", "both"] = "views"


PRINTED: Mapping[str, Any] = {"updates": "plain", "equations": "paper"}
OF_DECODER: Mapping[str, Any] = {
    "calibrated": False,
    "node_rate": 1.0,
    "learning_rate": 0.02,
    "prior_weight": 0.001,
    "offset": True,
}


class PaperParams(Parameters):
    """What variant paper goes by; the sound variant does not look at it."""

    claimed_epsilon: float = Field(
        default=1.0,
        gt=0,
        le=100,
        description="Variant paper: the epsilon of its calibration, which gives the number of steps.",
    )
    most_steps: int = Field(
        default=1000,
        ge=1,
        le=WHOLE,
        description=(
            "Most steps of variant paper. Its calibration gives 5 429 at epsilon 1 and a hundred times as "
            "many at epsilon 10; the notes say how many were made."
        ),
    )
    latent: Literal["prior", "encoder"] = Field(
        default="prior",
        description=(
            "Variant paper: what a graph is generated from. prior: normal noise, as the paper says; encoder: "
            "what its encoder makes of the original, as its program does, which repeats most true edges."
        ),
    )


class LinkParams(PaperParams, PresetParameters, ValueParameters):
    """What a caller may set. All of it is public and enters the report.

    The shares and settings of ``degree_triangle`` are those of the frame, of whatever epsilon it gets; they
    suit many small graphs, whose laws of degrees learn from one another instead of from tail counts.
    """

    PRESETS = PRESETS
    WAYS: ClassVar[Mapping[str, Way]] = {
        "default": Way(),
        "paper": Way(**PRINTED),
        "decoder": Way(**OF_DECODER),
    }
    RETIRED: ClassVar[Mapping[str, Any]] = {
        "count_share": 0.2,
        "tail_share": 0.0,
        "triangle_share": 0.3,
        "product_share": 0.05,
        "transitivity": 0.1,
        "band": 0.02,
        "proposals": 150.0,
        "pooled": True,
        "product_nodes": 1000,
        "fit_steps": 200,
        "clip": 1.0,
        "clip_decay": 1.0,
        "exchanges": 100.0,
    }
    count_share: ClassVar[float] = RETIRED["count_share"]
    tail_share: ClassVar[float] = RETIRED["tail_share"]
    triangle_share: ClassVar[float] = RETIRED["triangle_share"]
    product_share: ClassVar[float] = RETIRED["product_share"]
    transitivity: ClassVar[float] = RETIRED["transitivity"]
    band: ClassVar[float] = RETIRED["band"]
    proposals: ClassVar[float] = RETIRED["proposals"]
    pooled: ClassVar[bool] = RETIRED["pooled"]
    """In a collection, graphs learn from one another how many edges a node has and how degrees spread: from
    noisy values that are paid for, at no cost."""
    product_nodes: ClassVar[int] = RETIRED["product_nodes"]
    """Universes of fewer nodes do not pay for degree products: there it left more for the rest."""
    fit_steps: ClassVar[int] = RETIRED["fit_steps"]
    """Free steps that fit the bilinear decoder."""
    clip: ClassVar[float] = RETIRED["clip"]
    """Clipping norm of the mlp decoder's gradients."""
    clip_decay: ClassVar[float] = RETIRED["clip_decay"]
    """The clipping norm is multiplied by this at every step."""
    exchanges: ClassVar[float] = RETIRED["exchanges"]
    """Exchanges of ends tried for each edge, in which learned scores meet the degrees."""

    preset: Literal["default", "paper", "decoder"] = Field(
        default="default",
        description=(
            "Values for all that is not set: 'default' is ours, 'paper' is variant=paper with every number "
            "and form that the paper states, as its page lists them; 'decoder' is variant=paper as it comes "
            "near the paper's table: noise on the decoder alone, by the whole graph at every step, and the "
            "largest scores of the encoder's output, which repeats most true edges. No epsilon is claimed."
        ),
    )
    variant: Literal["sound", "paper"] = Field(
        default="sound",
        description=(
            "sound: networks see a noisy graph, and the original through DP-SGD over edges alone. paper: the "
            "published algorithm, which clips by node and reads the original; guarantee none."
        ),
    )
    learn: Literal["auto", "off", "evidence", "link-sgd"] = Field(
        default="auto",
        description=(
            "off: degrees and triangles alone. evidence: a noisy graph besides. link-sgd: networks on that "
            "graph, and a decoder trained on the original's edges by DP-SGD; needs a delta. auto: what was "
            "closest on public graphs at this epsilon, number of nodes and declared bound on edges; off "
            "without a delta."
        ),
    )
    frame: bool = Field(
        default=True,
        description=(
            "Pay for degrees and triangles, and draw a graph that has them. Without them, the number of "
            "edges is all that the learned scores are joined with."
        ),
    )
    inputs: Literal["spectral", "networks", "random"] = Field(
        default="spectral",
        description=(
            "With link-sgd, where latent vectors come from: the leading eigenvectors of the noisy graph; an "
            "encoder that is trained on it and starts from them; or chance, which leaves the noisy graph's "
            "share to the decoder."
        ),
    )
    decoder: Literal["bilinear", "mlp"] = Field(
        default="bilinear",
        description=(
            "With link-sgd: one paid gradient of a bilinear form, fitted afterwards; or the paper's "
            "two-layer decoder by many paid steps, which costs more noise and time."
        ),
    )
    joint: bool = Field(
        default=False,
        description=(
            "Several relations share one decoder, trained on the edges of all; else each has its own. Either "
            "way an edge lies in one relation, so each may spend all of epsilon."
        ),
    )
    frame_share: float = Field(
        default=0.15,
        gt=0,
        lt=1,
        description="Share of epsilon for the frame, or for the number of edges, where anything is learned.",
    )
    hat_share: float = Field(
        default=0.8,
        gt=0,
        lt=1,
        description="Share of epsilon for the noisy graph under link-sgd; the decoder gets what is left.",
    )
    epochs: int = Field(
        default=100, ge=1, le=LATEST_STEPS, description="Steps of the encoder on the noisy graph; free."
    )
    steps: int = Field(
        default=60,
        ge=1,
        le=LATEST_STEPS,
        description="Paid steps of the mlp decoder; more of them need more noise in each.",
    )

    @property
    def way(self) -> Way:
        """What the preset fixes."""
        return self.WAYS[self.preset]

    @model_validator(mode="after")
    def _leaves_the_decoder_a_share(self) -> LinkParams:
        if self.preset != "default" and self.variant != "paper":
            raise ValueError(f"preset={self.preset} is a form of variant=paper; leave one of them out")
        divided = self.variant == "sound" and self.learn in ("auto", "link-sgd") and self.inputs != "random"
        if divided and self.frame_share + self.hat_share > 0.999:
            raise ValueError("the shares must leave at least 0.001 for the decoder")
        return self


class GanParams(LinkParams):
    """As :class:`LinkParams`, with a discriminator."""

    WAYS: ClassVar[Mapping[str, Way]] = {
        "default": GanWay(),
        "paper": GanWay(**PRINTED, graph_vector="sum"),
        "decoder": GanWay(**OF_DECODER, reconstruction="both"),
    }


class BackboneParams(Parameters):
    """What a caller may set of a backbone without privacy."""

    epochs: int = Field(default=200, ge=1, le=LATEST_STEPS, description="Steps of the networks.")
    draw: Literal["sampled", "largest"] = Field(
        default="sampled",
        description=(
            "Which pairs become edges, to the true number. sampled: by their scores. largest: those of the "
            "largest scores, as in variant paper; they clump after 200 steps, and copy after 800."
        ),
    )


class GanBackboneParams(BackboneParams):
    """As :class:`BackboneParams`, with a discriminator."""

    RETIRED: ClassVar[Mapping[str, Any]] = {"structure": 0.1, "adversarial": 0.1}
    structure: ClassVar[float] = RETIRED["structure"]
    adversarial: ClassVar[float] = RETIRED["adversarial"]
    """As in :class:`GanWay`."""
