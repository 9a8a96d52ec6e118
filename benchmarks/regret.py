"""What the default for static graphs loses to the best method, over graphs that nobody tuned it on.

    python -m benchmarks.regret .data/regret/runs.jsonl --data FOLDER               all that is missing
    python -m benchmarks.regret .data/regret/runs.jsonl --data FOLDER --graphs cora digg --epsilons 1 \\
        --runs 3 --methods dcsbm dgg 'dcsbm:{"preset": "small"}'
    python -m benchmarks.regret .data/regret/runs.jsonl --table --picture docs/pictures/regret.svg
    python -m benchmarks.regret .data/regret/runs.jsonl --data FOLDER \\
        --candidates 'few={"proposals": 15}' --candidates 'many={"proposals": 60}'      then with --table

RESULTS holds one line a run, in a file that git does not see; a call makes only the runs that are missing. A
line belongs to the code of its method: when that changes, the method is measured anew, unless it is among
``--kept`` (without a name: every method), whose last measured version counts. A method one of whose releases
takes more than ``--limit`` CPU seconds is left out there, and that is said.

Methods are those that take undirected static graphs under unit edge and never run without a guarantee.
Regret: mean error less the least mean error of the methods named, on that graph, epsilon and measure.
``--candidates`` are settings of the default, to choose a constant among: for each graph the one is chosen
whose mean regret over the *other* graphs is least, one above 1 taken as 1, and its regret on the graph that
was left out is printed.
"""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.regret_cells import MEASURES, Plan, Setting, run_missing
from benchmarks.regret_tables import cells_of, every_method, leaders, left_one_out, left_out, picture, table
from benchmarks.results_file import Line, parser_of, run_or_print
from benchmarks.static_graphs import SOURCES, load
from core.methods.registry import generators, get
from core.privacy.accounting.guarantee import GuaranteeKind
from core.privacy.units import Unit

EPSILONS = (1.0, 0.5, 2.0)
RUNS = 5
LIMIT_CPU_SECONDS = 60
DEFAULT = "dcsbm"


def structural() -> list[str]:
    """Methods for undirected static graphs that never run without a guarantee."""
    return [
        name
        for name, each in generators().items()
        if each.accepts.static and Unit.EDGE in each.units and GuaranteeKind.NONE not in each.kinds
    ]


def named(text: str) -> Setting:
    """The setting that ``METHOD`` or ``METHOD:JSON`` asks for."""
    method, _, parameters = text.partition(":")
    return _checked(method, parameters or "{}", "")


def candidate(text: str, method: str) -> Setting:
    """The setting of ``method`` that ``NAME=JSON`` asks for."""
    label, _, parameters = text.partition("=")
    return _checked(method, parameters, label)


def _checked(method: str, parameters: str, label: str) -> Setting:
    read = json.loads(parameters)
    get(method).Params.varied(**read)
    return Setting.of(method, read, label)


def asked_for(asked: argparse.Namespace) -> tuple[list[Setting], list[Setting]]:
    """The methods, the default first, and the candidates that a call is about."""
    methods = {each.label: each for each in map(named, [asked.default, *(asked.methods or structural())])}
    default = next(iter(methods.values()))
    return [*methods.values()], [candidate(text, default.method) for text in asked.candidates]


def kept_of(asked: argparse.Namespace) -> frozenset[str]:
    """The methods whose runs count whatever code they are of."""
    return frozenset() if asked.kept is None else frozenset(asked.kept or generators())


def made(asked: argparse.Namespace) -> None:
    """What RESULTS lacks is run."""
    methods, candidates = asked_for(asked)
    settings = list({(s.method, json.dumps(s.parameters)): s for s in (*candidates, *methods)}.values())
    plan = Plan(asked.graphs, asked.epsilons, settings, asked.runs, asked.limit, kept_of(asked))
    run_missing(plan, asked.results, partial(load, data=asked.data), partial(print, flush=True))


def printed(asked: argparse.Namespace, lines: list[Line]) -> Iterator[str]:
    """The tables that a call asks for; the picture is written where one is."""
    methods, candidates = asked_for(asked)
    kept, epsilons = kept_of(asked), sorted(asked.epsilons)
    cells = cells_of(lines, [*methods, *candidates], asked.graphs, epsilons, kept)
    default, *others = (setting.label for setting in methods)
    if candidates:
        yield from left_one_out(cells, [each.label for each in candidates], others, asked.measure)
        return
    if asked.picture:
        asked.picture.write_text(picture(cells, default, asked.measure))
    for epsilon in epsilons:
        yield from table(cells, default, epsilon, asked.measure)
        yield from leaders(cells, default, epsilon, asked.measure)
        yield from every_method(cells, epsilon, asked.measure)
    here = [line for line in lines if line["graph"] in asked.graphs and line["epsilon"] in epsilons]
    yield from ("", *left_out(here, methods, kept))


def arguments() -> argparse.ArgumentParser:
    """What a call may say."""
    parser = parser_of(__doc__)
    parser.add_argument("--graphs", nargs="+", choices=list(SOURCES), default=list(SOURCES), metavar="GRAPH")
    parser.add_argument("--largest", type=int, help="leave out graphs of more edges")
    parser.add_argument("--methods", nargs="+", metavar="METHOD[:JSON]")
    parser.add_argument("--epsilons", nargs="+", type=float, default=list(EPSILONS))
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--measure", nargs="+", choices=list(MEASURES), default=list(MEASURES))
    parser.add_argument("--default", default=DEFAULT, metavar="METHOD[:JSON]", help="whose regret is shown")
    parser.add_argument("--limit", type=int, default=LIMIT_CPU_SECONDS, help="CPU seconds of one release")
    parser.add_argument("--kept", nargs="*", metavar="METHOD", help="any version of these counts; of all")
    parser.add_argument("--candidates", action="append", default=[], metavar="NAME=JSON")
    parser.add_argument("--picture", type=Path, help="write an SVG file there")
    return parser


def main() -> None:
    parser = arguments()
    asked = parser.parse_args()
    most = asked.largest or math.inf
    asked.graphs = [name for name in SOURCES if name in asked.graphs and SOURCES[name].edges <= most]
    if len(asked.candidates) == 1:
        parser.error("a choice is among two --candidates at least")
    run_or_print(parser, asked, made, lambda lines: printed(asked, lines))


if __name__ == "__main__":
    main()
