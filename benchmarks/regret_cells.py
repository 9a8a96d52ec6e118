"""Runs of methods on static graphs, one line a run in a file that lives on between calls.

A cell is a graph, an epsilon and a setting (a method with its parameters, at its version). The cells of one
graph and epsilon share a child process, which the kernel ends when a release takes more CPU seconds than are
allowed; that is written down as well, and the cells behind it go on in a fresh child.
"""

from __future__ import annotations

import json
import multiprocessing
import resource
import signal
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from benchmarks.graphs import community_graph
from benchmarks.method_versions import version_of
from benchmarks.results_file import Line, read
from benchmarks.static_tables import release
from core.evaluation.compare import compared
from core.evaluation.metric import Suite
from core.evaluation.view import UndirectedView
from core.graphs.graph import Graph

Loader = Callable[[str], Graph]
WARM_NODES, WARM_EDGES = 500, 2_500

ABSOLUTE, RELATIVE, DISTANCE, MISSING = "absolute error", "relative error", "distance", "1 - closeness"

# metric: its title, and what of it is the error
MEASURES: dict[str, tuple[str, str]] = {
    "degree_total_variation": ("degree TV", DISTANCE),
    "transitivity": ("transitivity RE", RELATIVE),
    "mean_local_clustering": ("local clustering RE", RELATIVE),
    "modularity": ("modularity RE", RELATIVE),
    "assortativity": ("assortativity, absolute", ABSOLUTE),
    "top_eigenvector_overlap": ("1 - top-1 % overlap", MISSING),
    "partition_nmi_above_chance": ("1 - NMI above chance", MISSING),
    "density": ("density RE", RELATIVE),
    "degree_spearman": ("1 - Spearman of degrees", MISSING),
    "top_pagerank_overlap": ("PageRank top 1 % missed", MISSING),
    "distance_total_variation": ("distance TV", DISTANCE),
    "clustering_by_degree": ("c(k)", DISTANCE),
    "core_total_variation": ("k-core TV", DISTANCE),
    "spectral_radius": ("spectral radius RE", RELATIVE),
    "motif_4_cycle": ("4-cycles RE", RELATIVE),
}


@dataclass(frozen=True)
class Setting:
    """A method with parameters, by the name that it has in tables; ``version``: of the method's code."""

    label: str
    method: str
    parameters: Mapping[str, Any] = field(default_factory=dict)
    version: str = ""

    @classmethod
    def of(cls, method: str, parameters: Mapping[str, Any] | None = None, label: str = "") -> Setting:
        """The setting as the code stands now, named after what it sets where it has no name."""
        set_to = dict(parameters or {})
        named = ":".join([method, *([json.dumps(set_to, sort_keys=True)] if set_to else [])])
        return cls(label or named, method, set_to, version_of(method))

    def made(self, line: Line, any_version: bool = False) -> bool:
        """Whether the line is of a run of this setting."""
        same = line["method"] == self.method and line["parameters"] == dict(self.parameters)
        return same and (any_version or line["version"] == self.version)


Todo = list[tuple[Setting, int]]


@dataclass(frozen=True)
class Plan:
    """What is wanted. ``limit``: CPU seconds of one release. ``kept``: methods that count at any version."""

    graphs: Sequence[str]
    epsilons: Sequence[float]
    settings: Sequence[Setting]
    runs: int
    limit: int
    kept: frozenset[str] = frozenset()

    def missing(self, lines: Sequence[Line], graph: str, epsilon: float) -> Todo:
        """Settings that lack runs there, with how many; none that are known to take too long."""
        here = [line for line in lines if (line["graph"], line["epsilon"]) == (graph, epsilon)]
        found = []
        for setting in self.settings:
            own = of_setting(here, setting, self.kept)
            over = any(line.get("over_cpu_seconds", 0) >= self.limit for line in own)
            lacking = self.runs - sum("errors" in line for line in own)
            if lacking > 0 and not over:
                found.append((setting, lacking))
        return found


@dataclass(frozen=True)
class Work:
    """What one child is to do: on a graph at an epsilon, so many runs of each setting."""

    graph: str
    epsilon: float
    todo: tuple[tuple[Setting, int], ...]
    limit: int

    def name(self, setting: Setting) -> str:
        return f"{self.graph} epsilon {self.epsilon:g} {setting.label}"

    def key(self, setting: Setting) -> Line:
        """What a line says of the cell that it is of."""
        return {
            "graph": self.graph,
            "epsilon": self.epsilon,
            "method": setting.method,
            "parameters": dict(setting.parameters),
            "version": setting.version,
        }


def of_setting(lines: Iterable[Line], setting: Setting, kept: frozenset[str] = frozenset()) -> list[Line]:
    """The lines of its version, or of the last version that was measured where its method is ``kept``."""
    own = [line for line in lines if setting.made(line, setting.method in kept)]
    return [line for line in own if line["version"] == own[-1]["version"]]


def errors_of(original: UndirectedView, synthetic: UndirectedView) -> dict[str, float | None]:
    """The error of every measure; None where it is undefined."""
    row = compared(original, synthetic, Suite.STANDARD, only=MEASURES.keys())
    found = {}
    for name, (_, kind) in MEASURES.items():
        value = row["distances"].get(name)
        if kind is MISSING and value is not None:
            value = 1 - value
        elif kind is not DISTANCE and kind is not MISSING:
            value = row["scalars"][name]["absolute_error" if kind is ABSOLUTE else "relative_error"]
        found[name] = value
    return found


def run_missing(plan: Plan, results: Path, load: Loader, tell: Callable[[str], None] = print) -> None:
    """Every cell has its runs in ``results`` or a line that says that it took too long.

    A cell that failed for another reason is told of, and is tried again by the next call. Raises RuntimeError
    where a method's code changes meanwhile: its runs would stand under the wrong version.
    """
    results.parent.mkdir(parents=True, exist_ok=True)
    for epsilon in plan.epsilons:
        for graph in plan.graphs:
            todo = plan.missing(read(results), graph, epsilon)
            while todo:
                todo = _rest(Work(graph, epsilon, tuple(todo), plan.limit), results, load, tell)


def _rest(work: Work, results: Path, load: Loader, tell: Callable[[str], None]) -> Todo:
    """What is left to do when one child has ended: nothing, or all behind the cell that it ended in."""
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_measure, args=(theirs, work, load), daemon=True)
    child.start()
    theirs.close()
    _require_unchanged(setting for setting, _ in work.todo)
    waiting = Counter({place: runs for place, (_, runs) in enumerate(work.todo)})
    while True:
        try:
            place, line = ours.recv()
        except EOFError:
            break
        _require_unchanged([work.todo[place][0]])
        _add(results, line)
        waiting[place] -= 1
        if not waiting[place]:
            setting, runs = work.todo[place]
            tell(f"{work.name(setting)}: {runs} runs, {line['cpu_seconds']:.2f} CPU s")
    child.join()
    unfinished = [place for place, runs in sorted(waiting.items()) if runs > 0]
    if not unfinished:
        return []
    setting = work.todo[unfinished[0]][0]
    if child.exitcode == -signal.SIGXCPU:
        _add(results, work.key(setting) | {"over_cpu_seconds": work.limit})
        tell(f"{work.name(setting)}: left out, a release took over {work.limit} CPU s")
    else:
        tell(f"{work.name(setting)}: failed, the child ended with {child.exitcode}")
    return [work.todo[place] for place in unfinished[1:]]


def _require_unchanged(settings: Iterable[Setting]) -> None:
    for setting in settings:
        if version_of(setting.method) != setting.version:
            raise RuntimeError(
                f"the code of {setting.method} has changed since this call began: run it from a checkout "
                "that stays as it is"
            )


def _measure(to: Connection, work: Work, load: Loader) -> None:
    """Sends a line for every run. Kernels are compiled or loaded on a small graph first."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    original = load(work.graph)
    small = community_graph(WARM_NODES, WARM_EDGES)
    view = UndirectedView.of(original.cell("edge", None))
    sizes = {"nodes": view.node_count, "edges": view.edge_count}
    for place, (setting, runs) in enumerate(work.todo):
        parameters = dict(setting.parameters)
        _allow(work.limit)
        release(setting.method, small, work.epsilon, parameters)
        for _ in range(runs):
            _allow(work.limit)
            synthetic, seconds = release(setting.method, original, work.epsilon, parameters)
            _allow(None)
            started = time.process_time()
            errors = errors_of(view, UndirectedView.of(synthetic.cell("edge", None)))
            costs = {"cpu_seconds": seconds, "scoring_cpu_seconds": time.process_time() - started}
            to.send((place, work.key(setting) | sizes | {"errors": errors} | costs))


def _allow(seconds: int | None) -> None:
    """The kernel ends this process after so many CPU seconds more; None: it does not."""
    _, most = resource.getrlimit(resource.RLIMIT_CPU)
    until = resource.RLIM_INFINITY if seconds is None else int(time.process_time()) + 1 + seconds
    resource.setrlimit(resource.RLIMIT_CPU, (until, most))


def _add(path: Path, line: Line) -> None:
    with path.open("a") as file:
        file.write(json.dumps(line) + "\n")
