"""``python -m tests.words``: how public docstrings read, beside what this house aims at; nothing is refused.

Printed are, for each package: how many words first sentences have, how often words stand there that stop a
reader where the field has a term, names that say how code came about and not what they hold, and how many
lines are comments. Aims: ten words at the median, a comment where code needs a why (2 lines in a hundred).
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

from tests.house_rules import ROOT, python_files

PACKAGES = {
    "core": "core/",
    "papers": "papers/",
    "api": "api/",
    "worker": "worker/",
    "client": "client/graphveil/",
}
STOPS = ("drawn", "told", "asked", "found", "alone", "beside", "whose")
"""Words of docstrings that have a term in the field: sampled, estimated, requested, measured."""
NAMES = ("_told", "_asked", "each", "found")
"""Names that say nothing of what they hold."""
_WORD = re.compile(r"[^\W_][\w'’-]*")
_END = re.compile(r"[.!?](?:\s|$)")


@dataclass
class Reading:
    """What was counted in some files."""

    sentences: list[tuple[int, str, str]] = field(default_factory=list)
    words: Counter[str] = field(default_factory=Counter)
    names: Counter[str] = field(default_factory=Counter)
    lines: int = 0
    comments: int = 0


def first_sentence(text: str) -> str:
    """Cut a docstring at the end of its first sentence or of its first paragraph."""
    paragraph = " ".join(text.strip().split("\n\n")[0].split())
    ends = _END.search(paragraph)
    return paragraph[: ends.start()] if ends else paragraph


def public_docstrings(tree: ast.Module) -> Iterator[tuple[int, str]]:
    """List the docstrings of the module, and of its classes and functions that begin with no underscore."""
    nodes: list[ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef] = [tree]
    while nodes:
        node = nodes.pop()
        if text := ast.get_docstring(node):
            yield getattr(node, "lineno", 1), text
        if isinstance(node, ast.Module | ast.ClassDef):
            inner = (
                n for n in node.body if isinstance(n, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef)
            )
            nodes += [n for n in inner if not n.name.startswith("_")]


def bound_names(tree: ast.Module) -> Iterator[str]:
    """List every name that is bound: assigned to, defined, or a parameter; once for each time."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name
        elif isinstance(node, ast.arg):
            yield node.arg


def comment_lines(text: str) -> int:
    """Count the lines that are nothing but a comment."""
    tokens = tokenize.generate_tokens(io.StringIO(text).readline)
    return sum(token.type == tokenize.COMMENT and token.line.lstrip().startswith("#") for token in tokens)


def read(files: Iterable[Path], root: Path = ROOT) -> Reading:
    """Count what stands in the files."""
    reading = Reading()
    for file in files:
        text = file.read_text(encoding="utf-8")
        tree, name = ast.parse(text), str(file.relative_to(root))
        for line, docstring in public_docstrings(tree):
            sentence = first_sentence(docstring)
            reading.sentences.append((len(_WORD.findall(sentence)), f"{name}:{line}", sentence))
            said = Counter(word.lower() for word in _WORD.findall(docstring))
            reading.words.update({word: said[word] for word in STOPS})
        bound = Counter(bound_names(tree))
        reading.names.update({each: bound[each] for each in NAMES})
        reading.lines += sum(bool(line.strip()) for line in text.splitlines())
        reading.comments += comment_lines(text)
    return reading


def report(readings: dict[str, Reading], longest: int) -> str:
    """Write the counts as tables of plain text."""
    head = f"{'':8}{'docstrings':>11}{'median':>7}{'p90':>5}{'comments':>10}"
    rows = [head + "".join(f"{word:>8}" for word in (*STOPS, *NAMES))]
    for package, reading in readings.items():
        counts = sorted(count for count, _, _ in reading.sentences) or [0]
        share, nine_tenths = reading.comments / max(reading.lines, 1), counts[int(0.9 * (len(counts) - 1))]
        cells = (*(reading.words[word] for word in STOPS), *(reading.names[name] for name in NAMES))
        rows.append(
            f"{package:8}{len(reading.sentences):>11}{median(counts):>7g}{nine_tenths:>5}{share:>10.2%}"
            + "".join(f"{cell:>8}" for cell in cells)
        )
    every = sorted((s for reading in readings.values() for s in reading.sentences), reverse=True)
    rows += ["", f"The {longest} longest first sentences:"]
    rows += [f"{count:>4}  {where}  {sentence}" for count, where, sentence in every[:longest]]
    return "\n".join(rows)


def main() -> None:
    """Print what is counted in every package, or in the files that are named."""
    parser = argparse.ArgumentParser(prog="python -m tests.words", description="How docstrings read.")
    parser.add_argument("files", nargs="*", type=Path, help="only these files")
    parser.add_argument("--longest", type=int, default=20, help="how many first sentences are printed")
    asked = parser.parse_args()
    if asked.files:
        print(report({"files": read(file.resolve() for file in asked.files)}, asked.longest))
        return
    files = [(file, file.relative_to(ROOT).as_posix()) for file in python_files()]
    product = [(file, name) for file, name in files if "/tests/" not in name and "/benchmarks/" not in name]
    readings = {
        package: read(file for file, name in product if name.startswith(folder))
        for package, folder in PACKAGES.items()
    }
    print(report(readings, asked.longest))


if __name__ == "__main__":
    main()
