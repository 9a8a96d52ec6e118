"""What a job and its evaluation request. It says nothing about the data. No NumPy here.

A job's spec is built where it is asked for, and so validated before anything is reserved; it is stored as it
is, and read as it is. What sets a snapshot or a further sample apart is told by its type.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SerializerFunctionWrapHandler,
    Tag,
    model_serializer,
    model_validator,
)

from core.evaluation.metric import Suite
from core.graphs.schema import MAX_STEPS, MAX_TYPES, Derived, GraphSchema
from core.graphs.schema.names import Name
from core.methods.base import PublicFacts
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.guarantee import protects
from core.privacy.accounting.plan import DECLARED, GuaranteeKind
from core.privacy.units import Unit

ATTO = 10**18
_MAX_INT = 2**63 - 1
MAX_PLACE = 128
"""So many characters has the name of a folder that tables are written to."""

Id = Annotated[str, Field(min_length=1, max_length=64)]


class _Spec(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Size(_Spec):
    """How many nodes a graph is drawn with, where the model was fitted to ``of``."""

    nodes: Annotated[int, Field(ge=2, le=_MAX_INT)]
    of: Annotated[int, Field(ge=1, le=_MAX_INT)]

    @property
    def factor(self) -> float:
        """So many times the original's nodes."""
        return self.nodes / self.of


class _Release(_Spec):
    """What every release is asked to be, and what it is unless its type says otherwise."""

    child: ClassVar[str] = "release"
    """The kind of child process that makes it (:data:`worker.sandbox.KINDS`)."""
    reservation_expires: ClassVar[bool] = True
    """Whether what is reserved for it returns when it waits for too long."""

    job_id: Id
    dataset_id: Id
    dataset_version: Id
    method: Id
    chosen_because: Annotated[str, Field(max_length=2000)] | None = Field(
        default=None, description="Why ``auto`` chose the method; None where the caller named it."
    )
    params: dict[str, Any] = Field(default_factory=dict)
    unit: Unit
    window: Annotated[int, Field(ge=1, le=MAX_STEPS)] | None = None
    nano_epsilon: Annotated[int, Field(ge=1, le=_MAX_INT)]
    delta_atto: Annotated[int, Field(ge=0, lt=ATTO)] = 0
    edge_types: Annotated[tuple[Name, ...], Field(min_length=1, max_length=MAX_TYPES)]
    formats: Annotated[tuple[str, ...], Field(max_length=16)] = ()
    seed: Annotated[int, Field(ge=0, le=_MAX_INT)] | None = Field(
        default=None, description="Seeds the sampling draws; for datasets marked public only."
    )
    named_links: bool = Field(
        default=False, description="The curators' list of sensitive links must be there; none is drawn."
    )
    measurements: bool = Field(
        default=True, description="The noisy numbers that were paid for are published beside the graph."
    )
    derived: Annotated[tuple[Derived, ...], Field(max_length=len(Derived))] = Field(
        default=(), description="What of the public schema and universe was read off the data."
    )
    size: Size | None = Field(default=None, description="Another number of nodes than the original's.")

    @model_serializer(mode="wrap")
    def _as_before(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is newer and stands at its default.

        The version before this one, which serves on during an upgrade, reads no spec with a field that it
        does not know.
        """
        written: dict[str, Any] = write(self)
        if self.measurements:
            del written["measurements"]
        if self.size is None:
            del written["size"]
        return written

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if (self.unit is Unit.W_EVENT) != (self.window is not None):
            raise ValueError("a window is given for the unit w-event, and for no other")
        for name in ("edge_types", "formats", "derived"):
            values = getattr(self, name)
            if len(set(values)) != len(values):
                raise ValueError(f"{name} names one thing twice")
        return self

    @property
    def stream_id(self) -> str | None:
        """The live stream of which it is a snapshot."""
        return None

    @property
    def step(self) -> int | None:
        """The step of that stream."""
        return None

    @property
    def source_id(self) -> str | None:
        """The job whose fitted model it is drawn from; None for a model of its own."""
        return None

    @property
    def window_nano_epsilon(self) -> int | None:
        """What the live stream promises of every window."""
        return None

    def own_nano_epsilon(self, amounts: Mapping[str, int]) -> int:
        """Return the epsilon of this release alone; ``amounts``: what was reserved for it."""
        return self.nano_epsilon

    def facts(self, schema: GraphSchema, accountant: Accountant = Accountant.PRIVACY_LOSS) -> PublicFacts:
        """Return all that its plan may depend on. ``schema``: of the graph that it is made from."""
        return PublicFacts(
            schema,
            self.unit,
            self.window,
            self.nano_epsilon,
            self.delta_atto,
            self.edge_types,
            tick=self.step,
            accountant=accountant,
        )


class Plain(_Release):
    """A release of a whole dataset."""


class InParts(_Release):
    """A release of a whole dataset whose edges stay in parts: its graph is drawn in shards."""

    child = "fit"

    shard_edges: Annotated[int, Field(ge=1, le=_MAX_INT)] = Field(
        description="About how many edges a shard has: their number follows from this and the paid counts."
    )
    write_to: Annotated[str, Field(max_length=MAX_PLACE)] | None = Field(
        default=None, description="The folder that its tables are written to, in place of the bundle."
    )

    @model_serializer(mode="wrap")
    def _as_before(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Leave out what is newer and stands at its default, as every release does."""
        written = super()._as_before(write)
        if self.write_to is None:
            del written["write_to"]
        return written


class Place(_Spec):
    """Which snapshot of which live stream."""

    stream_id: Id
    step: Annotated[int, Field(ge=0, lt=MAX_STEPS)]


class Tick(_Release):
    """A release of one snapshot of a live stream. Its epsilon is that of a window of the stream."""

    reservation_expires = False

    tick: Place

    @property
    def stream_id(self) -> str:
        return self.tick.stream_id

    @property
    def step(self) -> int:
        return self.tick.step

    @property
    def window_nano_epsilon(self) -> int:
        return self.nano_epsilon

    def own_nano_epsilon(self, amounts: Mapping[str, int]) -> int:
        return sum(amounts.values())


class Declared(_Release):
    """A graph from declared facts alone. Nothing of its dataset is opened, or given to its child.

    ``nodes``: public sizes of the node types.
    """

    child = "declared"
    reservation_expires = False

    method: Literal["declared"] = DECLARED
    nano_epsilon: Literal[0] = 0
    delta_atto: Literal[0] = 0
    nodes: Annotated[dict[Name, Annotated[int, Field(ge=0, le=_MAX_INT)]], Field(max_length=MAX_TYPES)]


class Sample(_Release):
    """A further sample of the model that another job fitted and paid for. It opens no graph."""

    child = "sample"
    reservation_expires = False

    sample_of: Id

    @property
    def source_id(self) -> str:
        return self.sample_of


def _type_of(spec: Any) -> str:
    """Tell the type by what only it has: versions that know no types write and read the same."""

    def said(name: str) -> Any:
        return spec.get(name) if isinstance(spec, dict) else getattr(spec, name, None)

    names = ("tick", "sample_of", "shard_edges", "nodes")
    return next((name for name in names if said(name) is not None), "plain")


ReleaseSpec = Annotated[
    Annotated[Plain, Tag("plain")]
    | Annotated[Tick, Tag("tick")]
    | Annotated[Sample, Tag("sample_of")]
    | Annotated[InParts, Tag("shard_edges")]
    | Annotated[Declared, Tag("nodes")],
    Discriminator(_type_of),
]


class JobSpec(_Spec):
    """A job as the service reserved it. ``amounts``: what was reserved, by dimension of the account.

    ``apart``: relations of which one record is the unit, as the plan says; None where that was not stored.
    """

    release: ReleaseSpec
    amounts: dict[str, int]
    kind: GuaranteeKind
    label: str | None
    suite: Suite
    apart: tuple[str, ...] | None = None

    @model_serializer(mode="wrap")
    def _as_before(self, write: SerializerFunctionWrapHandler) -> dict[str, Any]:
        """Write what was read: a job that was stored without a word of records says none."""
        written: dict[str, Any] = write(self)
        if self.apart is None:
            del written["apart"]
        return written

    @model_validator(mode="after")
    def _reads_nothing(self) -> Self:
        """Only declarations are of the kind that reads nothing, and they reserve nothing."""
        unread = isinstance(self.release, Declared)
        if unread != (self.kind is GuaranteeKind.UNREAD) or (unread and any(self.amounts.values())):
            raise ValueError("declarations alone are unread, and reserve nothing")
        return self

    @property
    def protects(self) -> str | None:
        """What one release hides, in words. None where nothing is promised."""
        of = self.release
        return protects(of.unit, of.window, self.kind, self.apart, of.edge_types)

    @property
    def nano_epsilon(self) -> int:
        """The epsilon of the job's release. Of a tick it is its own step's part, not that of a window."""
        return self.release.own_nano_epsilon(self.amounts)

    @property
    def charged_nano_epsilon(self) -> int:
        """What the release is charged, in nano. A further sample's is nothing, whatever its model was
        charged."""
        return self.nano_epsilon if self.release.source_id is None else 0


class ReleaseTask(_Spec):
    """What a child is given that makes a release.

    ``plan`` is the reserved plan in its JSON form. It is never trusted: the release recomputes the plan from
    the method, the parameters and the public facts, by the accountant that the plan names (either is sound),
    and refuses when the two differ.
    """

    release: ReleaseSpec
    plan: dict[str, Any]


class EvaluationSpec(_Spec):
    """How a published release is compared with its original, and how it was made: attackers may know."""

    release: ReleaseSpec
    suite: Suite
    shadows: Annotated[int, Field(ge=0, le=10)] = Field(
        default=3, description="Most further releases that an attacker is supposed to make."
    )
    shadow_links: Annotated[int, Field(ge=0)] = Field(
        default=2_000_000, description="Links of the largest release of which any are made."
    )
    reduced_from: Suite | None = Field(
        default=None, description="The suite that was asked for, where it was too much; None: this one."
    )

    def reduced(self) -> EvaluationSpec | None:
        """Return the cheapest suite in place of this one. A note of it comes too; None for the cheapest
        itself."""
        if self.suite is Suite.QUICK:
            return None
        return self.model_copy(update={"suite": Suite.QUICK, "reduced_from": self.suite})
