"""What edges and nodes carry: how close synthetic values come, and what that costs.

    python -m benchmarks.attribute_tables RESULTS.jsonl --data FOLDER              every table
    python -m benchmarks.attribute_tables RESULTS.jsonl --data FOLDER --only values --runs 5
    python -m benchmarks.attribute_tables RESULTS.jsonl --data FOLDER --only labels --methods keyframe
    python -m benchmarks.attribute_tables RESULTS.jsonl --table

Only runs that RESULTS lacks are made. ``values``: read at epsilon, and drawn for the original's own edges, so
that nothing else is off. Rows "histogram": drawn from the noisy histogram alone, at all of epsilon.
``drawn``: a release of ``anchored`` at epsilon 2, half of it for values. ``learned``: releases
at a delta of 1e-5, a quarter of epsilon for values, by ``anchored`` with directions and by ``thepuff`` with a
utility discriminator, of bitcoin-alpha "in time": in five even steps, where other rows have none or eight.
``cost``: a generated graph, CPU seconds of reads and of one draw, without the structure, and the most memory
beside the graph's. ``labels``:
whole releases of ``dcsbm`` of graphs whose nodes have a protected class ("few papers": authors of more than
ten link none): a tenth of an edge's epsilon is for mixing, and a row costs as much epsilon as an edge.
Figures: the ``node_value_*`` metrics of docs/metrics.md, and errors of the structure as in
``benchmarks.regret``. "read": a release without classes, by labels that are read. With ``--methods`` also
what nodes carry by other methods, at epsilon 1: by ``anchored`` without evidence, also of polblogs with its
links' directions; by ``keyframe``, every edge at one of five steps, drawn at random, under ``event``.

TV or EMD: ``value_distance`` of docs/metrics.md; nodes: ``value_node_distance``; by step:
``value_step_total_variation``; correlation: the absolute
error of ``value_target_correlation``. Target means: the mean, over targets with ten edges and more in both
graphs, of |mean - original mean| of their edges' values; spread: the standard deviation of those means over
that of the original's. AUC: negative edges of the original told by the means of their source's and target's
edges, of the synthetic graph; of the original without the edge itself.

"radoslaw-email-every": every mail by itself, where "radoslaw-email" has one a pair and day. Of hours, "of
20": the mean TV over nodes, senders and recipients apart, with 20 edges and more in both graphs; "of 20, by
edge": weighted by their edges. Row "floor": every node's own hours drawn anew, as many as it has; what an
exact histogram of every node would give by independent draws.
"""

from __future__ import annotations

import argparse
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from benchmarks.public_groups import GRAPHS as CLASSED
from benchmarks.public_groups import loaded as with_classes
from benchmarks.regret_cells import errors_of
from benchmarks.results_file import Line, add, parser_of, read, run_or_print
from benchmarks.static_tables import release
from core.evaluation.node_values import compare_node_values
from core.evaluation.values import compare_values
from core.evaluation.view import UndirectedView
from core.graphs.graph import EdgeTable, EdgeValues, Graph, NodeTable
from core.graphs.schema import Attribute, EdgeType, GraphSchema, NodeType, Protection, TimeGrid
from core.graphs.schema.edge_attributes import EdgeAttribute
from core.graphs.schema.value_bins import bins_of
from core.methods._shared.values.draw import drawn_values
from core.methods._shared.values.fit import paid
from core.methods.base import PublicFacts, no_progress
from core.methods.registry import get
from core.privacy.accounting.events import NANO, Pure
from core.privacy.accounting.meter import MemoryRecorder, Meter
from core.privacy.accounting.plan import Allotment, PrivacyPlan
from core.privacy.entropy import noise_generator
from core.privacy.session.private_graph import PrivateGraph
from core.privacy.units import Unit

RUNS = 5
BUSY = 10
DAY = 24 * 60 * 60
EDGE = "edge"
MAILS, EVERY_MAIL = "radoslaw-email", "radoslaw-email-every"
TIMED = {"bitcoin-otc, in 8 steps": 8, "bitcoin-alpha, in 8 steps": 8, "bitcoin-alpha, in time": 5}
GRAPHS = ("bitcoin-otc", "bitcoin-alpha", *list(TIMED)[:2], MAILS, EVERY_MAIL)
OFTEN = 20
"""Edges of a node whose hours are compared beside those of BUSY ones."""
EPSILONS = (0.1, 0.5, 1, 2)
WARM = 2_000
"""Edges of a graph whose values are read and drawn before anything is timed."""
SIZES = (20_000, 1_000_000, 20_000_000)
FEW_PAPERS = "acm, few papers"
LABELLED = (*CLASSED, "acm", FEW_PAPERS)
MOST_PAPERS = 10
"""Papers of an author, of FEW_PAPERS, who links any."""
LABELS_AT = (0.1, 0.5, 1, 2)
SHARE = 0.1
METHODS: dict[str, dict[str, Any]] = {"dcsbm": {}, "anchored": {"evidence": "none"}, "keyframe": {}}
OTHERS_AT, STEPS = 1, 5
ONE_WAY = "polblogs, directed"
LEARNED: dict[str, dict[str, Any]] = {"anchored": {"spectral": True}, "thepuff": {"utility": True}}
LEARNED_AT, LEARNED_SHARE, DELTA = (4, 8), 0.25, 10**13
FIGURES = (
    *("TV or EMD", "nodes", "by step", "correlation", "target means", "spread", "AUC"),
    *("of 20", "of 20, by edge"),
)
TRUST = EdgeAttribute(name="trust", kind="integer", bounds=(-10, 10), aggregate="max")
HOUR = EdgeAttribute(name="hour", kind="time_of_day", aggregate="first", from_time=True)


def loaded(name: str, data: Path) -> Graph:
    """Directed: who trusts whom how much; or who writes to whom on which day, at what time of it. Of every
    mail, too: then its step is its second, of those in which there are some. ``TIMED``: trust in even steps
    of time.
    """
    if name not in (MAILS, EVERY_MAIL):
        market = name.partition(",")[0]
        path = data / market / f"soc-sign-{market.replace('-', '')}.csv"
        source, target, trust, at = np.loadtxt(path, delimiter=",", skiprows=1).astype(np.int64).T
        steps = TIMED.get(name)
        even = None if steps is None else (at - at.min()) * steps // (at.max() - at.min() + 1)
        return of_columns(source, target, trust, TRUST, even)
    rows = np.loadtxt(data / MAILS / "email.tsv", comments="%", usecols=(0, 1, 3)).astype(np.int64)
    rows = rows[np.argsort(rows[:, 2], kind="stable")]
    if name == EVERY_MAIL:
        second = np.unique(rows[:, 2], return_inverse=True)[1]
        return of_columns(rows[:, 0], rows[:, 1], rows[:, 2] % DAY, HOUR, second)
    day = rows[:, 2] // DAY
    return of_columns(rows[:, 0], rows[:, 1], rows[:, 2] % DAY, HOUR, day - day.min())


def of_columns(
    source: np.ndarray,
    target: np.ndarray,
    values: np.ndarray,
    attribute: EdgeAttribute,
    step: np.ndarray | None = None,
) -> Graph:
    """One directed relation among the nodes that are named; the first of several rows of an edge."""
    ids, ends = np.unique(np.concatenate([source, target]), return_inverse=True)
    relation = EdgeType(name=EDGE, directed=True, temporal=step is not None, attributes=(attribute,))
    time_grid = None if step is None else TimeGrid(count=int(step.max()) + 1)
    schema = GraphSchema(node_types=(NodeType(count=len(ids)),), edge_types=(relation,), time=time_grid)
    held = EdgeValues({attribute.name: values.astype(np.int32)})
    return Graph.build(schema, {}, {EDGE: EdgeTable(*np.split(ends, 2), step, held)})


def generated(edges: int) -> Graph:
    """Ten edges a node at random; every node gives and gets what is its own, on the average."""
    rng, nodes = np.random.default_rng(1), edges // 10
    ends = rng.integers(0, nodes, (2, edges))
    level = np.clip(0.5 + rng.normal(0, 0.15, nodes)[ends].sum(axis=0), 0, 0.999)
    return of_columns(ends[0], ends[1], np.floor(level * 21) - 10, TRUST, rng.integers(0, 8, edges))


def reads_of(graph: Graph, epsilon: float) -> tuple[Any, int, int]:
    """Metered reads of the graph's attribute, their nano-epsilon, and the steps."""
    relation, nano = graph.schema.edge_types[0], int(epsilon * NANO)
    cells = graph.schema.steps_of(EDGE)
    granted = tuple(Allotment(EDGE, step, Pure(nano, "values"), "values") for step in cells)
    unit = Unit.EVENT if relation.temporal else Unit.EDGE
    meter = Meter(PrivacyPlan("values", unit, None, graph.schema.steps, granted), MemoryRecorder())
    return PrivateGraph(graph, meter).edge_values(EDGE, relation.attributes[0].name), nano, len(cells)


def valued(graph: Graph, epsilon: float, row: str) -> tuple[Graph, tuple[float, float]]:
    """The same edges with synthetic values, and CPU seconds of reads and of the draw."""
    reads, nano, steps = reads_of(graph, epsilon)
    table, rng = graph.edges[EDGE].bare(), noise_generator()
    begun = time.process_time()
    if row == "histogram":
        share = np.maximum(reads.histogram(nano_epsilon=nano, purpose="histogram"), 0) + 1e-9
        read_at = time.process_time()
        places = rng.choice(len(share), table.count, p=share / share.sum())
        column = reads.bins.values(places, rng.random(table.count))
    else:
        tables = paid(reads, table, steps, nano)
        read_at = time.process_time()
        column = drawn_values(tables, table, reads.bins, reads.shape.undirected, rng)
    took = read_at - begun, time.process_time() - read_at
    held = EdgeValues({reads.bins.attribute.name: column})
    carried = EdgeTable(table.source, table.target, table.step, held)
    return Graph.build(graph.schema, {}, {EDGE: carried}), took


def released(graph: Graph, epsilon: float, name: str = "anchored", **asked: Any) -> Graph:
    """A release by that method; without ``asked`` edges and their values, half of epsilon for each."""
    method = get(name)
    params = method.Params(**(asked or {"attribute_share": 0.5}))
    unit = Unit.EVENT if graph.schema.temporal else Unit.EDGE
    delta = DELTA if name in LEARNED else 0
    facts = PublicFacts(graph.schema, unit, None, int(epsilon * NANO), delta, (EDGE,))
    plan = method.plan(params, facts)
    model = method.fit(PrivateGraph(graph, Meter(plan, MemoryRecorder())), plan, params, no_progress)
    return model.sample(noise_generator(), no_progress)


def protected(name: str, data: Path) -> Graph:
    """One of ``LABELLED``, its classes declared protected."""
    if name == ONE_WAY:
        graph = blogs(data / "polblogs")
    else:
        most = {"acm": None, FEW_PAPERS: MOST_PAPERS}
        graph = papers(data / "acm_heco", most[name]) if name in most else with_classes(name, data)
    column = graph.nodes["node"].attributes["group"]
    names = tuple(sorted(set(column.to_pylist())))
    group = Attribute(name="group", protection=Protection.PROTECTED, label=True, categories=names)
    kind = graph.schema.node_types[0].model_copy(update={"attributes": (group,)})
    return Graph(graph.schema.model_copy(update={"node_types": (kind,)}), graph.nodes, graph.edges)


def papers(folder: Path, most: int | None = None) -> Graph:
    """Papers of three fields, an edge where two have an author in common, of ``most`` papers at most where
    that is given: HeCo's ACM."""
    paper, author = np.loadtxt(folder / "pa.txt", dtype=np.int64, ndmin=2).T
    fields = np.load(folder / "labels.npy", allow_pickle=False).astype(np.int64)
    wrote = sp.csc_matrix((np.ones(len(paper)), (paper, author)), (len(fields), int(author.max()) + 1))
    if most is not None:
        wrote = wrote[:, np.diff(wrote.indptr) <= most]
    one, other = sp.triu(wrote @ wrote.T, 1).nonzero()
    return classed(one.astype(np.int64), other.astype(np.int64), fields, EdgeType())


def blogs(folder: Path) -> Graph:
    """Political blogs of two parties, an edge from each to those that it links to."""
    names, parties = np.loadtxt(folder / "labels.csv", delimiter=",", skiprows=1, dtype=np.int64).T
    ends = np.loadtxt(folder / "edges.csv", delimiter=",", skiprows=1, dtype=np.int64)
    order = np.argsort(names)
    source, target = np.searchsorted(names[order], ends).T
    return classed(source, target, parties[order], EdgeType(directed=True))


def classed(source: np.ndarray, target: np.ndarray, classes: np.ndarray, relation: EdgeType) -> Graph:
    """One relation among nodes of classes."""
    kind = NodeType(count=len(classes), attributes=(Attribute(name="group", label=True),))
    column = pa.array([f"group {each}" for each in classes])
    nodes = {"node": NodeTable(len(classes), None, {"group": column})}
    schema = GraphSchema(node_types=(kind,), edge_types=(relation,))
    return Graph.build(schema, nodes, {EDGE: EdgeTable(source, target)})


def in_time(graph: Graph) -> Graph:
    """The same with every edge at one of ``STEPS`` steps, drawn at random."""
    (relation,), table = graph.schema.edge_types, graph.edges[EDGE]
    timed = relation.model_copy(update={"temporal": True})
    schema = graph.schema.model_copy(update={"edge_types": (timed,), "time": TimeGrid(count=STEPS)})
    step = np.random.default_rng(1).integers(0, STEPS, table.count)
    return Graph.build(schema, graph.nodes, {EDGE: EdgeTable(table.source, table.target, step)})


def labelled(original: Graph, epsilon: float, row: str) -> dict[str, float]:
    """The figures of one release, with synthetic classes or without any: of others than ``dcsbm`` by name."""
    if row in METHODS:
        held, begun = in_time(original) if row == "keyframe" else original, time.process_time()
        synthetic = released(held, epsilon, row, node_attribute_share=SHARE, **METHODS[row])
        shown = carried(held, synthetic) | {"CPU s": time.process_time() - begun}
        return {name: round(float(value), 5) for name, value in shown.items()}
    asked = {} if row == "read" else {"node_attribute_share": SHARE}
    synthetic, seconds = release("dcsbm", original, epsilon, asked)
    found = errors_of(*(UndirectedView.of(graph.cell(EDGE, None)) for graph in (original, synthetic)))
    shown = {name: value for name, value in found.items() if value is not None}
    shown |= carried(original, synthetic) | {"CPU s": seconds}
    return {name: round(float(value), 5) for name, value in shown.items()}


def carried(original: Graph, synthetic: Graph) -> dict[str, float]:
    """How close synthetic classes come to those of the original; nothing without any."""
    shown = {}
    for each in compare_node_values(original, synthetic, original.schema.edge_types[0]):
        both = each["row"]["scalars"]["node_value_assortativity"]
        shown["homophily"], shown["true homophily"] = both["synthetic"], both["original"]
        shown |= {name: value for name, value in each["row"]["distances"].items() if value is not None}
    return shown


def figures(original: Graph, synthetic: Graph) -> dict[str, float]:
    """How far the synthetic values are from the original's; see the module."""
    attribute = original.schema.edge_types[0].attributes[0]
    row = compare_values(original, synthetic, original.schema.edge_types[0])[0]["row"]
    found = {
        "TV or EMD": row["distances"]["value_distance"],
        "nodes": row["distances"]["value_node_distance"],
    }
    if row["distances"].get("value_step_total_variation") is not None and attribute.numeric:
        found["by step"] = row["distances"]["value_step_total_variation"]
    if attribute.numeric:
        found["correlation"] = row["scalars"]["value_target_correlation"]["absolute_error"]
        (sums, counts), (drawn, others) = (sums_of(each, "target") for each in (original, synthetic))
        kept = (counts >= BUSY) & (others >= BUSY)
        means = sums[kept] / counts[kept], drawn[kept] / others[kept]
        found["target means"] = float(np.abs(means[0] - means[1]).mean())
        found["spread"] = float(means[1].std() / means[0].std())
        found["AUC"] = negatives_told(original, synthetic)
    else:
        found |= of_often(*(histograms(each) for each in (original, synthetic)))
    return {name: round(float(value), 5) for name, value in found.items()}


def histograms(graph: Graph) -> np.ndarray:
    """Count the edges of every source, then of every target, by bin."""
    table, nodes = graph.edges[EDGE], graph.nodes["node"].count
    fine = bins_of(graph.schema.edge_types[0].attributes[0])
    (column,) = table.values.columns.values()
    ends = np.concatenate([table.source, table.target + nodes]).astype(np.int64)
    places = ends * fine.count + np.tile(fine.places(column), 2)
    return np.bincount(places, minlength=2 * nodes * fine.count).reshape(-1, fine.count)


def of_often(ours: np.ndarray, theirs: np.ndarray, least: int = OFTEN) -> dict[str, float]:
    """The mean TV of nodes with ``least`` edges in both, and its mean over their edges in the first."""
    kept = (ours.sum(axis=1) >= least) & (theirs.sum(axis=1) >= least)
    ours, theirs = ours[kept], theirs[kept]
    sizes = ours.sum(axis=1)
    away = np.abs(ours / sizes[:, None] - theirs / theirs.sum(axis=1)[:, None]).sum(axis=1) / 2
    return {"of 20": float(away.mean()), "of 20, by edge": float(np.average(away, weights=sizes))}


def floor_of(original: Graph) -> dict[str, float]:
    """The figures of nodes' hours, each drawn anew from its own histogram."""
    ours = histograms(original)
    sizes = ours.sum(axis=1)
    shares = (ours + (sizes == 0)[:, None]) / (sizes + ours.shape[1] * (sizes == 0))[:, None]
    theirs = np.random.default_rng().multinomial(sizes, shares)
    found = {"nodes": of_often(ours, theirs, BUSY)["of 20"], **of_often(ours, theirs)}
    return {name: round(value, 5) for name, value in found.items()}


def sums_of(graph: Graph, side: str) -> tuple[np.ndarray, np.ndarray]:
    """The sum of each node's values on that side, and how many."""
    table = graph.edges[EDGE]
    nodes, count = getattr(table, side), graph.nodes["node"].count
    (column,) = table.values.columns.values()
    return np.bincount(nodes, weights=column, minlength=count), np.bincount(nodes, minlength=count)


def negatives_told(original: Graph, told_by: Graph) -> float:
    """The AUC of negative edges of the original, by the sum of their two nodes' means, a bit shrunk."""
    table = original.edges[EDGE]
    (values,) = table.values.columns.values()
    own = values.astype(np.float64) if told_by is original else np.zeros(len(values))
    less = 1.0 if told_by is original else 0.0
    mean = float(np.concatenate(list(told_by.edges[EDGE].values.columns.values())).mean())
    score = np.zeros(len(values))
    for side in ("source", "target"):
        nodes = getattr(table, side)
        sums, counts = sums_of(told_by, side)
        score += (sums[nodes] - own + mean) / (counts[nodes] - less + 1)
    negative = values < 0
    ranks = np.empty(len(score))
    ranks[np.argsort(score, kind="stable")] = np.arange(len(score))
    above = ranks[~negative].mean() - ranks[negative].mean()
    return float(0.5 + above / len(score))


def run_missing(asked: argparse.Namespace) -> None:
    """Make the runs that RESULTS lacks."""
    known = {
        (line["table"], line["graph"], line["epsilon"], line["row"], line["run"])
        for line in read(asked.results)
    }
    for table, name, epsilon, row in rows(asked.only, asked.methods):
        for run in range(asked.runs):
            if (table, name, epsilon, row, run) not in known:
                found = measured(table, name, epsilon, row, asked.data)
                line = {"table": table, "graph": name, "epsilon": epsilon, "row": row, "run": run}
                add(asked.results, line | {"figures": found})


def rows(only: str | None, methods: Sequence[str] = ("dcsbm",)) -> Iterator[tuple[str, str, float, str]]:
    """Every table, graph, epsilon and row."""
    for name in GRAPHS if only in (None, "values") else ():
        yield "values", name, 0, "original"
        if name in (MAILS, EVERY_MAIL):
            yield "values", name, 0, "floor"
        for epsilon in EPSILONS:
            for row in ("histogram", "this"):
                yield "values", name, epsilon, row
    for name in GRAPHS[:4] if only in (None, "drawn") else ():
        yield "drawn", name, 2, "this"
    for epsilon in LEARNED_AT if only in (None, "learned") else ():
        for method in LEARNED:
            yield "learned", "bitcoin-alpha, in time", epsilon, method
    for name in LABELLED if only in (None, "labels") else ():
        for epsilon in LABELS_AT if "dcsbm" in methods else ():
            for row in ("read", "this"):
                yield "labels", name, epsilon, row
    for method in methods if only in (None, "labels") else ():
        for name in (*LABELLED, *([ONE_WAY] if method == "anchored" else [])) if method != "dcsbm" else ():
            yield "labels", name, OTHERS_AT, method
    for size in SIZES if only in (None, "cost") else ():
        yield "cost", str(size), 1, "this"


def measured(table: str, name: str, epsilon: float, row: str, data: Path) -> dict[str, float]:
    """The figures of one run."""
    if table == "cost":
        valued(generated(WARM), epsilon, row)
        graph = generated(int(name))
        Path("/proc/self/clear_refs").write_text("5")  # forgets the largest memory
        before = mebibytes("VmRSS")
        _, (reading, drawing) = valued(graph, epsilon, row)
        most = mebibytes("VmHWM") - before
        return {"reads": round(reading, 2), "draw": round(drawing, 2), "MiB": round(most)}
    if table == "labels":
        return labelled(protected(name, data), epsilon, row)
    if table == "learned":
        original, share = loaded(name, data), {"attribute_share": LEARNED_SHARE}
        return figures(original, released(original, epsilon, row, **LEARNED[row], **share))
    original = loaded(name, data)
    if row == "floor":
        return floor_of(original)
    if row == "original":
        return figures(original, original)
    return figures(
        original, released(original, epsilon) if table == "drawn" else valued(original, epsilon, row)[0]
    )


def mebibytes(figure: str) -> float:
    """The memory of this process, as Linux names the figure."""
    status = Path("/proc/self/status").read_text()
    return int(next(line for line in status.splitlines() if line.startswith(figure)).split()[1]) / 1024


def tables(lines: list[Line]) -> Iterator[str]:
    """Every table as Markdown: means over runs."""
    found: dict[tuple[str, str], dict[tuple[float, str], list[dict[str, float]]]] = defaultdict(dict)
    for line in lines:
        of_row = found[line["table"], line["graph"]].setdefault((line["epsilon"], line["row"]), [])
        of_row.append(line["figures"])
    for (table, name), by_row in found.items():
        known = {each: None for runs in by_row.values() for each in runs[0]}
        columns = [each for each in (*FIGURES, "reads", "draw", "MiB") if each in known]
        columns += [each for each in known if each not in columns]
        yield f"\n{table}, {name}\n\n| epsilon | row | {' | '.join(columns)} | runs |"
        yield "|---" * (len(columns) + 3) + "|"
        for (epsilon, row), runs in sorted(by_row.items()):
            shown = [mean_of([run[each] for run in runs if each in run]) for each in columns]
            yield f"| {epsilon:g} | {row} | {' | '.join(shown)} | {len(runs)} |"


def mean_of(values: list[float]) -> str:
    """Print a mean to three digits; "-" where nothing was measured."""
    return f"{np.mean(values):.3f}".lstrip("0") if values else "-"


def main() -> None:
    parser = parser_of(__doc__)
    parser.add_argument("--only", choices=("values", "drawn", "learned", "labels", "cost"))
    parser.add_argument("--methods", nargs="+", choices=tuple(METHODS), default=["dcsbm"])
    parser.add_argument("--runs", type=int, default=RUNS)
    asked = parser.parse_args()
    run_or_print(parser, asked, run_missing, tables)


if __name__ == "__main__":
    main()
