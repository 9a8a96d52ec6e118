"""The parameters of ``hetesdg`` and ``hetedp``. Public facts only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import Field, model_validator

from core.graphs.schema.names import Name
from core.methods._shared.frame.presets import PresetParameters
from core.methods._shared.values.share import ValueParameters

MAX_PATHS, LONGEST_PATH = 32, 8
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": {"variant": "paper"},
}
OF_HETESDG: Mapping[str, Any] = {"split": "bilevel"}
"""What the preset ``paper`` sets of the parameters that ``hetedp`` has not."""

Output = Literal["graph", "features", "embedding"]


@dataclass(frozen=True)
class Way:
    """What a preset fixes, which nobody sets by itself.

    ``heads``: of the neighbour attention. The others are of variant paper. Of FeatADP: ``feature_epochs``,
    ``feature_width`` of its layer, its heads side by side, ``feature_rate`` of learning, ``dropout`` in
    training and ``weight_decay``. Of TopoGDP: ``link_epochs``, batches of all links of a relation, None: as
    ``steps``; ``topology_width`` of its layer, half for latents, ``topology_rate`` of learning,
    ``batch`` of links a step and ``negatives_per_link`` (k).
    """

    heads: int = 4
    feature_epochs: int = 60
    link_epochs: int | None = None
    feature_width: int = 32
    feature_rate: float = 0.01
    dropout: float = 0.0
    weight_decay: float = 0.0
    topology_width: int = 16
    topology_rate: float = 0.01
    batch: int = 256
    negatives_per_link: int = 2


PUBLISHED_WAY = Way(
    heads=8,
    feature_epochs=100,
    link_epochs=100,
    feature_width=64,
    feature_rate=0.005,
    dropout=0.8,
    weight_decay=0.001,
    topology_width=32,
    topology_rate=0.001,
    batch=2048,
    negatives_per_link=5,
)


class HeteParams(PresetParameters, ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        **PRESETS,
        "paper": {**PRESETS["paper"], **OF_HETESDG},
    }
    WAYS: ClassVar[Mapping[str, Way]] = {"default": Way(), "paper": PUBLISHED_WAY}
    RETIRED: ClassVar[Mapping[str, Any]] = {
        "count_share": 0.02,
        "sgd_share": 0.5,
        "rate": 0.05,
        "clip": 0.5,
        "negatives": 256,
        "divergence": 0.001,
        "semantic": 0.01,
        "row_width": 64,
    }
    count_share: ClassVar[float] = RETIRED["count_share"]
    """Share of epsilon for a relation's number of edges, which bounds its degrees and which bilevel
    divides by; of a graph or bilevel alone."""
    sgd_share: ClassVar[float] = RETIRED["sgd_share"]
    """Share of epsilon for link-sgd."""
    rate: ClassVar[float] = RETIRED["rate"]
    """The probability with which a step of link-sgd reads a link."""
    clip: ClassVar[float] = RETIRED["clip"]
    """Clipping norm of a link's gradient."""
    negatives: ClassVar[int] = RETIRED["negatives"]
    """Uniform pairs that a step of link-sgd takes as absent."""
    divergence: ClassVar[float] = RETIRED["divergence"]
    """Weight of the KL term of link-sgd (gamma)."""
    semantic: ClassVar[float] = RETIRED["semantic"]
    """Weight of the semantic regulariser of link-sgd (eta)."""
    row_width: ClassVar[int] = RETIRED["row_width"]
    """Numbers that a protected row is projected to."""

    preset: Literal["default", "paper"] = Field(
        default="default",
        description=(
            "Values for all that is not set: 'default' is ours, 'paper' is variant=paper with every number "
            "that the paper states, as its page lists them."
        ),
    )
    variant: Literal["sound", "paper"] = Field(
        default="sound",
        description=(
            "sound: noisy tables, within epsilon. paper: the published algorithm, whose attention and noise "
            "follow the raw graph; guarantee none. Of the parameters of sound it looks at release, steps, "
            "debias, meta_paths and split."
        ),
    )
    claimed_epsilon: float = Field(
        default=1.0, gt=0, le=100, description="Variant paper: the epsilon that its noise is sized by."
    )
    release: Annotated[tuple[Output, ...], Field(min_length=1, max_length=3)] = Field(
        default=("graph",),
        description=(
            "What is published: a synthetic graph, noisy rows of protected attributes, vectors of nodes; any "
            "of them. Epsilon goes to what is asked for: without graph all relations come out empty."
        ),
    )
    mechanism: Literal["histogram", "gaussian-sums"] = Field(
        default="histogram",
        description=(
            "How neighbours' features are read. histogram: neighbours by cluster under discrete Laplace "
            "noise, pure epsilon. gaussian-sums: sums of their rows under Gaussian noise; needs a delta, "
            "gives scores and vectors and no graph; clusters and split are not for it. "
            "It was behind on every public graph; over seven meta-paths and more its noise is the smaller."
        ),
    )
    clusters: int = Field(
        default=4,
        ge=1,
        le=64,
        description="Clusters of nodes with features, by which neighbours are counted; k-means.",
    )
    split: Literal["measured", "equal", "bilevel"] = Field(
        default="measured",
        description=(
            "How a relation divides epsilon between its histogram and the rest. measured: what was closest "
            "on public graphs; equal: halves; bilevel: optimised in turn for both on a noisy number of "
            "edges. Variant paper: between its two stages, bilevel by Eq. 24 and 25 on the data, else halves."
        ),
    )
    second_hop: Literal["auto", "on", "off"] = Field(
        default="auto",
        description=(
            "With embedding: whether meta-paths are followed back to the type they start from, which costs a "
            "share of epsilon. auto: from epsilon 2 on; below, all of it is noise."
        ),
    )
    meta_paths: Annotated[
        tuple[Annotated[tuple[Name, ...], Field(min_length=2, max_length=LONGEST_PATH)], ...],
        Field(max_length=MAX_PATHS),
    ] = Field(
        default=(),
        description=(
            "Meta-paths, each as two relations that meet in the type whose neighbours the first one counts; "
            "without any, there and back over every relation of the job. Variant paper: relations one after "
            "the other, for each node type that they lead back to."
        ),
    )
    debias: bool = Field(
        default=True,
        description="Whether semantic attention is corrected by how many neighbours a meta-path reaches (C).",
    )
    learn: Literal["off", "link-sgd"] = Field(
        default="off",
        description=(
            "link-sgd: besides, a variational encoder and a link predictor, trained on the original's links "
            "by DP-SGD; needs a delta and a share of epsilon. It scores pairs and adds to the embedding; off "
            "was closer on every public graph up to epsilon 4."
        ),
    )
    links: Literal["tables", "predictor"] = Field(
        default="tables",
        description=(
            "Who is linked in a graph, at degrees that are paid for. tables: ends meet within clusters. "
            "predictor: they change partners until its odds hold; needs learn=link-sgd. At epsilon 1 tables "
            "were closer."
        ),
    )
    steps: int = Field(default=200, ge=1, le=100_000, description="Steps of link-sgd.")
    noise: Literal["both", "features", "topology", "none"] = Field(
        default="both",
        description=(
            "Variant paper, its ablations: features is without TopoGDP's noise, topology without FeatADP's, "
            "none has neither."
        ),
    )
    rows: bool = Field(
        default=False,
        description=(
            "Whether protected numbers and vectors of nodes are read where there are any, each node's row "
            "under Gaussian noise at all of epsilon and delta (unit: one node's row); needs a delta."
        ),
    )

    @property
    def way(self) -> Way:
        """What the preset fixes."""
        return self.WAYS[self.preset]

    @model_validator(mode="after")
    def _fits(self) -> Self:
        if self.preset == "paper" and self.variant != "paper":
            raise ValueError("preset=paper is a form of variant=paper; leave one of them out")
        if len(set(self.release)) != len(self.release):
            raise ValueError("release names one thing twice")
        if "features" in self.release and (self.variant == "paper" or not self.rows):
            raise ValueError("noisy features are those of protected rows: rows must be true")
        if self.links == "predictor" and (self.learn == "off" or "graph" not in self.release):
            raise ValueError("links from the predictor need learn=link-sgd and a graph in release")
        if self.variant == "sound" and any(len(path) != 2 for path in self.meta_paths):
            raise ValueError(
                "meta-paths of variant sound have two relations; variant=paper walks longer ones"
            )
        if self.mechanism == "gaussian-sums" and ("graph" in self.release or self.learn != "off"):
            raise ValueError("graphs and link predictors are made from histograms, not from gaussian-sums")
        return self


class PlainParams(HeteParams):
    """As :class:`HeteParams`, without the semantic parts: who wants those takes ``hetesdg``."""

    PRESETS: ClassVar[Mapping[str, Mapping[str, Any]]] = PRESETS
    RETIRED: ClassVar[Mapping[str, Any]] = {
        **HeteParams.RETIRED,
        "split": "equal",
        "debias": False,
        "semantic": 0.0,
    }
    split: ClassVar[Literal["equal"]] = RETIRED["split"]  # type: ignore[misc]
    debias: ClassVar[bool] = RETIRED["debias"]  # type: ignore[misc]
    semantic: ClassVar[float] = RETIRED["semantic"]
