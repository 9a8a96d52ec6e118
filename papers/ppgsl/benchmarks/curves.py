"""Where PPGSL is ahead of what it is compared with, from the results of `papers.ppgsl.benchmarks.tables`.

    python -m papers.ppgsl.benchmarks.curves RESULTS.jsonl --to docs/pictures

Writes a plot for each graph, attack against links and against nodes, and prints a table: over which levels of
the attack `ppgsl` keeps more than every baseline that reaches them. A level is a bound on the attack's AUC,
turned round where it is below a half. At a level a method keeps the most that a point of its line keeps whose
attack is within the bound; a line joins the means over seeds in the order of the settings, and ends at the
undefended graph where the method tends to it. Levels are whole percents, from the lowest that `ppgsl` reaches
up to the undefended graph's.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Mapping
from itertools import pairwise
from pathlib import Path

import numpy as np

from benchmarks.line_plots import Point, panels
from benchmarks.results_file import Line, read
from papers.ppgsl.benchmarks.tables import ORIGINAL, ROWS, Row, by_cell

UTILITIES = {"links": "links AUC, %", "nodes": "nodes F1, %"}
ATTACK = "attack AUC on sensitive links, %"
OURS = "ppgsl"
TENDS = ("ppgsl", "ppgsl, k = 0", "random_rewire", "dice", "ppne", "edgerand", "lapgraph")
"""Methods that leave the graph as it is at one end of their setting."""
STEPS = 50
Means = dict[str, list[dict[str, float]]]


def means(lines: list[Line], name: str, setting: str, known: Mapping[str, Row] = ROWS) -> Means:
    """For each row, in the order of its settings, the means over seeds."""
    found: dict[str, dict[float, list[Line]]] = {}
    for cell, line in by_cell(lines).items():
        if (cell.set, cell.setting) == (name, setting):
            found.setdefault(cell.label, {}).setdefault(cell.value, []).append(line)
    kept = ("attack", *UTILITIES)
    return {
        label: [
            {key: float(np.mean([line[key] for line in found[label][value]])) for key in kept}
            for value in sorted(found[label])
        ]
        for label in known
        if label in found
    }


def ended(rows: Means) -> Means:
    """The lines, those of methods that tend to the undefended graph with it at their nearer end."""
    (there,) = rows[ORIGINAL]
    made = {}
    for label, line in rows.items():
        if label in TENDS:
            first_keeps_more = line[0]["links"] > line[-1]["links"]
            line = [there, *line] if first_keeps_more else [*line, there]
        made[label] = line
    return made


def kept(line: list[dict[str, float]], utility: str, level: float) -> float:
    """The most that a point of the line keeps whose attack, either way round, is at most ``level``."""
    values = np.array([[point["attack"], point[utility]] for point in line], dtype=float)
    share = np.linspace(0, 1, STEPS)[:, None]
    between = [a + share * (b - a) for a, b in pairwise(values)]
    drawn = np.concatenate([values, *between])
    within = np.maximum(drawn[:, 0], 100 - drawn[:, 0]) <= level + 1e-9
    return float(drawn[within, 1].max(initial=-np.inf))


def compared(rows: Means, utility: str) -> list[tuple[int, float, str, float]]:
    """``(level, what ppgsl keeps, the best baseline, what it keeps)`` for every level that ppgsl reaches."""
    lines = ended(rows)
    top = int(rows[ORIGINAL][0]["attack"])
    others = [label for label in lines if label != ORIGINAL and not label.startswith(OURS)]
    found = []
    for level in range(50, top + 1):
        ours = kept(lines[OURS], utility, level)
        best, name = max((kept(lines[label], utility, level), label) for label in others)
        if np.isfinite(ours):
            found.append((level, ours, name, best))
    return found


def statement(rows: Means, utility: str) -> tuple[str, str, str, str, str]:
    """Levels that ppgsl reaches and that a baseline does, the share of the latter at which ppgsl is ahead,
    those at which it is not, and who is ahead there.
    """
    found = compared(rows, utility)
    both = [each for each in found if np.isfinite(each[3])]
    behind = [(level, name) for level, ours, name, best in both if ours <= best]
    where = ", ".join(_runs([level for level, _ in behind])) or "nowhere"
    names = ", ".join(sorted({name for _, name in behind}))
    ahead = f"{100 * (1 - len(behind) / len(both)):.0f} %" if both else ""
    return _span(found), _span(both), ahead, where, names


def _span(found: list[tuple[int, float, str, float]]) -> str:
    return f"{found[0][0]} to {found[-1][0]}" if found else ""


def _runs(levels: list[int]) -> Iterator[str]:
    for run in np.split(levels, np.flatnonzero(np.diff(levels) > 1) + 1) if levels else []:
        yield f"{run[0]}" if len(run) == 1 else f"{run[0]} to {run[-1]}"


def points(line: list[dict[str, float]], utility: str) -> list[Point]:
    """Of a line, what a plot shows."""
    return [(point[utility], point["attack"]) for point in line]


def picture(name: str, rows: Means) -> str:
    """The two trade-offs of one graph."""
    lines = ended(rows)
    charts = [
        (name, title, ATTACK, {label: points(line, key) for label, line in lines.items()})
        for key, title in UTILITIES.items()
    ]
    about = f"Attack on sensitive links of {name} against links predicted and nodes classified, by method."
    return panels(f"Trade-off on {name}", about, charts, 50.0, (OURS,), tuple(ROWS))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("results", type=Path)
    parser.add_argument("--to", type=Path, help="the folder of the plots")
    asked = parser.parse_args()
    lines = read(asked.results)
    print("| graph | kept | ppgsl reaches | baselines reach | ahead at | not at | behind |")
    print("|---" * 7 + "|")
    for name, setting in dict.fromkeys((cell.set, cell.setting) for cell in by_cell(lines)):
        rows = means(lines, name, setting)
        if not {ORIGINAL, OURS} < rows.keys():
            continue
        for utility in UTILITIES:
            print(f"| {name}, {setting} | {utility} | {' | '.join(statement(rows, utility))} |")
        if asked.to:
            asked.to.mkdir(parents=True, exist_ok=True)
            (asked.to / f"ppgsl_{name}_{setting}.svg").write_text(picture(name, rows))


if __name__ == "__main__":
    main()
