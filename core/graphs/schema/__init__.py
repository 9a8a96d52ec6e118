"""The public half of a graph: what may be known without paying.

A :class:`GraphSchema` is declared at registration. Node types and counts, edge types, directedness and the
time grid are public by declaration (the node set included); everything else about a graph is private.
No NumPy here: the api validates schemas without loading data.
"""

from __future__ import annotations

from collections.abc import Container
from enum import StrEnum
from typing import Annotated, Any, NoReturn, Self

from pydantic import (
    Field,
    SerializerFunctionWrapHandler,
    field_validator,
    model_serializer,
    model_validator,
)

from core.graphs.schema.edge_attributes import (
    IN_TIME,
    MAX_ATTRIBUTES,
    MAX_RECORDS,
    EdgeAttribute,
    Multiplicity,
    Overflow,
    merging_problem,
)
from core.graphs.schema.names import Frozen, Name, Shown
from core.graphs.schema.node_attributes import Attribute as Attribute
from core.graphs.schema.node_attributes import AttributeKind as AttributeKind
from core.graphs.schema.node_attributes import Protection as Protection
from core.graphs.schema.time_grid import MAX_STEPS as MAX_STEPS
from core.graphs.schema.time_grid import MAX_TIME as MAX_TIME
from core.graphs.schema.time_grid import TimeGrid as TimeGrid

MAX_NODES = 200_000_000
MAX_DEGREE_BOUND = 1_000_000
MAX_EDGE_BOUND = 2**62
MAX_TYPES = 4096  # node types, and edge types; the service's own limit is a setting
RESERVED_ATTRIBUTES = frozenset({"id", "type", "node_id"})  # columns of a node list
EVERY = "every-graph"  # a collection's graphs taken together; no graph is called so, whatever its id
GRAPH_ID = "graph_id"  # the column that names the graph of a collection to which a row belongs
STEP = "step"  # the column of an export that names the step of a time


class NodeIds(StrEnum):
    """How nodes are named in a release: fresh pseudonyms (default), or their own ids, declared public."""

    PSEUDONYMOUS = "pseudonymous"
    PUBLIC = "public"


class Derived(StrEnum):
    """What of a public schema or universe was read off the data, and then confirmed by its curator."""

    NODE_LIST = "node_list"
    TIME_GRID = "time_grid"
    NODE_TYPES = "node_types"
    EDGE_TYPES = "edge_types"
    NODE_ATTRIBUTES = "node_attributes"
    EDGE_VALUES = "edge_values"
    CAPS = "caps"


class Presence(StrEnum):
    """What an edge in a snapshot says: that something happened in this step; that something holds in it, and
    may go on; or that something happened in this step or before, so that the edge stays."""

    EVENT = "event"
    STATE = "state"
    CUMULATIVE = "cumulative"


class NodeType(Frozen):
    """A node type and its public universe.

    ``count`` declares nodes 0..count-1; ``None`` says that a node list is uploaded (part ``nodes``, or inside
    a format that carries nodes). The uploaded list is then the public universe. ``protected``: the unit
    ``node`` protects every node of this type, with all of its edges. ``degree_bound`` declares that no node
    of this type has more edges than that in the protected relations, all of them and all steps together:
    checked at ingest, never repaired. ``shown`` is how files name the type, where that is no plain name. All
    three are written only where they are set.
    """

    name: Name = "node"
    shown: Shown | None = None
    count: Annotated[int, Field(ge=1, le=MAX_NODES)] | None = None
    attributes: tuple[Attribute, ...] = ()
    protected: bool = False
    degree_bound: Annotated[int, Field(ge=1, le=MAX_DEGREE_BOUND)] | None = None

    @property
    def in_files(self) -> str:
        """The name of the type in files."""
        return self.shown or self.name

    @model_serializer(mode="wrap")
    def _compact(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # so that it keeps its JSON Schema
        written: dict[str, Any] = write(self)
        for name in ("shown", "protected", "degree_bound"):
            if not written.get(name):
                written.pop(name, None)
        return written

    @model_validator(mode="after")
    def _named_apart(self) -> Self:
        names = [attribute.name for attribute in self.attributes]
        if len(set(names)) != len(names):
            raise ValueError(f"attribute names of node type {self.name!r} must be unique")
        if reserved := RESERVED_ATTRIBUTES.intersection(names):
            raise ValueError(
                f"attribute names {sorted(reserved)} are reserved for the columns of a node list"
            )
        return self


class EdgeType(Frozen):
    """A relation between two node types.

    ``temporal`` edges carry a time; the others belong to no timestamp. ``public`` relations are common
    knowledge: they are not protected and are copied into a release. ``functional`` declares one target per
    source, ``once`` a pair at most once over time, ``edge_bound`` at most so many edges in each snapshot (in
    all, without time): declared facts, checked at ingest, never repaired. ``presence`` says what an edge in a
    snapshot means: declared, never inferred, for the warnings that follow from it.

    ``attributes`` are what its edges carry. Several rows of one edge (in one snapshot) are merged into one
    value of each attribute by its ``aggregate``, or with ``multiplicity`` ``each`` kept beside one another,
    at most ``records_per_slot``; more are refused, unless ``overflow`` says which are kept. Either is decided
    by the rows of that edge alone. ``records_apart``: under the units ``edge`` and ``event`` one record of an
    edge is protected, in place of the edge with all of its records. All five are written only where
    attributes are declared, and ``shown``, how files name the relation, only where that is no plain name.
    """

    name: Name = "edge"
    shown: Shown | None = None
    source: Name = "node"
    target: Name = "node"
    directed: bool = False
    temporal: bool = False
    public: bool = False
    functional: bool = False
    once: bool = False
    edge_bound: Annotated[int, Field(ge=1, le=MAX_EDGE_BOUND)] | None = None
    presence: Presence | None = None
    attributes: Annotated[tuple[EdgeAttribute, ...], Field(max_length=MAX_ATTRIBUTES)] = ()
    multiplicity: Multiplicity | None = None
    records_per_slot: Annotated[int, Field(ge=1, le=MAX_RECORDS)] | None = None
    overflow: Overflow = Overflow.REFUSE
    records_apart: bool = False

    @property
    def in_files(self) -> str:
        """The name of the relation in files."""
        return self.shown or self.name

    @property
    def homogeneous(self) -> bool:
        """Whether both ends are of one node type."""
        return self.source == self.target

    @property
    def merged(self) -> bool:
        """Whether several rows of one edge become one value of each attribute."""
        return self.multiplicity is not Multiplicity.EACH

    @property
    def ordered(self) -> bool:
        """Whether the times of an edge's rows decide which values it carries."""
        by_time = any(attribute.aggregate in IN_TIME for attribute in self.attributes)
        return by_time or self.overflow is not Overflow.REFUSE

    def without_attributes(self) -> EdgeType:
        """Declare the same relation, whose edges carry nothing."""
        if not self.attributes:
            return self
        kept = {name: getattr(self, name) for name in type(self).model_fields if name not in _CARRIED}
        return type(self)(**kept)

    @model_serializer(mode="wrap")
    def _compact(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # so that it keeps its JSON Schema
        written: dict[str, Any] = write(self)
        for name in _CARRIED:
            if not self.attributes or not written.get(name):
                written.pop(name, None)
        if self.overflow is Overflow.REFUSE:
            written.pop("overflow", None)
        if self.shown is None:
            written.pop("shown", None)
        return written

    @model_validator(mode="after")
    def _attributes_agree(self) -> Self:
        names = [attribute.name for attribute in self.attributes]
        if len(set(names)) != len(names):
            raise ValueError(f"attribute names of edge type {self.name!r} must be unique")
        problem = merging_problem(
            self.attributes, self.multiplicity, self.records_per_slot, self.overflow, self.temporal
        )
        if self.records_apart and (self.merged or self.overflow is not Overflow.REFUSE):
            problem = problem or (
                "records_apart needs multiplicity each and overflow refuse: a row more of a merged or full "
                "edge would change what other rows say"
            )
        if problem:
            raise ValueError(f"edge type {self.name!r}: {problem}")
        return self

    @model_validator(mode="after")
    def _functional_has_a_source(self) -> Self:
        if self.functional and self.homogeneous and not self.directed:
            raise ValueError(f"edge type {self.name!r} is functional, but an undirected edge has no source")
        if self.once and not self.temporal:
            raise ValueError(f"edge type {self.name!r} is declared once over time, but carries no time")
        if self.presence is not None and not self.temporal:
            raise ValueError(
                f"edge type {self.name!r} declares its presence in snapshots, but carries no time"
            )
        return self


_CARRIED = ("attributes", "multiplicity", "records_per_slot", "overflow", "records_apart")


class CollectionGraph(Frozen):
    """One graph of a collection, by its id in the column ``graph_id``.

    ``nodes`` declares nodes 0..nodes-1; ``None`` says that a node list is uploaded. ``label`` is the graph's
    class, known to everyone: it is copied into releases.
    """

    id: Annotated[str, Field(pattern=r"^[A-Za-z0-9_-]{1,57}$")]
    nodes: Annotated[int, Field(ge=1, le=MAX_NODES)] | None = None
    label: Annotated[str, Field(min_length=1, max_length=128)] | None = None

    @property
    def type_name(self) -> str:
        """Name of the graph's node type, and of its relation."""
        return f"graph-{self.id}"


class Collection(Frozen):
    """Many graphs as one dataset: each is a node type of its own, with one relation inside.

    Which graphs there are and how many nodes each has is public by declaration, never counted from the
    edges. An edge lies in one graph, so that under unit ``edge`` each may spend all of a release's epsilon.
    What that protects is one edge of one graph: a tie that is listed in k graphs (ego networks of one
    population, one network at k times) is k edges, and is protected at k times epsilon.

    ``edge_attributes`` and the three after it are the ``attributes`` of every graph's edges, as of an
    :class:`EdgeType`; written only where they are declared.
    """

    graphs: Annotated[tuple[CollectionGraph, ...], Field(min_length=1, max_length=MAX_TYPES)]
    directed: bool = False
    attributes: tuple[Attribute, ...] = ()
    edge_attributes: Annotated[tuple[EdgeAttribute, ...], Field(max_length=MAX_ATTRIBUTES)] = ()
    multiplicity: Multiplicity | None = None
    records_per_slot: Annotated[int, Field(ge=1, le=MAX_RECORDS)] | None = None
    overflow: Overflow = Overflow.REFUSE

    @model_serializer(mode="wrap")
    def _compact(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # so that it keeps its JSON Schema
        written: dict[str, Any] = write(self)
        for name in ("edge_attributes", "multiplicity", "records_per_slot"):
            if not written.get(name):
                written.pop(name, None)
        if self.overflow is Overflow.REFUSE:
            written.pop("overflow", None)
        return written

    @model_validator(mode="after")
    def _alike(self) -> Self:
        ids = [graph.id for graph in self.graphs]
        if len(set(ids)) != len(ids):
            raise ValueError("graph ids must be unique")
        for what, declared in (
            ("nodes", [graph.nodes is not None for graph in self.graphs]),
            ("label", [graph.label is not None for graph in self.graphs]),
        ):
            if any(declared) and not all(declared):
                raise ValueError(f"declare {what} for every graph of the collection, or for none")
        if GRAPH_ID in [attribute.name for attribute in self.attributes]:
            raise ValueError(f"no attribute may be named {GRAPH_ID}: that column names the graph")
        if GRAPH_ID in [attribute.name for attribute in self.edge_attributes]:
            raise ValueError(f"no attribute of edges may be named {GRAPH_ID}: that column names the graph")
        self._edges_of("graph")  # is refused as any edge type is
        return self

    def released(
        self, edge_types: Container[str], drawn: Container[Attribute] = (), *, values: bool = False
    ) -> Collection:
        """Declare what a release of relations holds. It has their graphs, with the public attributes and
        those that are ``drawn``, and what edges carry where it has ``values``."""
        left = {} if values else {"edge_attributes": (), "multiplicity": None, "records_per_slot": None}
        kept = {name: getattr(self, name) for name in type(self).model_fields} | left
        return Collection(
            **kept
            | {
                "graphs": tuple(graph for graph in self.graphs if graph.type_name in edge_types),
                "attributes": tuple(
                    a for a in self.attributes if a.protection is Protection.PUBLIC or a in drawn
                ),
                "overflow": self.overflow if values else Overflow.REFUSE,
            }
        )

    def node_types(self) -> tuple[NodeType, ...]:
        """Make one for each graph, in the declared order."""
        return tuple(
            NodeType(name=g.type_name, count=g.nodes, attributes=self.attributes) for g in self.graphs
        )

    def edge_types(self) -> tuple[EdgeType, ...]:
        """Make one for each graph, in the declared order."""
        return tuple(self._edges_of(graph.type_name) for graph in self.graphs)

    def _edges_of(self, name: str) -> EdgeType:
        return EdgeType(
            name=name,
            source=name,
            target=name,
            directed=self.directed,
            attributes=self.edge_attributes,
            multiplicity=self.multiplicity,
            records_per_slot=self.records_per_slot,
            overflow=self.overflow,
        )


class GraphSchema(Frozen):
    """The declared, public shape of a graph, or of a collection of graphs.

    A ``collection`` stands in the place of ``node_types``, ``edge_types`` and ``time``: both tuples then hold
    what it says, one entry for each graph, and are left out when the schema is written.
    """

    node_types: Annotated[tuple[NodeType, ...], Field(min_length=1, max_length=MAX_TYPES)] = (NodeType(),)
    edge_types: Annotated[tuple[EdgeType, ...], Field(min_length=1, max_length=MAX_TYPES)] = (EdgeType(),)
    time: TimeGrid | None = None
    node_ids: NodeIds = NodeIds.PSEUDONYMOUS
    collection: Collection | None = None

    @field_validator("node_types")
    @classmethod
    def _one_protected(cls, value: tuple[NodeType, ...]) -> tuple[NodeType, ...]:
        protected = [attribute.name for attribute in value if attribute.protected]
        if len(protected) > 1:
            raise ValueError(f"at most one node type is protected; declared are {', '.join(protected)}")
        return value

    @model_validator(mode="after")
    def _collected(self) -> Self:
        if self.collection is None:
            return self
        for name in ("node_types", "edge_types", "time"):
            if name in self.model_fields_set and getattr(self, name) is not None:
                raise ValueError(f"a collection of graphs declares no {name}; leave {name} out")
        # The model is frozen, and lets nobody set what follows from ``collection``.
        object.__setattr__(self, "node_types", self.collection.node_types())
        object.__setattr__(self, "edge_types", self.collection.edge_types())
        return self

    @model_serializer(mode="wrap")
    def _compact(self, write: SerializerFunctionWrapHandler):  # type: ignore[no-untyped-def]  # so that it keeps its JSON Schema
        written: dict[str, Any] = write(self)
        for name in ("node_types", "edge_types", "time") if self.collection else ("collection",):
            written.pop(name, None)
        return written

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        names = [t.name for t in self.node_types]
        if len(set(names)) != len(names):
            raise ValueError("node type names must be unique")
        edge_names = [t.name for t in self.edge_types]
        if len(set(edge_names)) != len(edge_names):
            raise ValueError("edge type names must be unique")
        for what, types in (("node", self.node_types), ("edge", self.edge_types)):
            if len({edge_type.in_files for edge_type in types}) != len(types):
                raise ValueError(f"two {what} types have one name in files; show them by different names")
        for edge in self.edge_types:
            for end in (edge.source, edge.target):
                if end not in names:
                    raise ValueError(f"edge type {edge.name!r} names the undeclared node type {end!r}")
            if edge.temporal and self.time is None:
                raise ValueError(f"edge type {edge.name!r} is temporal, but no time grid is declared")
        kinds: dict[str, str] = {}
        for edge in self.edge_types:
            for attribute in edge.attributes:
                if kinds.setdefault(attribute.name, attribute.kind) != attribute.kind:
                    raise ValueError(
                        f"the edge attribute {attribute.name!r} has one kind in all edge types, which share "
                        "a column"
                    )
        if self.time is not None and not any(edge.temporal for edge in self.edge_types):
            raise ValueError("a time grid is declared, but no edge type is temporal")
        return self

    @property
    def temporal(self) -> bool:
        """Whether at least one edge type carries time."""
        return self.time is not None

    @property
    def steps(self) -> int:
        """Number of snapshots; 1 for a static graph."""
        return self.time.count if self.time else 1

    @property
    def counted(self) -> bool:
        """Whether every node type declares its count. If so, who is there hangs on no list and no
        document."""
        return all(node_type.count is not None for node_type in self.node_types)

    @property
    def protected_type(self) -> NodeType | None:
        """The node type that unit ``node`` protects. None where none is declared."""
        return next((node_type for node_type in self.node_types if node_type.protected), None)

    def graph_ids(self) -> dict[str, str]:
        """Map node types and relations to their graph. It is empty without a collection."""
        return {graph.type_name: graph.id for graph in self.collection.graphs} if self.collection else {}

    def node_type(self, name: str) -> NodeType:
        """Look up the node type of that name; KeyError when undeclared."""
        return next((t for t in self.node_types if t.name == name), None) or _missing("node type", name)

    def edge_type(self, name: str) -> EdgeType:
        """Look up the edge type of that name; KeyError when undeclared."""
        return next((t for t in self.edge_types if t.name == name), None) or _missing("edge type", name)

    def node_type_or_every(self, name: str) -> NodeType:
        """Look up a node type. All of a collection's graphs together have the name of :data:`EVERY`."""
        if name != EVERY or self.collection is None:
            return self.node_type(name)
        return self.node_types[0].model_copy(update={"name": EVERY, "count": None})

    def edge_type_or_every(self, name: str) -> EdgeType:
        """Look up a relation. All of a collection's graphs together have the name of :data:`EVERY`."""
        if name != EVERY or self.collection is None:
            return self.edge_type(name)
        return self.edge_types[0].model_copy(update=dict.fromkeys(("name", "source", "target"), EVERY))

    def steps_of(self, edge_type: str) -> tuple[int | None, ...]:
        """List the cells of an edge type. These are its steps, or ``(None,)`` when it carries no time."""
        return tuple(range(self.steps)) if self.edge_type(edge_type).temporal else (None,)


def _missing(what: str, name: str) -> NoReturn:
    raise KeyError(f"no {what} named {name!r} is declared")
