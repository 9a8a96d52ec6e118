"""Questions and remarks about a reading. A curator reads them, each with the mapping that corrects it."""

from __future__ import annotations

import re
from collections.abc import Mapping as Map
from collections.abc import Sequence

from core.graphs.reading.cells import CLOCK, NUMERIC, TEXT, Cells, kind_of
from core.graphs.reading.mapping import LEFT, Mapping
from core.graphs.reading.model import CERTAIN, About, Answer, Column, Question, Role
from core.graphs.reading.roles import Ends, Guess
from core.graphs.reading.words import TIMES, ends_among, plain
from core.graphs.schema.names import renamed
from core.graphs.uploads.findings import shown

_THOUSANDS = re.compile(r"[-+]?[1-9]\d{0,2}(,\d{3})+")
_SPOKEN = {",": "a comma", "\t": "a tab", ";": ";", "|": "|", "::": "::", " ": "spaces"}
LEAST_ROWS = 3
UNNAMED = "the header has no name for it"


def question_text(question: Question) -> str:
    """Write the question with its answers. Whoever sends a file can give them as they stand."""
    answers = ", or ".join(f"{answer.mapping} ({answer.text})" for answer in question.answers)
    return f"{question.text}; send {answers}"


def of_header(header: bool, probability: float, first: Sequence[str], line: int) -> list[Question]:
    """Ask whether the first record is a header."""
    text = shown(", ".join(first))
    yes, no = Answer("it is a header", Mapping(header=True)), Answer("it is data", Mapping(header=False))
    return [
        Question(
            About.HEADER,
            f"line {line}, {text}, may be a header or a record: set the option header to true or false",
            round(probability, 3),
            (yes, no) if header else (no, yes),
        )
    ]


def of_delimiter(delimiter: str, rival: str) -> Question:
    """Ask which of two delimiters separates the fields."""
    return Question(
        About.DELIMITER,
        f"fields may be separated by {_SPOKEN[delimiter]} or by {_SPOKEN[rival]}",
        0.5,
        tuple(
            Answer(_SPOKEN[each], Mapping(delimiter={"\t": "tab", " ": "space"}.get(each, each)))
            for each in (delimiter, rival)
        ),
    )


def of_ends(ends: Ends, names: Sequence[str] | None, cells: Sequence[Cells]) -> Question:
    """Ask which two columns are the ends."""
    pairs = [(ends.source, ends.target)] + ([] if ends.rival is None else [ends.rival])
    return Question(
        About.ENDS,
        "which two columns an edge's ends are is uncertain",
        round(ends.probability, 3),
        tuple(
            Answer(
                f"such as {_first(cells[i])} and {_first(cells[j])}",
                Mapping(columns=(("source", _column(i, names)), ("target", _column(j, names)))),
            )
            for i, j in pairs
        ),
    )


def _first(column: Cells) -> str:
    return shown(next(iter(column.counted), ""))


def of_part(source: Cells, target: Cells, fixed: Map[int, Role]) -> list[Question]:
    """Ask whether rows are edges or nodes. It is in question where a first column never repeats and shares
    nothing with the other."""
    if fixed or len(source.held) < LEAST_ROWS or source.distinct & target.distinct:
        return []
    if len(source.distinct) < len(source.held):
        return []
    if len(target.distinct) < len(target.held) and target.integer == source.integer:
        return []  # many sources of one target: a star
    mapping = Mapping(columns=(("source", 1), ("target", 2)))
    text = (
        "the first column never repeats, and the two share no id: these may be nodes, not edges; "
        "if so, upload them as the part nodes"
    )
    return [Question(About.PART, text, 0.5, (Answer("they are edges", mapping),))]


def of_roles(columns: Sequence[Column], guesses: Map[int, Guess]) -> list[Question]:
    """Ask what a column is that was guessed below certainty."""
    found = []
    for column in columns:
        guess = guesses.get(column.place - 1)
        if guess is None or guess.rival is None or guess.probability >= CERTAIN:
            continue
        where = f"column {column.place}" + ("" if column.name is None else f", {shown(column.name)},")
        such = ", ".join(column.examples)
        answers = [_answer(columns, column, role) for role in (guess.role, guess.rival)]
        text = f"{where} ({such}) is read as {_worded(guess.role)}, but may be {_worded(guess.rival)}"
        found.append(Question(About.ROLE, text, round(guess.probability, 3), tuple(answers)))
    return found


def _worded(role: Role) -> str:
    return {
        Role.TIME: "a time",
        Role.VALUE: "a value",
        Role.TYPE: "the type",
        Role.LEFT: "a counter of rows",
    }.get(role, f"an {role}")


def _answer(columns: Sequence[Column], asked: Column, role: Role) -> Answer:
    said = [
        (each.called, _place(each))
        for each in columns
        if each.place != asked.place and each.role in (Role.SOURCE, Role.TARGET)
    ]
    name = {Role.LEFT: LEFT, Role.VALUE: "value", Role.ATTRIBUTE: "attribute"}.get(role, str(role))
    return Answer(_worded(role), Mapping(columns=(*said, (name, _place(asked)))))


def _place(column: Column) -> str | int:
    return column.place if not column.name else column.name


def _column(place: int, names: Sequence[str] | None) -> str | int:
    return place + 1 if names is None or not names[place] or names.count(names[place]) > 1 else names[place]


def of_sorts(reason: str) -> Question:
    """Ask whether the ends are two sorts of nodes."""
    return Question(
        About.BIPARTITE,
        f"the two ends may be two sorts of nodes, such as users and items, that share ids: {reason}",
        0.5,
        (
            Answer("one sort of nodes", Mapping(bipartite=False)),
            Answer("two sorts", Mapping(bipartite=True)),
        ),
    )


def of_decimal(decimal: str) -> Question:
    """Ask whether the ``decimal`` mark that is assumed is one, or parts thousands."""
    mark = "comma" if decimal == "," else "point"
    return Question(
        About.DECIMAL,
        f"a {mark} in numbers may be the decimal mark, or part thousands",
        0.5,
        tuple(
            Answer(f"decimal {each}", Mapping(decimal=each))
            for each in (decimal, "." if decimal == "," else ",")
        ),
    )


def of_dates(example: str) -> Question:
    """Ask whether the day or the month stands first."""
    return Question(
        About.DATES,
        f"in dates such as {shown(example)} the day or the month may stand first",
        0.5,
        (Answer("the day", Mapping(dates="dmy")), Answer("the month", Mapping(dates="mdy"))),
    )


def thousands(columns: Sequence[Cells], mark: str) -> bool:
    """Tell whether such a mark parts thousands. There is one, and every one parts three digits from what is
    not only a zero."""
    held = [value for each in columns if each.numeric for value in each.distinct if mark in value]
    return bool(held) and all(_THOUSANDS.fullmatch(value.replace(mark, ",")) for value in held)


def all_new(first: Sequence[str], columns: Sequence[Cells]) -> bool:
    """Tell whether the first record's words are all new. They occur nowhere else, over no numbers of its
    own."""
    rows = max((len(column.values) for column in columns), default=0)
    held = set().union(*(column.distinct for column in columns))
    words = [cell for cell in first if kind_of(cell) == TEXT]
    over = any(
        kind_of(cell) in NUMERIC and column.numeric for cell, column in zip(first, columns, strict=False)
    )
    return rows >= 2 and bool(words) and not over and not any(cell in held for cell in words)


def again(first: Sequence[str], columns: Sequence[Cells]) -> bool:
    """Tell whether a first record's word occurs again. A number in it counts, too."""
    held = set().union(*(column.distinct for column in columns))
    return any(cell in held or kind_of(cell) in NUMERIC for cell in first if cell)


def warnings(
    columns: Sequence[Column],
    part: str,
    titles: Sequence[str],
    directed: bool | None,
    first: Sequence[str],
    header: bool,
    line: int,
) -> list[str]:
    """List what a curator should know that is no question."""
    found = [f"The line {title} was taken for a title, and is not read." for title in titles]
    unnamed = [each.place for each in columns if each.why == (UNNAMED,)]
    if unnamed:
        last = "" if len(unnamed) == 1 else f" to {unnamed[-1]}"
        found.append(f"Column {unnamed[0]}{last} is not read: {UNNAMED}. Name it to have it.")
    if not header and len(first) > 2:
        found.append(
            f"The file of {part} has no header: its fields were read as "
            f"{', '.join(each.called for each in columns)}. If they are something else, upload again with "
            "the option columns."
        )
    names = [each.name or "" for each in columns]
    if header and part == "edges" and not ends_among(names):
        found.append(f"Line {line}, {', '.join(names)}, was read as a header.")
    for each in columns:
        if each.role is Role.LEFT and each.name and each.why:
            found.append(f"The column {shown(each.name)} is not read: {each.why[0]}.")
        if part == "edges" and header and _no_time(each):
            found.append(
                f"The column {shown(each.name)} is named as times are, but {shown(each.examples[0])} is none "
                "that is read: write dates as 2024-05-17 or 2024-05-17T12:30:00Z, or numbers."
            )
    values = [each for each in columns if each.name and each.role in (Role.VALUE, Role.ATTRIBUTE)]
    if renaming := renamed([each.name or "" for each in values], [each.called for each in values]):
        found.append(renaming)
    if directed is not None:
        found.append(f"A comment says that the edges are {'directed' if directed else 'undirected'}.")
    return found


def _no_time(column: Column) -> bool:
    """Tell whether a column has the name of times, and cells that are none."""
    named = column.role in (Role.TYPE, Role.VALUE, Role.ATTRIBUTE) and plain(column.name or "") in TIMES
    return named and bool(column.examples) and kind_of(column.examples[0]) in (TEXT, CLOCK)
