"""What a caller asks for: the fields of a job."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Any

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StrictFloat, StrictInt, StrictStr

from core.errors import InvalidInput
from core.evaluation.metric import Suite
from core.graphs.counted.reference import WRITABLE
from core.graphs.schema import MAX_TYPES
from core.methods._shared.composition.params import StructureChoice
from core.methods.choice import AUTO
from core.publishing.checks import ALWAYS_WRITTEN
from core.publishing.spec import MAX_PLACE, Size
from core.settings import Settings
from core.workflows.common.policies import Slug
from core.workflows.jobs.questions import Assume
from core.workflows.jobs.targets import Target

Amount = StrictStr | StrictInt | Annotated[StrictFloat, Field(allow_inf_nan=False)]


def plain(values: dict[str, Any]) -> dict[str, Any]:
    """Return the values, if they can be stored. Parsers of JSON let numbers and texts pass that are none."""
    try:
        json.dumps(values, allow_nan=False, ensure_ascii=False).encode()
    except (TypeError, ValueError):
        raise ValueError("only finite numbers and well-formed texts can be stored") from None
    return values


MethodName = Annotated[str, Field(min_length=1, max_length=64)]
AskedMethod = (
    MethodName | Annotated[dict[str, MethodName | StructureChoice], Field(min_length=1, max_length=MAX_TYPES)]
)


class AskedSize(BaseModel):
    """Another number of nodes than the original's."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    nodes: Annotated[int, Field(ge=2, le=10**12, strict=True)] = Field(
        description="Nodes of the drawn graph. Degrees stay as they were told, counts of edges grow with it."
    )

    def of(self, nodes: Mapping[str, int], settings: Settings) -> Size:
        """Compare the requested size with the original's. That is public; InvalidInput beyond what a graph
        may have."""
        if self.nodes > settings.max_nodes:
            raise InvalidInput(
                f"A graph has at most {settings.max_nodes} nodes; ask for as many or fewer.",
                field="size.nodes",
            )
        return Size(nodes=self.nodes, of=sum(nodes.values()))


SIZE = "Draw the fitted law at another number of nodes, where the method can: post-processing, at no cost."


class JobRequest(BaseModel):
    """What a caller asks for. ``epsilon`` and ``delta`` are exact as decimal strings."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    dataset_id: Annotated[str, Field(min_length=1, max_length=64)]
    method: AskedMethod = Field(
        default=AUTO,
        description="A method's name; auto chooses a structure for each relation from public facts and says "
        "why. Or a map: by a relation's name a method, alone or with its parameters, or auto; `*` stands for "
        "all other relations. declared makes a graph from declared facts alone: nothing is read, at "
        "epsilon 0.",
    )
    epsilon: Amount | None = Field(
        default=None,
        description="The epsilon of this release, from the dataset's budget; required without a `target`, "
        "and left out with the method declared.",
    )
    target: Target | None = Field(
        default=None,
        description="What the release must tell at least, instead of an epsilon: the smallest epsilon that "
        "meets it is found from public facts, and reserved.",
    )
    delta: Amount | None = Field(
        default=None,
        description="The delta of this release; 0 asks for pure epsilon. By default 0; of persons and things "
        "under unit node 1e-6, at most 1 over ten times the number of persons, where the budget has some.",
    )
    parameters: Annotated[dict[str, Any], AfterValidator(plain)] = Field(
        default_factory=dict, description="As the method's JSON Schema says."
    )
    edge_types: Annotated[list[str], Field(min_length=1, max_length=MAX_TYPES)] | None = Field(
        default=None, description="Relations to synthesise; by default every protected one."
    )
    formats: Annotated[list[str], Field(max_length=16)] = Field(default_factory=lambda: [ALWAYS_WRITTEN])
    seed: Annotated[int, Field(ge=0, lt=2**63)] | None = Field(
        default=None, description="For datasets marked public only: a known seed voids the guarantee."
    )
    suite: Suite = Field(
        default=Suite.STANDARD,
        description="How closely the release is compared with its original, for the curators' report.",
    )
    label: Annotated[str, Field(max_length=128)] | None = None
    size: AskedSize | None = Field(default=None, description=SIZE)
    project: Slug | None = Field(
        default=None, description="The project whose quota it draws on; the key says which team's."
    )
    repeat: bool = Field(
        default=False,
        description="Spend again on a release that stands already, or is under way. Otherwise a request with "
        "the content of an earlier job is refused and names that job, whose release and further samples "
        "cost nothing.",
    )
    comparison: bool = Field(
        default=False,
        description="One of several releases among which their comparison with the original decides; for "
        "datasets marked public only.",
    )
    write_to: Annotated[str, Field(pattern=WRITABLE, max_length=MAX_PLACE)] | None = Field(
        default=None,
        description="Of a dataset in parts: the folder that the release's tables are written to as Parquet, "
        "below one that the service's operator allows, or table:NAMESPACE for Iceberg tables of the engine's "
        "catalogue too. The bundle then has their digests and the report.",
    )
    assume: Assume | None = Field(
        default=None,
        description="Sizes that relative predictions take for granted; declared bounds unless given.",
    )

    def content(self) -> dict[str, Any]:
        """Return the request's content. What came in later versions is there where it was given."""
        # Left out where absent, so that requests of earlier versions keep their digest and with it their key.
        later = {name for name in ("assume", "size", "target", "write_to") if getattr(self, name) is None}
        content = self.model_dump(mode="json", exclude=later)
        if self.target is not None:
            # It may stand in two places; the digest has one, so that both are the same request.
            del content["target"]["assume"]
        assumed = self.assumed()
        return content if assumed is None else {**content, "assume": assumed.model_dump(mode="json")}

    def assumed(self) -> Assume | None:
        """Return what is taken for granted. It counts wherever it was written; InvalidInput where it
        differs."""
        beside = None if self.target is None else self.target.assume
        if None not in (self.assume, beside) and self.assume != beside:
            raise InvalidInput(
                "The target assumes something else than the request; say it once.", field="target.assume"
            )
        return self.assume if beside is None else beside
