"""A release made on this machine. It follows the plan, the meter and the law of the service."""

from __future__ import annotations

import json
import tempfile
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, fields
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from graphveil.amounts import format_delta, format_epsilon, plain
from graphveil.local import engine
from graphveil.local.budget import Budget
from graphveil.local.progress import shown
from graphveil.local.release import Release
from graphveil.problems import InvalidInput

Amount = str | int | float
Columns = Mapping[str, Any] | str | Sequence[str] | None
Schema = Mapping[str, Any] | str | PathLike[str] | None


def synthesize(
    graph: object,
    epsilon: Amount,
    *,
    budget: Budget | None = None,
    nodes: object = None,
    schema: Schema = None,
    directed: bool | None = None,
    columns: Columns = None,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    unit: str | None = None,
    window: int | None = None,
    delta: Amount | None = None,
    method: str | Mapping[str, Any] = "auto",
    parameters: Mapping[str, Any] | None = None,
    edge_types: Sequence[str] | None = None,
    formats: Sequence[str] = (),
    public: bool = False,
    seed: int | None = None,
    size: Mapping[str, int] | None = None,
    progress: bool = True,
) -> Release:
    """Publish a synthetic graph under differential privacy.

    It is one of ``graph``, and the budget is charged for it.

    ``graph``: a NetworkX graph, a SciPy sparse matrix (n, n) or between two sorts of nodes (n, m), a
    torch_geometric ``Data``, ``HeteroData`` or ``TemporalData``, an edge list as a pandas or Polars frame or
    an Arrow table (columns ``source`` and ``target``), an igraph graph, or the path of a file that the
    service takes. The nodes are public: ``nodes`` declares who is there (a count, ids, a frame or file with
    the column ``id``). Edge lists must have it; other objects have nodes of their own, which may be those
    that have an edge: the release says so where nobody declared them.

    Without a ``schema`` (as the service takes it: a mapping, or the path of a JSON file) only the object's
    type is heeded: what nodes and edges carry is not read, and times need a schema with their grid. What the
    schema does not declare is never read. ``directed`` is for objects whose type does not say.

    ``columns`` say what the columns of a file or frame are, by name or by number from 1:
    ``{"source": "caller", "target": "callee", "time": "when"}``, or ``"source=caller,target=callee"``. For a
    file or frame of ``nodes`` too: ``{"edges": {...}, "nodes": {"id": "person"}}``. ``format`` is a
    file's where its name does not tell; ``options`` are those of the format, such as ``delimiter``.

    ``budget``: a :class:`~graphveil.Budget`, or ``Budget.unlimited()``. ``unit`` and ``window`` are the
    budget's unless given, else ``edge``, or ``event`` where there is time. ``epsilon``, ``delta``,
    ``method``, ``parameters``, ``edge_types`` and ``formats`` are those of a job. ``format`` names that of a
    file whose name does not end with it, ``options`` are those of its format. ``public``: the graph is
    known to all: then the schema may be read off the data, ``seed`` and methods without a guarantee are
    taken, and no budget is needed. ``size``: ``{"nodes": 10_000}`` draws the fitted law at another number of
    nodes, where the method can; it costs nothing more.

        >>> import networkx as nx
        >>> release = synthesize(nx.karate_club_graph(), 2, budget=Budget.unlimited(), progress=False)
        >>> release.graph.to_networkx().number_of_nodes()
        34
        >>> release.report["guarantee"]["epsilon"]
        '2'

    Raises EngineMissing, and the service's own errors (``core.errors``, with their members): InvalidInput,
    NotAccepted, UnknownMethod, UnknownFormat, IngestRejected with findings, KindNotAllowed, UnitMismatch,
    BudgetExceeded, AccountBlocked, StorageError. What is refused before the graph is opened costs nothing;
    what fails afterwards is charged.
    """
    asked = _Asked(
        epsilon, delta, unit, window, method, parameters, edge_types, formats, seed, public, _nodes(size)
    )
    alone = engine.part("publishing.alone")
    said = engine.part("graphs.ingest.framed").Said(columns, format, options)
    chosen = _budget(budget, public)
    with tempfile.TemporaryDirectory(prefix="graphveil-") as private, shown(progress) as tell:
        folder = Path(private)
        stored = _store(graph, folder / "graph", nodes, schema, directed, said, public)
        task = asked.settled(stored, chosen)
        alone.make_alone(task, folder / "graph", folder / "out", chosen.account, tell)
        kept = tempfile.TemporaryDirectory(prefix="graphveil-release-")
        target = Path(kept.name) / "release"
        (folder / "out" / "release").replace(target)
    return Release(target, temporary=kept)


@dataclass(frozen=True)
class Plan:
    """What a release would cost and read.

    It is a function of public facts only. ``epsilon`` and ``delta`` are decimal strings, None where there is
    no guarantee.

    ``reads``: a row for each metered read, with ``edge_type``, ``step`` and ``purpose``. ``precision``: how
    near each paid figure will be (``query``, ``quantity``, ``within``, ``confidence``); ``expected``: what
    that means for common questions (``question``, ``value``, ``unit``, ``method``). ``protects``: what one
    unit is, in words.
    """

    method: str
    chosen_because: str | None
    kind: str
    epsilon: str | None
    delta: str
    unit: str
    parameters: Mapping[str, Any]
    reads: Sequence[Mapping[str, Any]]
    precision: Sequence[Mapping[str, Any]]
    expected: Sequence[Mapping[str, Any]]
    digest: str
    protects: str


def plan(
    graph: object,
    epsilon: Amount,
    *,
    budget: Budget | None = None,
    nodes: object = None,
    schema: Schema = None,
    directed: bool | None = None,
    columns: Columns = None,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    unit: str | None = None,
    window: int | None = None,
    delta: Amount | None = None,
    method: str | Mapping[str, Any] = "auto",
    parameters: Mapping[str, Any] | None = None,
    edge_types: Sequence[str] | None = None,
    assume: Mapping[str, Any] | None = None,
    public: bool = False,
) -> Plan:
    """Plan what :func:`synthesize` would do and cost.

    It follows the same rules; nothing is reserved, read or charged.

    ``assume``: guesses for what is relative, such as ``{"edges": 90_000}``.

    >>> import networkx as nx
    >>> plan(nx.karate_club_graph(), 2).method
    'dcsbm'
    """
    asked = _Asked(epsilon, delta, unit, window, method, parameters, edge_types, (), None, public)
    known = _checked(budget) or Budget.unlimited()
    said = engine.part("graphs.ingest.framed").Said(columns, format, options)
    with tempfile.TemporaryDirectory(prefix="graphveil-") as private:
        stored = _store(graph, Path(private) / "graph", nodes, schema, directed, said, public)
    task = asked.settled(stored, known)
    settled, cost = task.settled, task.settled.plan.cost()
    precision, expected = _predicted(task, stored, assume)
    return Plan(
        method=settled.generator.name,
        chosen_because=settled.chosen_because,
        kind=str(cost.kind),
        epsilon=None if cost.nano_epsilon is None else format_epsilon(cost.nano_epsilon),
        delta=format_delta(cost.delta_atto),
        unit=str(settled.plan.unit),
        parameters=settled.params.model_dump(mode="json"),
        reads=[
            {"edge_type": each.edge_type, "step": each.step, "purpose": each.purpose}
            for each in settled.plan.allotments
        ],
        precision=precision,
        expected=expected,
        digest=settled.plan.digest(),
        protects=engine.part("privacy.accounting.guarantee").unit_of(settled.plan),
    )


def _predicted(task: Any, stored: Any, assume: Mapping[str, Any] | None) -> tuple[list[Any], list[Any]]:
    """Predict, from public facts, how near paid figures will be."""
    questions = engine.part("workflows.jobs.questions")
    try:
        guesses = None if assume is None else questions.Assume.model_validate(plain(assume))
    except ValueError as error:
        raise InvalidInput(f"assume takes the sizes edges and nodes: {error}", field="assume") from error
    found = questions.told(
        task.settled.generator,
        task.settled.params,
        task.settled.plan,
        stored.schema,
        stored.nodes,
        guesses,
        task.facts.edge_types,
    )
    precision, expected = ([each.model_dump(mode="json") for each in part] for part in found)
    return precision, expected


@dataclass(frozen=True)
class _Asked:
    """What a caller asks, before it is known which graph it is asked for."""

    epsilon: Amount
    delta: Amount | None
    unit: str | None
    window: int | None
    method: str | Mapping[str, Any]
    parameters: Mapping[str, Any] | None
    edge_types: Sequence[str] | None
    formats: Sequence[str]
    seed: int | None
    public: bool
    drawn: int | None = None

    def __post_init__(self) -> None:
        for each in fields(self):
            object.__setattr__(self, each.name, plain(getattr(self, each.name)))

    def settled(self, stored: Any, budget: Budget) -> Any:
        """Settle the release: what is left out follows from the budget and the schema."""
        units, alone = engine.part("privacy.units"), engine.part("publishing.alone")
        unit, window = self.unit, self.window
        if unit is None and budget.account is not None:
            unit = budget.unit
            window = budget.window if window is None else window
        if unit is None:
            usual = "event" if stored.schema.temporal else "edge"
            unit = usual if stored.schema.protected_type is None else "node"
        try:
            named = units.Unit(unit)
        except ValueError:
            known = ", ".join(units.Unit)
            raise InvalidInput(f"a unit is one of {known}", field="unit") from None
        asked = alone.Asked(
            epsilon=self.epsilon,
            delta=self.delta,
            unit=named,
            window=window,
            method=self.method,
            parameters=dict(self.parameters or {}),
            edge_types=None if self.edge_types is None else list(self.edge_types),
            formats=list(self.formats),
            seed=self.seed,
            public=self.public,
            nodes=self.drawn,
        )
        return alone.plan_alone(stored.schema, stored.nodes, asked, budget.account, stored.derived)


def _nodes(size: Mapping[str, int] | None) -> int | None:
    """Return the number of nodes of a size; InvalidInput for anything else."""
    if size is None:
        return None
    wanted = size.get("nodes") if isinstance(size, Mapping) and len(size) == 1 else None
    if not isinstance(wanted, int) or isinstance(wanted, bool) or wanted < 2:
        raise InvalidInput('size is {"nodes": N}, N at least 2', field="size")
    return wanted


def _checked(budget: object) -> Budget | None:
    """Return the budget; InvalidInput says how to make one where it is something else."""
    if budget is None or isinstance(budget, Budget):
        return budget
    raise InvalidInput(
        f"budget must be a graphveil.Budget, not {type(budget).__name__}; open one with "
        'graphveil.Budget("budget.json", epsilon=4), or take graphveil.Budget.unlimited()',
        field="budget",
    )


def _budget(budget: Budget | None, public: bool) -> Budget:
    budget = _checked(budget)
    if budget is None and not public:
        raise InvalidInput(
            'name the budget that is charged: graphveil.Budget("budget.json", epsilon=4), or '
            "graphveil.Budget.unlimited() where somebody else keeps one",
            field="budget",
        )
    return budget or Budget.unlimited()


def _store(
    graph: object,
    folder: Path,
    nodes: object,
    schema: Schema,
    directed: bool | None,
    said: Any,
    public: bool,
) -> Any:
    """Check the graph by the rules of uploads, and store it in ``folder``; what is public of it."""
    stored = engine.part("graphs.ingest.assembled_objects").store(
        _path(graph),
        folder,
        schema=schema_of(schema),
        nodes=_path(nodes),
        directed=directed,
        public=public,
        said=said,
    )
    for each in stored.remarks:
        warnings.warn(each, stacklevel=3)
    return stored


def _path(value: object) -> object:
    return Path(fspath(value)) if isinstance(value, PathLike) else value


def schema_of(schema: Schema) -> Any:
    """Validate a schema. InvalidInput of the engine, which names the first field that is wrong."""
    if schema is None:
        return None
    if isinstance(schema, (str, PathLike)):
        try:
            schema = json.loads(Path(fspath(schema)).read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InvalidInput(f"the schema cannot be read: {error}", field="schema") from error
    model = engine.part("graphs.schema").GraphSchema
    if isinstance(schema, model):
        return schema
    try:
        return model.model_validate(plain(schema))
    except ValueError as error:
        first = error.errors()[0] if hasattr(error, "errors") else {"loc": (), "msg": str(error)}
        where = ".".join(["schema", *(str(each) for each in first["loc"])])
        raise InvalidInput(f"{where}: {first['msg']}", field=where) from error
