"""Several methods on one public graph over several epsilons, compared with the original."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from graphveil.local import engine
from graphveil.local.budget import Budget
from graphveil.local.progress import shown
from graphveil.local.synthesis import Amount, Columns, Schema, _Asked, _store
from graphveil.problems import InvalidInput


@dataclass(frozen=True)
class Compared:
    """``rows``: a row for each method, epsilon, run and metric, with ``original``, ``synthetic`` and the
    ``error`` (of a distance: only that).
    """

    rows: Sequence[Mapping[str, Any]]

    def table(self, metric: str) -> dict[str, dict[str, float | None]]:
        """Average the error of one metric over the runs, by method and epsilon. KeyError for another name."""
        found: dict[str, dict[str, list[float]]] = {}
        for row in self.rows:
            if row["metric"] == metric:
                kept = found.setdefault(row["method"], {}).setdefault(row["epsilon"], [])
                if row["error"] is not None:
                    kept.append(row["error"])
        if not found:
            known = ", ".join(dict.fromkeys(row["metric"] for row in self.rows))
            raise KeyError(f"there is no metric {metric!r}; there are {known}")
        return {
            method: {epsilon: sum(each) / len(each) if each else None for epsilon, each in by_epsilon.items()}
            for method, by_epsilon in found.items()
        }

    def _repr_html_(self) -> str:
        parts = []
        for metric in dict.fromkeys(row["metric"] for row in self.rows):
            table = self.table(metric)
            epsilons = list(dict.fromkeys(each for by_epsilon in table.values() for each in by_epsilon))
            head = "".join(f"<th>{escape(each)}</th>" for each in epsilons)
            body = "".join(
                f"<tr><td>{escape(method)}</td>"
                + "".join(f"<td>{_short(found.get(e))}</td>" for e in epsilons)
                + "</tr>"
                for method, found in table.items()
            )
            parts.append(f"<tr><th>{escape(metric)}</th>{head}</tr>{body}")
        return f"<table>{''.join(parts)}</table>"


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.3g}"


def compare(
    graph: object,
    methods: Sequence[str],
    epsilons: Sequence[Amount],
    *,
    public: bool = False,
    runs: int = 1,
    suite: str = "quick",
    nodes: object = None,
    schema: Schema = None,
    directed: bool | None = None,
    columns: Columns = None,
    format: str | None = None,
    options: Mapping[str, Any] | None = None,
    unit: str | None = None,
    window: int | None = None,
    delta: Amount = 0,
    parameters: Mapping[str, Mapping[str, Any]] | None = None,
    progress: bool = True,
) -> Compared:
    """Release a graph that is known to all by each method at each epsilon, and compare with the original.

    For public graphs only, which ``public=True`` says: to choose by a comparison with a private original
    reveals what no epsilon bounds.
    The graph is given as to :func:`graphveil.synthesize`.
    ``parameters`` are given by method. ``suite``: ``quick``, ``standard`` or ``full``. Raises what
    :func:`graphveil.synthesize` does.

        >>> import networkx as nx
        >>> found = compare(nx.karate_club_graph(), ["dgg", "tmf"], [1], public=True, progress=False)
        >>> sorted(found.table("degree_total_variation"))
        ['dgg', 'tmf']
    """
    if not public:
        raise InvalidInput(
            "a comparison with a private graph reveals what no epsilon bounds: say public=True of a graph "
            "that is known to all, or compare methods on a public graph that is like yours",
            field="public",
        )
    suites = engine.part("evaluation.metric").Suite
    try:
        level = suites(suite)
    except ValueError:
        known = ", ".join(suites)
        raise InvalidInput(f"a suite is one of {known}", field="suite") from None
    alone, evaluate = engine.part("publishing.alone"), engine.part("publishing.evaluate")
    rows = []
    with tempfile.TemporaryDirectory(prefix="graphveil-") as private, shown(progress) as tell:
        folder = Path(private)
        said = engine.part("graphs.ingest.framed").Said(columns, format, options)
        stored = _store(graph, folder / "graph", nodes, schema, directed, said, True)
        original = engine.part("graphs.stored.whole").read_graph(folder / "graph")
        for method in methods:
            own = (parameters or {}).get(method)
            for epsilon in epsilons:
                asked = _Asked(epsilon, delta, unit, window, method, own, None, (), None, True)
                task = asked.settled(stored, Budget.unlimited())
                for run in range(runs):
                    out = folder / f"{method}-{epsilon}-{run}"
                    alone.make_alone(task, folder / "graph", out, None, tell)
                    rows += [
                        {"method": method, "epsilon": str(epsilon), "run": run, **row}
                        for row in evaluate.compared(original, out, level, tell)
                    ]
    return Compared(rows)
