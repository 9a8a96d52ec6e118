"""The parameters of ``thepuff``. Public facts only."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal

from pydantic import Field, model_validator

from core.methods._shared.frame.heeded import Idle
from core.methods._shared.values.share import ValueParameters
from papers.thepuff.paper import LARGEST_EPSILON_MINUS, PUBLISHED_EPSILON_MINUS


class ThepuffParams(ValueParameters):
    """What a caller may set. All of it is public and enters the report."""

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
    utility_epochs: int = Field(
        default=10,
        ge=1,
        le=1000,
        description="Epochs of the utility discriminator before that; variant paper, without DP-SGD.",
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

    @model_validator(mode="after")
    def _learns_from_something(self) -> ThepuffParams:
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
        yield Idle(("utility_epochs", "epsilon_minus"), why)
    if not params.trains_utility:
        why = "no utility discriminator is trained; utility=true trains one"
        yield Idle(("utility_steps", "utility_epochs"), why)
