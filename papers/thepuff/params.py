"""The parameters of ``thepuff``. Public facts only."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from pydantic import Field, model_validator

from core.methods._shared.frame.heeded import Idle
from core.methods._shared.frame.presets import PresetParameters
from core.methods._shared.values.share import ValueParameters
from papers.thepuff.paper import LARGEST_EPSILON_MINUS, PUBLISHED_EPSILON_MINUS

WHOLE = 1_000_000
"""Batches, or candidates of a type, that are as many as there are."""
PRESETS: Mapping[str, Mapping[str, Any]] = {
    "default": {},
    "paper": {
        "variant": "paper",
        "across_steps": True,
        "most_batches": WHOLE,
    },
}
PUBLISHED = ("epsilon_minus", "across_steps")
"""What variant paper alone looks at."""


@dataclass(frozen=True)
class Way:
    """What a preset fixes of variant paper, which nobody sets by itself.

    ``batch``: walks a batch. ``dimensions``: width of node vectors; ``hidden``: of the generator; ``width``:
    of the discriminators, with ``attention`` ours half of it for that of utility. ``dropout``: of the paper's
    attention, in training. ``optimisers`` paper: SGD for discriminators, RMSprop for the generator.
    ``losses`` logistic: with a gradient penalty; linear: sums of probabilities, Eq. 10, 12 and 15.
    ``attention`` ours: values of its own a level, a residual, a term for neighbours; paper: Eq. 6 to 9 and
    Algorithm 3. ``utility_weight``: of the utility discriminator in the generator's loss.
    ``generator_every``: batches of the privacy discriminator for one step of the generator. ``node_choice``
    degrees: by distance and a learned weight that begins at the log degree; distance: by it alone, Eq. 14.
    ``offered``: above so many candidates of a type a choice is among 1024 drawn ones. ``just_walks``:
    jump-or-stay walks from each node and step, for node vectors; None: 3, more in small graphs, 200000 in
    all at most. ``just_length``: length of these walks.
    """

    batch: int = 64
    dimensions: int = 64
    hidden: int = 64
    width: int = 32
    dropout: float = 0.0
    generator_rate: float = 1e-3
    discriminator_rate: float = 1e-3
    optimisers: Literal["adam", "paper"] = "adam"
    losses: Literal["logistic", "linear"] = "logistic"
    attention: Literal["ours", "paper"] = "ours"
    utility_weight: float = 0.5
    generator_every: int = 1
    node_choice: Literal["degrees", "distance"] = "degrees"
    offered: int = 4096
    just_walks: int | None = None
    just_length: int = 20


PUBLISHED_WAY = Way(
    batch=32,
    dimensions=128,
    hidden=128,
    width=128,
    dropout=0.2,
    generator_rate=1e-4,
    optimisers="paper",
    losses="linear",
    attention="paper",
    utility_weight=1.0,
    generator_every=2,
    node_choice="distance",
    offered=WHOLE,
    just_walks=10,
    just_length=100,
)


class ThepuffParams(PresetParameters, ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

    PRESETS = PRESETS
    WAYS: ClassVar[Mapping[str, Way]] = {"default": Way(), "paper": PUBLISHED_WAY}
    RETIRED: ClassVar[Mapping[str, Any]] = {"utility_epochs": 10}
    utility_epochs: ClassVar[int] = RETIRED["utility_epochs"]
    """Epochs of the utility discriminator before the adversarial ones. Variant paper, without DP-SGD."""

    preset: Literal["default", "paper"] = Field(
        default="default",
        description=(
            "Values for all that is not set: 'default' is ours, 'paper' is variant=paper with every number "
            "and form that the paper states, as its page lists them."
        ),
    )
    variant: Literal["sound", "paper"] = Field(
        default="sound",
        description=(
            "sound: the networks see a perturbed graph and paid-for numbers, and the original through DP-SGD "
            "alone. paper: the published algorithms, which read the original; guarantee none."
        ),
    )
    bias: Literal["paid", "hat"] = Field(
        default="paid",
        description=(
            "Where node degrees come from, for the generator and for cells that it leaves short: paid for, "
            "or counted in the perturbed graph, which then gets their share of epsilon. Variant sound. On "
            "MovieLens-100k paid degrees are far closer (Degree MMD .001 against .13 at epsilon 8)."
        ),
    )
    utility: bool | None = Field(
        default=None,
        description=(
            "Train the discriminator that sees the original graph. By default variant paper does and variant "
            "sound does not: there it is paid for by DP-SGD, and without it the guarantee is pure. It paid "
            "on no graph that was measured: on MovieLens-100k at epsilon 8 the 4-cycles are .88 of the "
            "original's with it and .92 without, and even for nothing, reading the original, it would buy "
            "an AUC of .59 for .56. With privacy=false it is the one discriminator, and trained."
        ),
    )
    keep_degrees: bool = Field(
        default=True,
        description=(
            "Draw pairs so that nodes get the degrees that were paid for; else by how often pairs were "
            "generated alone, as the paper does. Variant sound."
        ),
    )
    privacy: bool = Field(default=True, description="Train the discriminator that sees the perturbed graph.")
    epochs: int = Field(
        default=5, ge=1, le=1000, description="Adversarial epochs: passes over as many walks as edges."
    )
    most_batches: int = Field(
        default=500,
        ge=1,
        le=1_000_000,
        description=(
            "Most adversarial batches in all, whatever the number of epochs; and of the utility "
            "discriminator's before them in variant paper."
        ),
    )
    utility_steps: int = Field(
        default=80,
        ge=1,
        le=100_000,
        description=(
            "Most DP-SGD steps of the utility discriminator, one for each 16 nodes of the universe; more of "
            "them need more noise in each."
        ),
    )
    walks_per_edge: float = Field(
        default=3.0,
        gt=0,
        le=100,
        description="Walks that are generated for each edge of the synthetic graph.",
    )
    epsilon_minus: float = Field(
        default=PUBLISHED_EPSILON_MINUS,
        gt=0,
        le=LARGEST_EPSILON_MINUS,
        description="The paper's eps_minus: an edge vanishes with probability exp(-eps_minus). Paper only.",
    )
    across_steps: bool = Field(
        default=False,
        description=(
            "Whether each node of a walk chooses its own step, and an edge between two is added at both "
            "(Algorithm 4, lines 6 and 7); else a walk has one step. Variant paper."
        ),
    )

    @property
    def way(self) -> Way:
        """What the preset fixes."""
        return self.WAYS[self.preset]

    @model_validator(mode="after")
    def _learns_from_something(self) -> ThepuffParams:
        if self.preset == "paper" and self.variant != "paper":
            raise ValueError("preset=paper is a form of variant=paper; leave one of them out")
        if not (self.trains_utility or self.privacy):
            raise ValueError("a generator needs a discriminator: utility, privacy or both")
        return self

    @property
    def trains_utility(self) -> bool:
        """Tell whether the utility discriminator is trained. It sees the original graph; a public rule."""
        return self.variant == "paper" or not self.privacy if self.utility is None else self.utility


def idle(params: ThepuffParams) -> Iterator[Idle]:
    """Name the parameters that the others leave without effect."""
    if params.variant == "paper":
        why = "variant=paper goes by the published algorithms; variant=sound looks at it"
        yield Idle(("bias", "keep_degrees", "utility_steps"), why)
    else:
        why = "it is of variant=paper; variant=sound goes by the request's epsilon and by utility_steps"
        yield Idle(PUBLISHED, why)
    if not params.trains_utility:
        why = "no utility discriminator is trained; utility=true trains one"
        yield Idle(("utility_steps",), why)
