"""One look at the beginning of a text. It decides how all of it is read.

Encoding and line ends are known by then. In this order: comments, delimiter, header, ends, the other columns,
two sorts of nodes. What a person said is not guessed; what is guessed has its grounds.
"""

from __future__ import annotations

import math
from collections.abc import Mapping as Map
from collections.abc import Sequence
from dataclasses import dataclass, replace

from core.graphs.reading import asking, clocks, numerals, roles, sorts, times, words
from core.graphs.reading.cells import Cells
from core.graphs.reading.delimiters import Separated, separated
from core.graphs.reading.header import CERTAIN_ODDS, header_odds
from core.graphs.reading.mapping import LEFT, REPEATED, Mapping
from core.graphs.reading.model import CERTAIN, CERTAIN_ENDS, Column, Counts, Dialect, Question, Reading, Role
from core.graphs.reading.naming import named, of_values
from core.graphs.reading.sample import Sample, cells_of, sample_of
from core.graphs.schema import GRAPH_ID
from core.graphs.uploads.findings import reject, shown

_EXAMPLES, _SHOWN = 3, 40
_ROLES = {"source": Role.SOURCE, "target": Role.TARGET, "time": Role.TIME, "type": Role.TYPE, "id": Role.ID}
_SAYS_DIRECTION = "its texts say the direction"
_DIRECTIONS = frozenset({"directed", "undirected", "mixed"})


@dataclass(frozen=True)
class Asked:
    """What a file is read for. It is what is wanted of it, and what is known of it before the look.

    ``wanted`` are the schema's columns in their order; ``infer``: no person declared them, so the columns are
    told by what is in them.
    """

    file: str
    part: str
    mapping: Mapping
    usual: str
    wanted: tuple[str, ...]
    required: tuple[str, ...]
    infer: bool
    encoding: str = "utf-8"
    line_end: str = "LF"
    max_line_bytes: int = 1 << 20


@dataclass(frozen=True)
class Looked:
    """The reading, and where its records begin. The first record stands ``at`` this line, and the rows begin
    there.

    ``forms`` are those of times that are not ISO 8601; ``keys`` those of dictionaries at the end of lines;
    ``commas`` are the columns whose commas are decimal marks, ``grouped`` those whose commas part thousands.
    ``clock``: the place, from 1, of the column that has the clock of the days in another.
    """

    reading: Reading
    at: int
    start: int
    line: int
    forms: dict[str, str]
    keys: tuple[str, ...]
    commas: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    clock: int | None = None


@dataclass(frozen=True)
class _Records:
    """The first record, what stands below, and whether the first is a header."""

    first: list[str]
    columns: list[Cells]
    line: int
    header: bool
    probability: float
    why: tuple[str, ...]
    known: bool


def look(chunk: bytes, line: int, asked: Asked) -> Looked | None:
    """Look at the first chunk with a record. It begins with that ``line``; None where it has none."""
    sample = sample_of(chunk, line)
    if sample.unread is not None:
        reject(asked.file, sample.unread[1], line=sample.unread[0])
    if not sample.head:
        return None
    said = asked.mapping
    split = separated(sample, asked.usual, said.delimiter, asked.part == "edges")
    records = _records(sample, split, asked)
    names = records.first if records.header else None
    questions: list[Question] = []
    order = sorts.ordered_by(sample.comments, split.delimiter, records.columns)
    chosen = _columns(records, names, split.keys, asked, questions, order)
    if not records.known:
        questions += asking.of_header(records.header, records.probability, records.first, records.line)
    if split.rival is not None:
        questions.append(asking.of_delimiter(split.delimiter, split.rival))
    bipartite, why = _bipartite(chosen, names, records.columns, sample, asked, questions, split.keys)
    decimal, dates = numerals.written(
        chosen,
        records.columns,
        asked.mapping,
        questions,
        infer=asked.infer,
        semicolons=split.delimiter == ";",
    )
    moments = [records.columns[each.place - 1] for each in chosen if each.role is Role.TIME]
    two_columns = clocks.of_two(chosen, records.columns)
    if two_columns is not None:
        moments = [clocks.together(*(records.columns[place] for place in two_columns))]
    form = times.form_of(list(moments[0].distinct), dates) if moments else None
    forms = {} if form is None else {"time": form}
    place = split.comments + split.titles
    skipped = [shown(each.text) for each in sample.head[split.comments : place]]
    reading = Reading(
        asked.part,
        Dialect(
            asked.encoding,
            split.delimiter,
            asked.line_end,
            decimal,
            records.header,
            sample.marks or (("#",) if split.comments else ()),
            split.titles,
            dates,
        ),
        tuple(chosen),
        bipartite,
        why,
        Counts(comments=sample.comment_lines + split.comments),
        tuple(
            asking.warnings(
                chosen,
                asked.part,
                skipped,
                sorts.directed_by(sample.comments),
                records.first,
                records.header,
                records.line,
            )
        )
        + (() if two_columns is None or said.columns else (clocks.one_time_text(chosen, *two_columns),)),
        tuple(questions),
    )
    rows = sample.head[place]
    start, number = (rows.end, rows.number + 1) if records.header else (rows.start, rows.number)
    commas: tuple[str, ...] = ()
    grouped: tuple[str, ...] = ()
    if decimal == ",":
        commas = numerals.with_commas(chosen, records.columns)
    else:
        grouped = numerals.with_thousands(chosen, records.columns, asked.mapping.decimal == ".")
    clock = None if two_columns is None else two_columns[1] + 1
    return Looked(reading, records.line, start, number, forms, split.keys, commas, grouped, clock)


def _records(sample: Sample, split: Separated, asked: Asked) -> _Records:
    """Split the sample, and tell whether its first record is a header."""
    place = split.comments + split.titles
    line = sample.head[place]
    if len(line.text) > asked.max_line_bytes:
        reject(asked.file, f"the line exceeds {asked.max_line_bytes} bytes; split it", line=line.number)
    first = cells_of(line.text, split.delimiter, split.keys)
    if first is None:
        reject(
            asked.file,
            "the quotes of the line do not match; quote a whole field and double quotes inside it",
            line=line.number,
        )
    texts = [each.text for each in sample.head[place + 1 :]] + list(sample.rest)
    rest = [
        cells
        for text in texts
        if (cells := cells_of(text, split.delimiter, split.keys)) is not None and len(cells) == split.width
    ]
    first = _fitted(first, split.width, rest)
    columns = [
        Cells([cells[number] for cells in rest if number < len(cells)]) for number in range(len(first))
    ]
    said = asked.mapping.header
    mapped = [column for _, column in asked.mapping.columns if isinstance(column, str)]
    if said is None and mapped:
        said = True
    if said is None:
        said = _header_by_names(first, asked, bool(rest))
    if said is not None:
        return _Records(
            _bare(first) if said else first, _with(first, columns, said), line.number, said, 1.0, (), True
        )
    odds, why = header_odds(first, columns)
    header = odds > 0
    known = abs(odds) >= CERTAIN_ODDS and not (odds < 0 and asking.all_new(first, columns))
    if not asked.infer and not known:
        # An id that no list has is found row by row; a line that names what the schema needs is asked about.
        header = words.by_schema(first, asked.part, asked.wanted, asked.required)
        known = not header or not asking.again(first, columns)
    probability = 1 / (1 + math.exp(-abs(odds)))
    return _Records(
        _bare(first) if header else first,
        _with(first, columns, header),
        line.number,
        header,
        probability,
        why,
        known,
    )


def _header_by_names(first: list[str], asked: Asked, more: bool) -> bool | None:
    """Tell a header by the very names that are wanted, a line that stands alone as data; else None."""
    lowered = {each.lower() for each in first}
    needed = {"source", "target"} if asked.part == "edges" else set(asked.required)
    if needed <= (lowered if asked.part == "edges" else set(first)):
        return True
    by_name = words.by_schema(first, asked.part, asked.wanted, asked.required)
    if asked.part == "nodes" and by_name:
        return True
    return None if more or by_name else False


def _bare(first: list[str]) -> list[str]:
    """Take the mark of a comment off a header."""
    return [first[0].lstrip("#%").strip(), *first[1:]]


def _with(first: list[str], columns: list[Cells], header: bool) -> list[Cells]:
    """Count the first record among the rows where it is no header."""
    if header:
        return columns
    return [Cells([cell, *column.values]) for cell, column in zip(first, columns, strict=True)]


def _fitted(first: list[str], width: int, rest: Sequence[Sequence[str]]) -> list[str]:
    """Give a first line as many fields as the others have.

    It lacks the name of the rows, as R writes tables, where the first column tells them apart; else those of
    the last columns, as lists of features have none.
    """
    if len(first) == width + 1 and not first[-1]:
        return first[:-1]
    lacking = width - len(first)
    if rest and lacking == 1 and any(cells[-1] for cells in rest):
        names = {cells[0] for cells in rest}
        return ["", *first] if len(names) == len(rest) else [*first, ""]
    if rest and (lacking == 1 or (lacking > 1 and words.ends_among(first))):
        return [*first, *[""] * lacking]
    return first


def _columns(
    records: _Records,
    names: list[str] | None,
    keys: Sequence[str],
    asked: Asked,
    questions: list[Question],
    order: tuple[Sequence[Role], str],
) -> list[Column]:
    """Say what every column is: what was said, what the schema says, and the rest by what is in it.

    ``order`` is what the columns of a list without header are by its form, and the grounds.
    """
    width = len(records.first)
    called = _said(asked, records, names)
    if not asked.infer and not called:
        called = _by_schema(asked, records, names, width)
    cells = records.columns
    fixed = {
        place: _ROLES.get(name, Role.LEFT if name == LEFT else Role.VALUE) for place, name in called.items()
    }
    guesses: dict[int, roles.Guess] = {
        place: roles.Guess(role, 1.0, ("you said so",)) for place, role in fixed.items()
    }
    for place, key in enumerate(keys, start=width - len(keys)):
        if place not in guesses:
            guesses[place] = roles.role_of(key, cells[place])
            fixed[place] = guesses[place].role
    if asked.infer and not called and names is None and asked.part == "edges":
        for place, role in enumerate(order[0][:width]):
            guesses[place], fixed[place] = roles.Guess(role, 1.0, (order[1],)), role
    if names is not None and not keys:
        for place in _unnamed(names, cells, guesses):
            guesses[place], fixed[place] = roles.Guess(Role.LEFT, 1.0, (asking.UNNAMED,)), Role.LEFT
    infer = asked.infer or (names is not None and not {"source", "target", "id"} & set(called.values()))
    if infer and asked.part == "edges":
        _guess_edges(names, cells, fixed, guesses, questions, bool(asked.mapping.bipartite))
    elif infer:
        _guess_nodes(names, cells, guesses)
    made = []
    taken = {name for name in called.values() if name not in REPEATED}
    own = [*([None] * (width - len(keys)) if names is None else names[: width - len(keys)]), *keys]
    usable = dict(enumerate(own))
    held = [
        place
        for place, name in enumerate(own)
        if name
        and called.get(place) in (None, "value", "attribute")
        and place in guesses
        and guesses[place].role in (Role.VALUE, Role.ATTRIBUTE)
    ]
    usable |= zip(held, of_values([own[place] or "" for place in held], asked.part), strict=True)
    for place, name in enumerate(own):
        guess = guesses.get(place) or roles.Guess(Role.LEFT, 1.0, ("nothing asks for it",))
        given = GRAPH_ID if name == GRAPH_ID else called.get(place)
        if given is None and guess.role is Role.TIME:
            given = "time"
        elif given in (None, "value", "attribute"):
            number = cells[place].numeric or cells[place].empty
            given = named(guess.role, usable[place], place, taken, number=number)
        if given == LEFT and guess.role is not Role.LEFT:
            guess = replace(guess, role=Role.LEFT)
        examples = [each[:_SHOWN] for each in cells[place].held[:_EXAMPLES]]
        made.append(
            Column(
                place + 1, name, guess.role, given, guess.why, round(guess.probability, 3), tuple(examples)
            )
        )
    if infer and asked.part == "edges":
        questions += asking.of_roles(made, guesses)
    return made


def _unnamed(names: list[str], cells: list[Cells], guesses: Map[int, roles.Guess]) -> list[int]:
    """List the columns behind the last name of a header, as lists of features have them."""
    last = max((place for place, name in enumerate(names) if name), default=len(names))
    return [place for place in range(last + 1, len(names)) if place not in guesses and not cells[place].empty]


def _said(asked: Asked, records: _Records, names: list[str] | None) -> dict[int, str]:
    """Find the columns that the person named."""
    found: dict[int, str] = {}
    for role, column in asked.mapping.columns:
        if isinstance(column, int):
            place = column - 1
        else:
            held = [] if names is None else [each.casefold() for each in names]
            exact = [] if names is None else [n for n, each in enumerate(names) if each == column]
            near = exact or [n for n, each in enumerate(held) if each == column.strip().casefold()]
            if len(near) != 1:
                listing = ", ".join(map(shown, records.first))
                reject(
                    asked.file,
                    f"no column is named {shown(column)}; the line has {listing}",
                    line=records.line,
                )
            place = near[0]
        if place >= len(records.first):
            reject(
                asked.file,
                f"the line has {len(records.first)} fields, but {place + 1} columns are named; "
                "name each field",
                line=records.line,
            )
        found[place] = role
    return found


def _by_schema(asked: Asked, records: _Records, names: list[str] | None, width: int) -> dict[int, str]:
    """Take a declared schema's columns by their names, or without a header by their order."""
    if names is not None:
        meant = words.as_schema(names, asked.part, asked.wanted)
        telling = {"source", "target"} if asked.part == "edges" else set(asked.required)
        if telling <= set(meant) or not records.header:
            return dict(enumerate(meant))
        return {} if asked.part == "edges" else dict(enumerate(meant))
    order = list(asked.wanted[:width])
    return dict(enumerate(order + [LEFT] * (width - len(order))))


def _guess_edges(
    names: list[str] | None,
    cells: list[Cells],
    fixed: dict[int, Role],
    guesses: dict[int, roles.Guess],
    questions: list[Question],
    two_sorts: bool,
) -> None:
    ends = roles.ends_of(names, cells, fixed, two_sorts)
    if ends is not None:
        for place, role in ((ends.source, Role.SOURCE), (ends.target, Role.TARGET)):
            guesses[place] = roles.Guess(role, ends.probability, ends.why)
        if ends.probability < CERTAIN_ENDS:
            questions.append(asking.of_ends(ends, names, cells))
        elif names is None or not words.ends_among(names):
            questions += asking.of_part(cells[ends.source], cells[ends.target], fixed)
    for place, column in enumerate(cells):
        if place in guesses:
            continue
        name = names[place] if names is not None else None
        if (
            name is not None
            and {each.lower() for each in column.distinct} <= _DIRECTIONS
            and not column.empty
        ):
            guesses[place] = roles.Guess(Role.LEFT, 1.0, (_SAYS_DIRECTION,))
        else:
            guesses[place] = roles.role_of(name, column)
    if names is not None and not any(guess.role is Role.TYPE for guess in guesses.values()):
        for place, guess in list(guesses.items()):
            gephis = names[place].lower() == "type" and "mixed" not in map(str.lower, cells[place].distinct)
            if gephis and guess.why == (_SAYS_DIRECTION,):
                guesses[place] = replace(guess, role=Role.TYPE)  # a proposal takes it for what it says
                _leave_gephis_id(names, guesses, fixed)
    _one_each(guesses, fixed)
    if (clock := clocks.clock_beside(guesses, cells)) is not None and clock not in fixed:
        guesses[clock] = roles.Guess(Role.TIME, 1.0, ("it is the clock of the days in another column",))


def _leave_gephis_id(names: list[str], guesses: dict[int, roles.Guess], fixed: Map[int, Role]) -> None:
    """Leave the column ``Id`` alone, which numbers the edges of a list that Gephi wrote."""
    for place, name in enumerate(names):
        if name.lower() == "id" and place not in fixed and guesses[place].role is Role.VALUE:
            guesses[place] = roles.Guess(Role.LEFT, 1.0, ("it numbers the edges, as Gephi's lists have it",))


def _one_each(guesses: dict[int, roles.Guess], fixed: dict[int, Role]) -> None:
    """Keep one time and one type: the likeliest, of equals the first."""
    for role, instead in ((Role.TIME, Role.ATTRIBUTE), (Role.TYPE, Role.ATTRIBUTE)):
        places = [place for place in sorted(guesses) if guesses[place].role is role]
        best = max(places, key=lambda place: (place in fixed, guesses[place].probability), default=None)
        for place in places:
            if place == best or place in fixed:
                continue
            guess = guesses[place]
            why = (f"another column is the {role}",)
            if guess.probability >= CERTAIN or guess.rival is None:
                guesses[place] = roles.Guess(instead, 1.0, why)
            else:
                guesses[place] = roles.Guess(guess.rival, guess.probability, why, role)


def _guess_nodes(names: list[str] | None, cells: list[Cells], guesses: dict[int, roles.Guess]) -> None:
    """Choose the column of the ids; what of the others is empty, or no type, all rows together tell."""
    if not any(guess.role is Role.ID for guess in guesses.values()):
        place, why = _ids(names, cells, guesses)
        guesses[place] = roles.Guess(Role.ID, 1.0, (why,))
    for place in range(len(cells)):
        if place in guesses:
            continue
        if names is not None and names[place].lower() in ("type", ":label"):
            guesses[place] = roles.Guess(Role.TYPE, 1.0, ("its name is that of the types",))
        else:
            guesses[place] = roles.Guess(Role.ATTRIBUTE, 1.0, ("a further column of a node list",))


def _ids(names: list[str] | None, cells: list[Cells], guesses: dict[int, roles.Guess]) -> tuple[int, str]:
    able = [place for place in range(len(cells)) if place not in guesses] or [0]
    if names is not None:
        for exact in ("id", "nodeid", "node"):
            for place in able:
                if words.plain(names[place]) == exact:
                    return place, "its name is that of an id"
        alone = [place for place in able if len(cells[place].distinct) == len(cells[place].held)]
        for ends_so in (words.is_neo4js_id, words.ends_as_id, lambda name: words.plain(name) in words.IDS):
            for place in alone:
                if ends_so(names[place]):
                    return place, "its name is that of an id"
    for place in able:
        column = cells[place]
        if not column.fractions and len(column.distinct) == len(column.values):
            return place, "the first column in which nothing occurs twice"
    return able[0], "the first column"


def _bipartite(
    chosen: list[Column],
    names: list[str] | None,
    cells: list[Cells],
    sample: Sample,
    asked: Asked,
    questions: list[Question],
    keys: Sequence[str],
) -> tuple[bool, tuple[str, ...]]:
    """Tell two sorts of nodes, or ask; NetworkX, who writes dictionaries, calls one node by one id."""
    ends = {each.role: each for each in chosen if each.role in (Role.SOURCE, Role.TARGET)}
    if asked.part != "edges" or len(ends) < 2:
        return False, ()
    if asked.mapping.bipartite is not None:
        return asked.mapping.bipartite, ("you said so",)
    source, target = ends[Role.SOURCE], ends[Role.TARGET]
    pair = None if names is None else (names[source.place - 1], names[target.place - 1])
    said, why = sorts.said_by(sample.comments, pair)
    if said is not None:
        return said, (why,)
    if any(each.called == GRAPH_ID for each in chosen):
        return False, ("each graph of a collection has ids of its own",)
    if asked.infer and sample.whole and not keys:
        named = names is not None and (source.place - 1, target.place - 1) in words.ends_among(names)
        reason = sorts.doubtful(cells[source.place - 1], cells[target.place - 1], named)
        if reason:
            questions.append(asking.of_sorts(reason))
    return False, ()
