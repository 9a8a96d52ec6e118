"""Regret of methods over many graphs, and of constants chosen on all graphs but the one they are judged on.

Regret of a method on a graph, an epsilon and a measure: its mean error less the least mean error of any
method there, its own included; so it is never below zero. Spread: the standard deviation over runs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.line_plots import Point, panels
from benchmarks.regret_cells import MEASURES, Setting, of_setting
from benchmarks.results_file import Line

MOST = 1.0
"""What a regret counts at most where candidates are chosen among and where regrets are drawn."""

Case = tuple[str, float]
"""A graph and an epsilon."""


@dataclass(frozen=True)
class Measured:
    """Mean error by measure, its spread over runs, how many there were, and the CPU seconds of one."""

    errors: Mapping[str, float]
    spreads: Mapping[str, float]
    runs: int
    cpu_seconds: float

    @classmethod
    def of(cls, lines: Sequence[Line]) -> Measured:
        """Of the lines of one cell; a measure that is undefined in a run is left out there."""
        found = {name: [line["errors"].get(name) for line in lines] for name in MEASURES}
        defined = {name: [v for v in values if v is not None] for name, values in found.items()}
        defined = {name: values for name, values in defined.items() if values}
        spreads = {name: float(np.std(v, ddof=1)) if len(v) > 1 else 0.0 for name, v in defined.items()}
        means = {name: float(np.mean(values)) for name, values in defined.items()}
        return cls(means, spreads, len(lines), float(np.mean([line["cpu_seconds"] for line in lines])))


Cells = Mapping[Case, Mapping[str, Measured]]
"""For each case, what was measured by the setting's label."""


@dataclass(frozen=True)
class Regret:
    """What one method loses to the best one."""

    error: float
    spread: float
    least: float
    best: str

    @property
    def value(self) -> float:
        return self.error - self.least


def cells_of(
    lines: Sequence[Line],
    settings: Sequence[Setting],
    graphs: Sequence[str],
    epsilons: Sequence[float],
    kept: frozenset[str] = frozenset(),
) -> dict[Case, dict[str, Measured]]:
    """What the lines say of these settings, graphs and epsilons; cells without a run are not there."""
    found: dict[Case, dict[str, Measured]] = {}
    for setting in settings:
        runs: dict[Case, list[Line]] = {}
        for line in lines:
            runs.setdefault((line["graph"], line["epsilon"]), []).append(line)
        for case, here in runs.items():
            own = [line for line in of_setting(here, setting, kept) if "errors" in line]
            if case[0] in graphs and case[1] in epsilons and own:
                found.setdefault(case, {})[setting.label] = Measured.of(own)
    return {case: found[case] for epsilon in epsilons for g in graphs if (case := (g, epsilon)) in found}


def regret(of: str, measured: Mapping[str, Measured], measure: str) -> Regret | None:
    """The regret of a label where these were measured; None where it has no error."""
    errors = {label: each.errors[measure] for label, each in measured.items() if measure in each.errors}
    if of not in errors:
        return None
    best = min(errors, key=lambda label: (errors[label], label != of))
    return Regret(errors[of], measured[of].spreads[measure], errors[best], best)


def table(cells: Cells, default: str, epsilon: float, measures: Sequence[str]) -> Iterator[str]:
    """Markdown: the default's regret and error on every graph, their mean and largest, and the spreads."""
    here = {graph: each for (graph, e), each in cells.items() if e == epsilon and default in each}
    if not here:
        return
    runs = sorted({each[default].runs for each in here.values()})
    counted = f"{runs[0]} runs" if len(runs) == 1 else f"{runs[0]} to {runs[-1]} runs"
    yield f"\n**{default}, epsilon {epsilon:g}: regret (error ± spread), {len(here)} graphs, {counted}**\n"
    yield from _head("graph", [MEASURES[name][0] for name in measures] + ["CPU s"])
    found = {name: {graph: regret(default, each, name) for graph, each in here.items()} for name in measures}
    for graph, each in here.items():
        told = [_told(found[name][graph]) for name in measures]
        yield _row(graph, [*told, f"{each[default].cpu_seconds:.2f}"])
    for title, pick, of in (
        ("mean", np.mean, "value"),
        ("worst", np.max, "value"),
        ("spread, mean", np.mean, "spread"),
        ("spread, worst", np.max, "spread"),
    ):
        values = [[getattr(r, of) for r in found[name].values() if r is not None] for name in measures]
        yield _row(f"**{title}**", [f"**{short(float(pick(v)))}**" if v else "" for v in values] + [""])


def leaders(cells: Cells, default: str, epsilon: float, measures: Sequence[str]) -> Iterator[str]:
    """Markdown: the least error on every graph, and whose it is."""
    yield f"\n**The least error, epsilon {epsilon:g}, and whose it is**\n"
    yield from _head("graph", [MEASURES[name][0] for name in measures])
    for (graph, e), each in cells.items():
        if e == epsilon and default in each:
            found = [regret(default, each, name) for name in measures]
            yield _row(graph, [f"{short(r.least)} {r.best}" if r else "" for r in found])


def every_method(cells: Cells, epsilon: float, measures: Sequence[str]) -> Iterator[str]:
    """Markdown: mean (largest) regret of every method, as if it were the default, and on how many graphs."""
    here = [each for (_, e), each in cells.items() if e == epsilon]
    labels = list(dict.fromkeys(label for each in here for label in each))
    yield f"\n**Every method, epsilon {epsilon:g}: mean regret (worst)**\n"
    yield from _head("method", ["graphs", *(MEASURES[name][0] for name in measures), "CPU s"])
    for label in labels:
        own = [each for each in here if label in each]
        told = []
        for name in measures:
            values = [r.value for each in own if (r := regret(label, each, name)) is not None]
            told.append(f"{short(np.mean(values))} ({short(max(values))})" if values else "")
        seconds = np.mean([each[label].cpu_seconds for each in own])
        yield _row(label, [str(len(own)), *told, f"{seconds:.2f}"])


def left_out(lines: Sequence[Line], settings: Sequence[Setting], kept: frozenset[str]) -> Iterator[str]:
    """A sentence for every cell whose release took too long."""
    for setting in settings:
        for line in lines:
            if "over_cpu_seconds" in line and setting.made(line, setting.method in kept):
                yield (
                    f"Left out: {setting.label} on {line['graph']} at epsilon {line['epsilon']:g}, where a "
                    f"release takes more than {line['over_cpu_seconds']} CPU seconds."
                )


def regret_of_candidate(
    candidate: str, measured: Mapping[str, Measured], others: Sequence[str], measures: Sequence[str]
) -> dict[str, float]:
    """Regret by measure were this candidate the default: against the other methods and itself."""
    against = {label: measured[label] for label in (*others, candidate) if label in measured}
    found = {name: regret(candidate, against, name) for name in measures}
    return {name: each.value for name, each in found.items() if each is not None}


def leave_one_out(
    cells: Cells, candidates: Sequence[str], others: Sequence[str], measures: Sequence[str]
) -> dict[str, tuple[str, dict[str, float]]]:
    """For each graph the candidate with the least mean regret over the *other* graphs, and its regret here.

    Means run over measures, then over graphs and epsilons; for the choice a regret above ``MOST`` counts as
    that, so that no graph with a true value near zero decides it alone. ``others``: the methods that a
    candidate is compared with. Only cases where every candidate was measured count; a tie goes to the first.
    """
    full = {case: each for case, each in cells.items() if set(candidates) <= each.keys()}
    found = {
        case: {name: regret_of_candidate(name, each, others, measures) for name in candidates}
        for case, each in full.items()
    }
    graphs = list(dict.fromkeys(graph for graph, _ in found))
    chosen = {}
    for graph in graphs if len(graphs) > 1 else []:

        def elsewhere(name: str, out: str = graph) -> float:
            return float(
                np.mean(
                    [
                        np.mean(np.minimum([*f[name].values()], MOST))
                        for case, f in found.items()
                        if case[0] != out
                    ]
                )
            )

        choice = min(candidates, key=elsewhere)
        here = [f[choice] for case, f in found.items() if case[0] == graph]
        chosen[graph] = (choice, {m: float(np.mean([f[m] for f in here if m in f])) for m in measures})
    return chosen


def left_one_out(
    cells: Cells, candidates: Sequence[str], others: Sequence[str], measures: Sequence[str]
) -> Iterator[str]:
    """Markdown: what is chosen without each graph and its regret on it, beside every candidate's own."""
    chosen = leave_one_out(cells, candidates, others, measures)
    if not chosen:
        yield "There are no two graphs on which every candidate was measured."
        return
    yield "\n**Chosen on the other graphs: regret on the graph that was left out**\n"
    yield from _head("graph", ["chosen", *(MEASURES[name][0] for name in measures)])
    for graph, (choice, values) in chosen.items():
        yield _row(graph, [choice, *(short(values[name]) for name in measures)])
    for title, pick in (("mean", np.nanmean), ("worst", np.nanmax)):
        told = [
            short(float(pick([v[name] for _, v in chosen.values()]))) if chosen else "" for name in measures
        ]
        yield _row(f"**{title}**", ["", *(f"**{each}**" for each in told)])
    yield "\n**Every candidate on all of these graphs: mean regret (worst)**\n"
    yield from _head("candidate", [MEASURES[name][0] for name in measures])
    for candidate in candidates:
        own = [
            regret_of_candidate(candidate, each, others, measures)
            for (graph, _), each in cells.items()
            if graph in chosen and set(candidates) <= each.keys()
        ]
        told = [[each[name] for each in own if name in each] for name in measures]
        yield _row(candidate, [f"{short(np.mean(v))} ({short(max(v))})" if v else "" for v in told])
    yield from beside_the_first(cells, candidates, measures)


def beside_the_first(cells: Cells, candidates: Sequence[str], measures: Sequence[str]) -> Iterator[str]:
    """What each candidate's mean error is beside the first one's, with its standard error over graphs."""
    first, *others = candidates
    for epsilon in dict.fromkeys(epsilon for _, epsilon in cells):
        here = [e for (_, own), e in cells.items() if own == epsilon and set(candidates) <= e.keys()]
        for label in others if len(here) > 1 else ():
            more = []
            for each in here:
                errors = each[label].errors, each[first].errors
                both = [name for name in measures if name in errors[0] and name in errors[1]]
                more.append(np.mean([min(errors[0][n], MOST) - min(errors[1][n], MOST) for n in both]))
            told = f"{np.mean(more):.3f} ± {np.std(more, ddof=1) / np.sqrt(len(more)):.3f}"
            yield f"\nMean error at epsilon {epsilon:g}, {label} less {first}: {told}, {len(here)} graphs."


def picture(cells: Cells, default: str, measures: Sequence[str]) -> str:
    """The regrets of every method in ascending order over the cases: the lower and flatter, the better.

    A regret above 1 is drawn at 1, so that one graph does not flatten the others.
    """
    labels = list(dict.fromkeys(label for each in cells.values() for label in each))
    charts = []
    for name in measures:
        lines: dict[str, list[Point]] = {}
        for label in labels:
            values = [r.value for each in cells.values() if (r := regret(label, each, name)) is not None]
            lines[label] = [
                (float(place), min(each, MOST)) for place, each in enumerate(sorted(values), start=1)
            ]
        title = MEASURES[name][0]
        charts.append(
            (
                title,
                "graphs at each epsilon, by regret",
                "regret (1: that or more)",
                {k: v for k, v in lines.items() if v},
            )
        )
    epsilons = ", ".join(f"{each:g}" for each in sorted({epsilon for _, epsilon in cells}))
    about = f"Regret of each method on every graph, least first, by measure; epsilon {epsilons}."
    return panels("Regret over graphs", about, charts, thick=(default,), order=labels, columns=2)


def short(value: float) -> str:
    """Three digits after the point and no zero before it; two from 1 on."""
    return f"{value:.2f}" if abs(value) >= 0.9995 else f"{value:.3f}".replace("0.", ".", 1)


def _told(found: Regret | None) -> str:
    if found is None:
        return ""
    return f"{short(found.value)} ({short(found.error)} ± {short(found.spread)})"


def _head(first: str, titles: Sequence[str]) -> Iterator[str]:
    yield _row(first, titles)
    yield "|---" * (len(titles) + 1) + "|"


def _row(first: str, cells: Sequence[str]) -> str:
    return f"| {first} | " + " | ".join(cells) + " |"
