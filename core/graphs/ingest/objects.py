"""Graphs of other libraries, as raw tables. They are tables of nodes and edges: what an upload of them would
hold.

Told by an object's type alone: whether edges have a direction, which node and edge types there are, whether
there is time, and where the object has its nodes, who they are. No value of an edge or attribute is looked
at, but where frames and arrays name no ends: what is in their columns tells those. Libraries are asked for
only where the object is theirs.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from core.errors import InvalidInput
from core.graphs.columns.tables import NodeTable
from core.graphs.ingest.guessed import array_table, with_ends
from core.graphs.ingest.object_columns import carried_columns, told_one_way
from core.graphs.reading.words import meant
from core.graphs.schema import RESERVED_ATTRIBUTES, EdgeType, NodeType
from core.graphs.schema.edge_attributes import RESERVED
from core.graphs.schema.names import MAX_SHOWN, column_names, is_shown, type_names
from core.graphs.schema.structure import columns_apart
from core.graphs.uploads.batches import END_TYPES
from core.graphs.uploads.findings import shown
from core.graphs.uploads.networkx_tables import networkx_tables

TAKEN = (
    "a NetworkX graph, a SciPy sparse matrix, a torch_geometric Data, HeteroData or TemporalData, an edge "
    "list as a pandas or Polars frame, an Arrow table or a NumPy array, an igraph graph, or the path of "
    "a file"
)
UNIVERSE = (
    "who is there cannot be told from edges without publishing who has one: give the nodes as a count, "
    "a list of ids or a frame (nodes=...)"
)
_SORTS = {False: "false", True: "true"}
"""How the two sorts of a bipartite igraph are named: by the values of its attribute type."""


@dataclass(frozen=True)
class Tables:
    """Raw tables of edges and of nodes. ``edges``: source, target, and what else the object says of them;
    ``nodes``: id and so on, or None.

    ``counts`` are the sizes of node types whose nodes are numbered. ``timed``: the edges have a column time.
    ``declared_nodes``: somebody said who is there; False where the object knows, which may have been made of
    its edges. ``unread``: columns that no Arrow column can hold, and why; they are looked at only where a
    schema declares them. ``warnings``: what is not said of the object, for whoever gave it.
    """

    edges: pa.Table
    nodes: pa.Table | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    node_types: tuple[str, ...] = ("node",)
    relations: tuple[tuple[str, str, str], ...] = (("edge", "node", "node"),)
    directed: bool = False
    timed: bool = False
    declared_nodes: bool = True
    unread: Mapping[str, str] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()

    def declared(self) -> tuple[tuple[NodeType, ...], tuple[EdgeType, ...]]:
        """Declare what the object's type says. It declares nothing that nodes or edges carry."""
        named, related = type_names(self.node_types), type_names([name for name, _, _ in self.relations])
        kinds = tuple(
            NodeType(name=name, shown=_unless(own, name), count=self.counts.get(own))
            for own, name in ((each, named[each]) for each in self.node_types)
        )
        edges = tuple(
            EdgeType(
                name=related[name],
                shown=_unless(name, related[name]),
                source=named[source],
                target=named[target],
                directed=self.directed and source == target,
                temporal=self.timed,
            )
            for name, source, target in self.relations
        )
        return kinds, edges


def _unless(own: str, name: str) -> str | None:
    return None if own == name else own


def tables_of(graph: object, nodes: object = None, *, directed: bool | None = None) -> Tables:
    """Take the object apart.

    ``nodes``: a count, ids, or a frame with the column ``id``: who is there. Objects that have their nodes
    do not need it; who is there is then taken from the object, and was not declared.
    ``directed`` is for objects whose type does not say (frames, matrices, tensors): False unless given.
    Raises InvalidInput (``field``) for a type that is not known, nodes that cannot be named, and where nodes
    or a direction are said twice or not at all.
    """
    for library, name, take in _KNOWN:
        kind = _class(library, name)
        if kind is not None and isinstance(graph, kind):
            tables: Tables = take(graph, nodes, directed)
            return tables
    raise InvalidInput(f"a graph is {TAKEN}; this is {shown(type(graph).__name__)}", field="graph")


def _class(library: str, names: str) -> Any:
    """Find the class, where its library is loaded: no object of it exists otherwise."""
    found: Any = sys.modules.get(library)
    for name in names.split("."):
        found = getattr(found, name, None)
    return found


def _networkx(graph: Any, nodes: object, directed: bool | None) -> Tables:
    _said_twice(directed, "a NetworkX graph")
    named: dict[str, object] = {}
    for key in graph.nodes:
        name = _name(key)
        if name in named:
            raise InvalidInput(
                f"two nodes would both be named {shown(name)}; relabel one", field="graph.nodes"
            )
        named[name] = key
    listed, edges = networkx_tables(graph)
    return _own_nodes(Tables(edges, listed, directed=graph.is_directed()), nodes)


def _name(key: object) -> str:
    """Name a node. InvalidInput for what is neither text nor an integer."""
    if isinstance(key, str):
        return key
    if isinstance(key, int | np.integer) and not isinstance(key, bool):
        return str(int(key))
    raise InvalidInput(
        f"the node {shown(str(key))} is {shown(type(key).__name__)}, and cannot be named; nodes are texts or "
        'integers (networkx.convert_node_labels_to_integers(graph, ordering="sorted") gives them)',
        field="graph.nodes",
    )


def _igraph(graph: Any, nodes: object, directed: bool | None) -> Tables:
    _said_twice(directed, "an igraph graph")
    count = graph.vcount()
    ends = np.array(graph.get_edgelist(), dtype=np.int64).reshape(-1, 2)
    attributes = list(graph.vs.attributes())
    carried, unread = carried_columns({name: graph.es[name] for name in graph.es.attributes()}, RESERVED)
    if not attributes:
        table = pa.table({"source": ends[:, 0], "target": ends[:, 1], **carried})
        counted = Tables(table, counts={"node": positive(count)}, directed=graph.is_directed(), unread=unread)
        return _own_nodes(counted, nodes)
    ids = pa.array([_name(each) for each in (graph.vs["name"] if "name" in attributes else range(count))])
    own, left = carried_columns(
        {name: graph.vs[name] for name in attributes if name not in ("name", "type")}, RESERVED_ATTRIBUTES
    )
    table = pa.table({"source": ids.take(pa.array(ends[:, 0])), "target": ids.take(pa.array(ends[:, 1]))})
    for name, column in carried.items():
        table = table.append_column(name, pa.chunked_array([column]))
    kinds = list(graph.vs["type"]) if "type" in attributes else []
    found = Tables(
        table, pa.table({"id": ids, **own}), directed=graph.is_directed(), unread={**left, **unread}
    )
    if kinds and all(each is None or isinstance(each, str) for each in kinds):
        types = pa.array(kinds, type=pa.string())
        found = replace(found, nodes=pa.table({"id": ids, "type": types, **own}))
    elif {True, False} == set(kinds):
        found = _two_sorts(found, pa.array([_SORTS[each] for each in kinds], type=pa.string()), ends)
    return _own_nodes(found, nodes)


def _two_sorts(found: Tables, types: pa.Array, ends: np.ndarray) -> Tables:
    """Take the booleans that igraph tells two sorts of nodes apart by as node types.

    InvalidInput where an edge joins two of one sort.
    """
    kinds = [types.take(pa.array(ends[:, place])) for place in (0, 1)]
    inside = np.flatnonzero(pc.equal(*kinds).to_numpy(zero_copy_only=False))
    if len(inside):
        first = found.edges.slice(int(inside[0]), 1).to_pylist()[0]
        raise InvalidInput(
            f"the vertex attribute 'type' is true or false, which is two sorts of nodes to igraph, but "
            f"{len(inside)} edges join two of one sort; the first is {shown(first['source'])} to "
            f"{shown(first['target'])}. Rename the attribute where it means something else",
            field="graph.type",
        )
    assert found.nodes is not None
    edges = found.edges
    for name, column in zip(END_TYPES, kinds, strict=True):
        edges = edges.append_column(name, pa.chunked_array([column]))
    nodes = found.nodes.append_column("type", pa.chunked_array([types]))
    one, two = _SORTS.values()
    return replace(found, edges=edges, nodes=nodes, node_types=(one, two), relations=(("edge", one, two),))


def _matrix(graph: Any, nodes: object, directed: bool | None) -> Tables:
    entries = graph.tocoo()
    if entries.data.dtype.kind == "f" and np.isnan(entries.data).any():
        raise InvalidInput("the matrix holds NaN; no edge has such a weight", field="graph")
    rows, columns = entries.shape
    # A stored zero is no edge, as in files of matrices.
    present = entries.data != 0
    ends = {"source": entries.row[present].astype(np.int64), "target": entries.col[present].astype(np.int64)}
    table = pa.table({**ends, "weight": entries.data[present]})
    if rows == columns:
        warnings = told_one_way(ends["source"], ends["target"], directed, "The matrix is not symmetric")
        square = Tables(table, counts={"node": positive(rows)}, directed=bool(directed), warnings=warnings)
        return _own_nodes(square, nodes)
    if nodes is not None:
        raise InvalidInput(
            "rows and columns of this matrix are two sorts of nodes: declare the count of each in a schema",
            field="nodes",
        )
    if directed is not None:
        raise InvalidInput(
            "rows and columns of this matrix are two sorts of nodes: an edge has no other direction",
            field="directed",
        )
    return Tables(
        table,
        counts={"row": positive(rows), "column": positive(columns)},
        node_types=("row", "column"),
        relations=(("edge", "row", "column"),),
        declared_nodes=False,
    )


def _frame(graph: Any, nodes: object, directed: bool | None) -> Tables:
    return _rows(*arrow_of(graph), nodes, directed)


def _array(graph: Any, nodes: object, directed: bool | None) -> Tables:
    table, names = array_table(graph)
    if names is not None:
        return _rows(table, {}, nodes, directed)
    table, remarks = with_ends(table, None)
    return replace(_rows(table, {}, nodes, directed), warnings=remarks)


def _rows(table: pa.Table, unread: Mapping[str, str], nodes: object, directed: bool | None) -> Tables:
    remarks: tuple[str, ...] = ()
    if not {"source", "target"} & {*meant(table.column_names, "edges", ("source", "target")), *unread}:
        table, remarks = with_ends(table, table.column_names)
    names = meant(table.column_names, "edges", ("source", "target", "time", "type"))
    table = table.rename_columns(columns_apart(names, "edges", ("source", "target", "time", "type")))
    for column in ("source", "target"):
        if column not in names:
            why = f" ({unread[column]})" if column in unread else ""
            raise InvalidInput(
                f"the frame has no column {column!r}{why}; name the ends source and target, or say "
                "which columns they are: columns={'source': ..., 'target': ...}",
                field="graph",
            )
    listed, counts = universe(nodes)
    return Tables(
        table, listed, counts, directed=bool(directed), timed="time" in names, unread=unread, warnings=remarks
    )


def _data(graph: Any, nodes: object, directed: bool | None) -> Tables:
    ends = _ends(graph.edge_index)
    count = _count(graph, nodes)
    edges = {**ends, **_columns(graph, len(ends["source"]), {"edge_index"})}
    listed, given = _listed(graph, count), nodes is not None
    what = "Some edges of edge_index stand in one direction alone"
    return Tables(
        pa.table(edges),
        listed,
        {} if listed else {"node": count},
        directed=bool(directed),
        declared_nodes=given,
        warnings=told_one_way(ends["source"], ends["target"], directed, what),
    )


def _temporal(graph: Any, nodes: object, directed: bool | None) -> Tables:
    listed, counts = universe(nodes)
    count = len(graph.src)
    edges = {
        "source": _numbers(graph.src),
        "target": _numbers(graph.dst),
        "time": _numbers(graph.t),
        **_columns(graph, count, {"src", "dst", "t"}),
    }
    return Tables(pa.table(edges), listed, counts, directed=bool(directed), timed=True)


def _hetero(graph: Any, nodes: object, directed: bool | None) -> Tables:
    said = {} if nodes is None else nodes
    if not isinstance(said, Mapping) or (nodes is not None and set(said) != set(graph.node_types)):
        raise InvalidInput("for HeteroData nodes maps every node type to its count", field="nodes")
    # Types stand as the object was filled, perhaps by its edges; their order is public with the schema.
    counts = {kind: _count(graph[kind], said.get(kind)) for kind in sorted(graph.node_types)}
    triples = sorted(graph.edge_types)
    names = [relation for _, relation, _ in triples]
    relations, tables = [], []
    for source, relation, target in triples:
        name = relation if names.count(relation) == 1 else f"{source}-{relation}-{target}"
        for each in (source, name, target):
            if not is_shown(each):
                raise InvalidInput(
                    f"the type {shown(each)} is no name: printable letters, {MAX_SHOWN} at most",
                    field="graph",
                )
        relations.append((name, source, target))
        store = graph[source, relation, target]
        ends = _ends(store.edge_index)
        own = {**ends, "type": pa.repeat(name, len(ends["source"]))}
        tables.append(pa.table({**own, **_columns(store, len(ends["source"]), {"edge_index"})}))
    if not relations:
        raise InvalidInput("HeteroData has no edge type", field="graph")
    listed = [_listed(graph[kind], count, kind) for kind, count in counts.items()]
    whole = pa.concat_tables(listed, promote_options="permissive") if all(listed) else None
    return Tables(
        pa.concat_tables(tables, promote_options="permissive"),
        whole,
        {} if whole else counts,
        tuple(counts),
        tuple(relations),
        bool(directed),
        declared_nodes=nodes is not None,
    )


def _ends(index: Any) -> dict[str, np.ndarray]:
    ends = _numbers(index)
    if ends.ndim != 2 or len(ends) != 2:
        raise InvalidInput("edge_index has two rows, sources and targets", field="graph.edge_index")
    return {"source": ends[0], "target": ends[1]}


def _numbers(tensor: Any) -> np.ndarray:
    found: np.ndarray = tensor.detach().cpu().numpy()
    return found


def _count(store: Any, nodes: object) -> int:
    """Find how many nodes there are, where the store says so itself; else as given. Never from its edges."""
    own = store.num_nodes if "num_nodes" in store else len(store["x"]) if "x" in store else None
    if own is None and nodes is None:
        raise InvalidInput(UNIVERSE, field="nodes")
    if own is not None and nodes is not None and positive(nodes) != own:
        raise InvalidInput(f"the object has {own} nodes, and no other number of them", field="nodes")
    return positive(own if own is not None else nodes)


def numbered(count: int) -> pa.Table:
    """List the nodes 0 to count - 1."""
    return pa.table({"id": NodeTable(count).id_array()})


def positive(count: object) -> int:
    """Return the count; InvalidInput for anything but a number of nodes."""
    if isinstance(count, bool) or not isinstance(count, Integral) or count < 1:
        raise InvalidInput(
            f"a count of nodes is at least one, an integer, and this is {shown(count)}; {NODES}",
            field="nodes",
        )
    return int(count)


def _listed(store: Any, count: int, kind: str | None = None) -> pa.Table | None:
    """List numbered nodes with what they carry; None where they carry nothing."""
    columns: dict[str, Any] = {"id": NodeTable(count).id_array()}
    if kind is not None:
        columns["type"] = pa.repeat(kind, count)
    carried = _columns(store, count, {"edge_index", "edge_attr", "edge_weight"}, of_nodes=True)
    return pa.table({**columns, **carried}) if carried or kind is not None else None


def _columns(store: Any, rows: int, but: set[str], *, of_nodes: bool = False) -> dict[str, Any]:
    """Take the tensors that have a value for each row, of one number, and of nodes also vectors, by names
    that no structure has."""
    found: dict[str, Any] = {}
    tensors = sys.modules["torch"].Tensor
    is_of_nodes = getattr(store, "is_node_attr", None)
    for name, value in store.items() if hasattr(store, "items") else store:
        if name in but or not isinstance(value, tensors) or value.dim() == 0 or len(value) != rows:
            continue
        # Where there are as many edges as nodes, the store knows which of them a tensor is of.
        if is_of_nodes is not None and "edge_index" in store and is_of_nodes(name) != of_nodes:
            continue
        if value.dim() == 1:
            found[name] = pa.array(_numbers(value))
        elif value.dim() == 2 and of_nodes:
            found[name] = pa.array(_numbers(value).tolist(), type=pa.list_(pa.float32()))
    structural = RESERVED_ATTRIBUTES if of_nodes else RESERVED
    return dict(zip(column_names(list(found), structural), found.values(), strict=True))


NODES = "nodes are a count, a list of ids, a frame with the column id, or beside a file another file"


def universe(nodes: object) -> tuple[pa.Table | None, dict[str, int]]:
    """Read who is there: numbered nodes, a list of ids, or a frame."""
    if nodes is None:
        return None, {}
    if isinstance(nodes, Integral) and not isinstance(nodes, bool):
        return None, {"node": positive(nodes)}
    if isinstance(nodes, Mapping | str | bytes):
        raise InvalidInput(NODES, field="nodes")
    if is_frame(nodes):
        table, _ = arrow_of(nodes)
        names = meant(table.column_names, "nodes", ("id", "type"))
        table = table.rename_columns(columns_apart(names, "nodes", ("id", "type")))
        if "id" not in table.column_names:
            raise InvalidInput("the frame of nodes has no column 'id'", field="nodes")
        return table, {}
    if isinstance(nodes, Iterable):
        return pa.table({"id": pa.array([_name(each) for each in nodes], type=pa.string())}), {}
    raise InvalidInput(NODES, field="nodes")


def is_frame(value: object) -> bool:
    classes = [_class(library, name) for library, name, take in _KNOWN if take is _frame]
    return isinstance(value, tuple(kind for kind in classes if kind is not None))


def arrow_of(frame: Any) -> tuple[pa.Table, dict[str, str]]:
    """Convert the frame to Arrow. Of a column that holds several kinds of values it only says why it was
    not."""
    if isinstance(frame, pa.Table):
        return frame, {}
    if hasattr(frame, "to_arrow"):
        return frame.to_arrow(), {}
    columns: dict[str, Any] = {}
    unread: dict[str, str] = {}
    for place, name in enumerate(map(str, frame.columns)):
        if name in columns:
            raise InvalidInput(f"two columns of the frame are named {shown(name)}; rename one", field="graph")
        values = frame.iloc[:, place]
        try:
            columns[name] = pa.Array.from_pandas(values)
        except (pa.ArrowException, TypeError, OverflowError) as error:
            # Texts and integers together are ids: texts, as everywhere.
            if all(isinstance(each, str | Integral) and not isinstance(each, bool) for each in values):
                columns[name] = pa.array([str(each) for each in values], type=pa.string())
            else:
                unread[name] = str(error)
    return pa.table(columns), unread


def _own_nodes(found: Tables, nodes: object) -> Tables:
    """Take who is there from ``nodes`` where that is given, else from the object, which declares nobody.

    What declared nodes carry is the object's, unless a frame of them says it. InvalidInput where the object
    has a node that is not declared.
    """
    if nodes is None:
        return replace(found, declared_nodes=False)
    listed, counts = universe(nodes)
    own = found.nodes
    if own is None:
        (size,) = found.counts.values()
        own = numbered(size)
    if listed is None:
        listed = numbered(counts["node"])
    ids = listed["id"].cast(pa.string())
    missing = own["id"].filter(pc.invert(pc.is_in(own["id"], value_set=ids)))
    if len(missing):
        raise InvalidInput(
            f"the graph has the node {shown(missing[0].as_py())}, which nodes does not list", field="nodes"
        )
    place = pc.index_in(ids, value_set=own["id"])
    for name in own.column_names:
        if name not in listed.column_names:
            listed = listed.append_column(name, own[name].take(place))
    if counts and listed.num_columns == 1:
        return replace(found, nodes=None, counts=counts)
    return replace(found, nodes=listed, counts={})


def _said_twice(directed: bool | None, what: str) -> None:
    if directed is not None:
        raise InvalidInput(
            f"{what} says whether its edges have a direction; leave directed out", field="directed"
        )


_KNOWN: Sequence[tuple[str, str, Any]] = (
    ("networkx", "Graph", _networkx),
    ("igraph", "Graph", _igraph),
    ("scipy.sparse", "spmatrix", _matrix),
    ("scipy.sparse", "sparray", _matrix),
    ("torch_geometric.data", "HeteroData", _hetero),
    ("torch_geometric.data", "TemporalData", _temporal),
    ("torch_geometric.data", "Data", _data),
    ("pandas", "DataFrame", _frame),
    ("polars", "DataFrame", _frame),
    ("pyarrow", "Table", _frame),
    ("numpy", "ndarray", _array),
)
