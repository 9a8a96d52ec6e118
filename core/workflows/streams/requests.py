"""What a caller asks for when a stream is to be opened."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from core.evaluation.metric import Suite
from core.streams.models import MissingSteps
from core.workflows.common.policies import Slug
from core.workflows.jobs.questions import Assume
from core.workflows.jobs.request import Amount, AskedMethod, plain


class StreamRequest(BaseModel):
    """What a caller asks for. ``epsilon`` is that of every window of steps; exact as a decimal string."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset_id: Annotated[str, Field(min_length=1, max_length=64)]
    method: AskedMethod = Field(
        default="auto", description="As of a job: a name, auto, or a map of relations to methods."
    )
    epsilon: Amount = Field(description="The epsilon of every window of steps, from the dataset's budget.")
    window: Annotated[int, Field(ge=1)] | None = Field(
        default=None, description="Steps of a window; if given, it must be the account's."
    )
    parameters: Annotated[dict[str, Any], AfterValidator(plain)] = Field(
        default_factory=dict, description="As the method's JSON Schema says."
    )
    edge_types: Annotated[list[str], Field(min_length=1, max_length=256)] | None = Field(
        default=None,
        description="Relations to publish; by default every protected, undirected relation with time that "
        "the method takes.",
    )
    first_step: Annotated[int, Field(ge=0)] = Field(
        default=0, description="The number of the first snapshot's step on the dataset's time grid."
    )
    missing_steps: MissingSteps = Field(
        default=MissingSteps.REFUSE,
        description="A step that comes too early is refused, or the missing ones are published as empty.",
    )
    suite: Suite = Field(
        default=Suite.QUICK,
        description="How closely each release is compared with its original, for the curators' report.",
    )
    assume: Assume | None = Field(
        default=None,
        description="Sizes that relative predictions take for granted; declared bounds unless given.",
    )
    label: Annotated[str, Field(max_length=128)] | None = None
    project: Slug | None = Field(
        default=None, description="The project whose quota it draws on; the key says which team's."
    )

    def content(self) -> dict[str, Any]:
        """Return the request's content. What came in later versions is there where it was given."""
        return self.model_dump(mode="json", exclude={"assume"} if self.assume is None else None)
