"""HeteSDG's experiment on any typed graph: links and nodes told (Table 3), ablations (Figure 3), split (5a).

    python -m papers.hetesdg --quick --data edges.csv --schema schema.json --nodes nodes.csv
    python -m papers.hetesdg --set acm=FOLDER --out OUT

Each run is a line of OUT/hetesdg.jsonl: the same command again makes only the runs that are missing. At its
end OUT has hetesdg.md, hetesdg.csv and hetesdg.svg (AUC by epsilon, and the loss of links by step).
``--data`` is a file that the service takes; a node type has public columns, and one of them may be its label.
``--set`` is a public set, acm or imdb, from the folder that holds the public data; its printed numbers stand
beside (Table 3). A seed chooses split and non-links; the noise has none.

Links: AUC in percent on a fifth of a relation's links. leaky: the model has seen them, as in the published
program; held out: they are gone before. Nodes: macro F1 of a logistic regression, four fifths of the classes
known, of TopoGDP's latents (z) of all relations, of FeatADP's noisy vectors (h), and of public features with
h beside them. ``ours`` has no z: h is what its embedding adds to the features. RGCN, HGT, HANConv (for
HGConv) and metapath2vec are there where PyTorch Geometric is; their nodes stand under h. ``on our graph``:
the same networks learn from a synthetic graph of ``hetesdg``, and are asked for true links and classes.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from benchmarks.line_plots import panels
from benchmarks.link_splits import Split, split_links
from benchmarks.representations import row_classification, unit_features
from benchmarks.results_file import Line, read
from core.errors import GraphveilError
from core.graphs.graph import Graph
from core.graphs.schema import Protection
from core.methods.base import no_progress
from core.privacy.entropy import noise_generator
from papers._shared.benchmarks.reproduce import (
    by_cell,
    keep,
    name_of,
    own_graph,
    own_schema,
    parser_of,
    thinned,
    write,
)
from papers.hetesdg.benchmarks import typed_networks
from papers.hetesdg.benchmarks.data import DATASETS, load
from papers.hetesdg.benchmarks.reported import LINKS, NODES, PAPER
from papers.hetesdg.benchmarks.rows import ONE_HOP, Row, fitted
from papers.hetesdg.inputs import leading, matrix_of

METRICS = {
    "leaky": "links, leaky",
    "held_out": "links, held out",
    "latents": "nodes by z",
    "vectors": "nodes by h",
    "beside": "nodes by features and h",
}
OF_EPSILON = "claimed_epsilon"
KNOWN = 0.8
PRESET: dict[str, Any] = {"preset": "paper", "release": ("embedding",)}
PUBLISHED = "HeteSDG"
SYSTEMS: dict[str, Row] = {
    PUBLISHED: Row("hetesdg", PRESET, of_epsilon=OF_EPSILON),
    "HeteSDG, epsilon halved": Row("hetesdg", PRESET | {"split": "equal"}, of_epsilon=OF_EPSILON),
    "HeteSDG, without TopoGDP": Row("hetesdg", PRESET | {"noise": "features"}, of_epsilon=OF_EPSILON),
    "HeteSDG, without FeatADP": Row("hetesdg", PRESET | {"noise": "topology"}, of_epsilon=OF_EPSILON),
    "HeteDP": Row("hetedp", PRESET, of_epsilon=OF_EPSILON),
    "HeteSDG, variant paper": Row(
        "hetesdg", {"variant": "paper", "release": ("embedding",)}, of_epsilon=OF_EPSILON
    ),
    "ours": Row("hetesdg", {"release": ("embedding",)}),
}
FREE = {
    "HeteDP, pure": Row("hetedp", PRESET | {"noise": "none"}, of_epsilon=OF_EPSILON),
    "HeteSDG, pure": Row("hetesdg", PRESET | {"noise": "none"}, of_epsilon=OF_EPSILON),
}
NETWORKS: dict[str, None] = dict.fromkeys(typed_networks.NAMES) if typed_networks.THERE else {}
ON_RELEASE = " on our graph"
ON_RELEASES: dict[str, None] = dict.fromkeys(name + ON_RELEASE for name in NETWORKS)
"""The networks again, which see the graph that ``hetesdg`` releases by default in place of the true one."""
RELEASED = Row("hetesdg", {"release": ("graph",)})
UNPAID: dict[str, Row | None] = {**FREE, **NETWORKS}
"""Without noise: one row for all epsilons, printed at 0."""
PAID: dict[str, Row | None] = {**SYSTEMS, **ON_RELEASES}
ALL: dict[str, Row | None] = {**PAID, **UNPAID}
OF_NETWORKS = {"metapath2vec": "Metapath2vec", "HANConv": "HGConv"}
"""The paper's names of the networks whose own it has."""
PRINTED_AT = {(PUBLISHED, 1.0), *(("HeteDP", epsilon) for epsilon in (0.01, 0.1, 1.0))}
EPSILONS = (0.01, 0.1, 1.0)
QUICK = {"feature_epochs": 10, "link_epochs": 10}


class Cell(NamedTuple):
    """What is run several times. ``data`` tells one graph from another; ``epsilon`` is 0 without noise."""

    data: str
    system: str
    epsilon: float
    quick: bool


@dataclass(frozen=True)
class Subject:
    """What is looked at: a relation, the node type with features, and its classes where it has some."""

    graph: Graph
    focus: str
    kind: str
    features: np.ndarray
    classes: np.ndarray | None


def subject_of(graph: Graph, focus: str | None) -> Subject:
    """Find the type with public columns and the relation. ValueError says what is to mend."""
    for kind in graph.schema.node_types:
        columns = graph.nodes[kind.name].attributes
        open_to_all = [each for each in kind.attributes if each.protection is Protection.PUBLIC]
        names = [each.name for each in open_to_all if not each.label and each.name in columns]
        features = matrix_of({name: columns[name] for name in names})
        if features is None:
            continue
        labels = [each.name for each in open_to_all if each.label and each.name in columns]
        classes = None
        if labels:
            told = columns[labels[0]].to_pylist()  # type: ignore[union-attr]  # a label is a text
            known = sorted({each for each in told if each is not None})
            classes = np.array([-1 if each is None else known.index(each) for each in told])
        fit = [
            each.name
            for each in graph.schema.edge_types
            if not each.temporal and kind.name in (each.source, each.target)
        ]
        if focus not in (None, *fit) or not fit:
            found = ", ".join(fit) or "none of this schema"
            raise ValueError(f"--relation names a relation without time of {kind.name!r}: {found}")
        name = focus or max(fit, key=lambda each: graph.edges[each].count)
        return Subject(graph, name, kind.name, features, classes)
    raise ValueError("HeteSDG needs a node type with public columns; the schema has none")


def loaded(asked: argparse.Namespace) -> tuple[str, Subject]:
    """Read the graph that was asked for, and a name that is its own. ValueError says what is to mend."""
    if asked.set:
        name, _, folder = asked.set.partition("=")
        if name not in DATASETS or not (Path(folder) / DATASETS[name].folder).is_dir():
            places = "; ".join(f"{name}: {each.folder}" for name, each in DATASETS.items())
            raise ValueError(f"--set is NAME=FOLDER, which holds {places}")
        return name, subject_of(load(name, Path(folder)), asked.relation or DATASETS[name].focus)
    schema = own_schema(asked, "--set NAME=FOLDER")
    subject = subject_of(own_graph(asked, schema), asked.relation)
    return name_of(asked, subject.graph, subject.focus), subject


def measured(subject: Subject, cell: Cell, seed: int) -> dict[str, Any]:
    """Two fits: one of the whole graph, one of what is left when links are held out."""
    row = ALL[cell.system]
    if row is None:
        return of_network(subject, cell, seed)
    published = row.of_epsilon is not None
    if cell.quick and published:
        short = QUICK if "preset" in row.parameters else {"feature_epochs": QUICK["feature_epochs"]}
        row = replace(row, parameters={**row.parameters, **short})
    started = time.process_time()
    found: dict[str, float] = {}
    whole = None
    for split, name in ((Split.LEAKY, "leaky"), (Split.LEAK_FREE, "held_out")):
        links = split_links(subject.graph, subject.focus, split, seed)
        model = fitted(row, links.seen, cell.epsilon or 1.0, None if published else ONE_HOP)
        whole = whole or model
        scored = model.scores(subject.focus, links.source, links.target)
        found[name] = 100 * float(links.auc(scored)["value"])
    assert whole is not None
    if subject.classes is not None:
        found |= node_figures(subject, whole, published, seed)
    curve = whole.curves.get(f"{subject.focus}: links", ()) if published else ()
    return {
        "figures": found,
        "curve": thinned(curve),
        "notes": list(whole.notes),
        "cpu_seconds": time.process_time() - started,
    }


def of_network(subject: Subject, cell: Cell, seed: int) -> dict[str, Any]:
    """As :func:`measured`, of a network of the paper's tables, on the true graph or on a release of it."""
    started, found = time.process_time(), {}
    about, sort = (subject.kind, subject.features), cell.system.removesuffix(ON_RELEASE)

    def shown(graph: Graph) -> Graph:
        if cell.system not in ON_RELEASES:
            return graph
        drawn: Graph = fitted(RELEASED, graph, cell.epsilon).sample(noise_generator(), no_progress)
        return drawn

    whole = shown(subject.graph)
    for split, name in ((Split.LEAKY, "leaky"), (Split.LEAK_FREE, "held_out")):
        links = split_links(subject.graph, subject.focus, split, seed)
        seen = whole if split is Split.LEAKY else shown(links.seen)
        pairs = links.source, links.target
        scored = typed_networks.link_scores(sort, seen, *about, subject.focus, pairs, seed)
        found[name] = 100 * float(links.auc(scored)["value"])
    if subject.classes is not None:
        told = typed_networks.node_f1(sort, whole, *about, subject.classes, KNOWN, seed)
        found["vectors"] = 100 * told
    spent = time.process_time() - started
    return {"figures": found, "curve": [], "notes": [], "cpu_seconds": spent}


def node_figures(subject: Subject, model: Any, published: bool, seed: int) -> dict[str, float]:
    """Macro F1 in percent; a block of columns is brought to the features' length."""
    vectors = np.asarray(model.vectors()["embedding"][subject.kind], dtype=np.float64)
    if not published:
        vectors = vectors[:, leading(subject.features).shape[1] :]
    blocks = {"vectors": vectors}
    own = []
    for name, both in model.latents.items():
        declared = subject.graph.schema.edge_type(name)
        for kind, latent in zip((declared.source, declared.target), both, strict=True):
            if kind == subject.kind:
                own.append(latent)
    if own:
        blocks["latents"] = np.concatenate(own, axis=1).astype(np.float64)
    assert subject.classes is not None
    scaled = {name: each / np.sqrt(max(each.shape[1], 1)) for name, each in blocks.items()}
    tried: dict[str, list[Any]] = {name: [each] for name, each in scaled.items() if each.shape[1]}
    tried["beside"] = [scaled["vectors"], unit_features(subject.features)]
    return {
        name: 100 * row_classification(each, subject.classes, KNOWN, seed)[1] for name, each in tried.items()
    }


def run_missing(asked: argparse.Namespace, data: str, subject: Subject, kept: Path) -> None:
    """Make the runs that the file lacks, a line each; a run's number is its seed."""
    done = Counter((cell_of(line), line["seed"]) for line in read(kept))
    for seed in range(asked.runs):
        cells = [Cell(data, s, e, asked.quick) for e, s in product(asked.epsilon, PAID) if s in asked.only]
        cells += [Cell(data, system, 0.0, asked.quick) for system in UNPAID if system in asked.only]
        for cell in cells:
            if (cell, seed) in done:
                continue
            line = {**cell._asdict(), "seed": seed, **measured(subject, cell, seed)}
            keep(kept, line)
            print(f"seed {seed} of {asked.runs}, epsilon {cell.epsilon:g}: {cell.system}", flush=True)


def cell_of(line: Line) -> Cell:
    return Cell(*(line[name] for name in Cell._fields))


def printed(data: str, system: str, epsilon: float) -> Mapping[str, float]:
    """Give the paper's numbers for a row, of links and of nodes."""
    alone = system == "HeteDP, pure" or system in NETWORKS
    name = OF_NETWORKS.get(system, system) if alone else f"{system}, epsilon {epsilon:g}"
    if not alone and (system, epsilon) not in PRINTED_AT:
        return {}
    tables = ((LINKS, "links"), (NODES, "nodes"))
    return {short: PAPER[data, task][name] for task, short in tables if name in PAPER.get((data, task), {})}


def markdown(lines: list[Line], data: str, quick: bool) -> Iterator[str]:
    """A table for each epsilon: mean and spread over seeds, in percent, and what the paper prints."""
    yield f"# HeteSDG on {data}"
    if quick:
        yield "\nQuick: ten epochs, so that these are not the paper's trainings."
    for epsilon, systems in by_cell(lines, data, quick).items():
        yield f"\n## {f'epsilon {epsilon:g}' if epsilon else 'without noise'}\n"
        yield f"| system | seeds | {' | '.join(METRICS.values())} | printed: links | printed: nodes | CPU s |"
        yield "|---" * (len(METRICS) + 5) + "|"
        for system in [each for each in ALL if each in systems]:
            runs = systems[system]
            texts = [text_of(runs, metric) for metric in METRICS]
            told = printed(data, system, epsilon)
            texts += [f"{told[each]:g}" if each in told else "" for each in ("links", "nodes")]
            seconds = np.mean([run["cpu_seconds"] for run in runs])
            yield f"| {system} | {len(runs)} | {' | '.join(texts)} | {seconds:.1f} |"
        notes = systems.get(PUBLISHED, [{"notes": []}])[0]["notes"]
        yield from (f"\nThe split in the first run. {note}" for note in notes)


def text_of(runs: list[Line], metric: str) -> str:
    """Mean, and its spread over several seeds; nothing where there is no such figure."""
    values = [run["figures"][metric] for run in runs if metric in run["figures"]]
    spread = f" ±{np.std(values):.1f}" if len(values) > 1 else ""
    return f"{np.mean(values):.1f}{spread}" if values else ""


def write_csv(lines: list[Line], data: str, path: Path) -> None:
    """Write one row a run."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow([*Cell._fields, "seed", "cpu_seconds", *METRICS])
        for line in lines:
            if line["data"] == data:
                figures = [line["figures"].get(metric, "") for metric in METRICS]
                writer.writerow([*cell_of(line), line["seed"], line["cpu_seconds"], *figures])


def picture(lines: list[Line], data: str, quick: bool) -> str:
    """Draw AUC by epsilon (Figure 5b), and the loss of links by step at the least epsilon (Figure 3)."""
    cells = by_cell(lines, data, quick)
    with_noise = {epsilon: systems for epsilon, systems in cells.items() if epsilon} or cells
    by_epsilon: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for epsilon, systems in with_noise.items():
        for system, runs in systems.items():
            mean = np.mean([run["figures"]["leaky"] for run in runs])
            by_epsilon[system].append((epsilon, float(mean)))
    least = {**with_noise[min(with_noise)], **cells.get(0.0, {})}
    loss = {
        system: [(float(at), value) for at, value in runs[0]["curve"]]
        for system, runs in least.items()
        if runs[0]["curve"]
    }
    charts = [("AUC of links, leaky", "epsilon", "percent", dict(by_epsilon))]
    if loss:
        charts.append((f"loss of links, epsilon {min(with_noise):g}", "step", "loss", loss))
    title = f"HeteSDG on {data}"
    return panels(title, title, charts, thick=(PUBLISHED,), order=tuple(ALL))


def parser() -> argparse.ArgumentParser:
    made = parser_of("hetesdg", __doc__, runs="3 by default", quick="epsilon 1, one seed, ten epochs")
    made.add_argument("--relation", help="the relation whose links are told; the largest by default")
    made.add_argument("--set", metavar="NAME=FOLDER", help=f"a public set: {', '.join(DATASETS)}")
    made.add_argument("--epsilon", type=float, action="append", help="repeat; .01, .1 and 1 by default")
    made.add_argument("--only", action="append", choices=list(ALL), metavar="SYSTEM", help="repeat")
    return made


def main(given: list[str] | None = None) -> None:
    made = parser()
    asked = made.parse_args(given)
    asked.epsilon = asked.epsilon or ([1.0] if asked.quick else list(EPSILONS))
    asked.only, asked.runs = asked.only or list(ALL), asked.runs or (1 if asked.quick else 3)
    try:
        data, subject = loaded(asked)
    except (ValueError, GraphveilError) as error:
        made.error(str(error))
    asked.out.mkdir(parents=True, exist_ok=True)
    kept = asked.out / "hetesdg.jsonl"
    run_missing(asked, data, subject, kept)
    lines = read(kept)
    told, drawn = markdown(lines, data, asked.quick), picture(lines, data, asked.quick)
    write(asked.out, "hetesdg", told, drawn)
    write_csv(lines, data, asked.out / "hetesdg.csv")


if __name__ == "__main__":
    main()
