"""Edge lists at random, in the ways that people write them, and what each of them says."""

from __future__ import annotations

import csv
import io
import random
import uuid
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

DELIMITERS = (",", "\t", ";", "|", "::", " ")
ENDS = (
    ("source", "target"), ("from", "to"), ("src", "dst"), ("caller", "callee"), ("sender", "receiver"),
    ("von", "nach"), ("Absender", "Empfänger"), ("origine", "destination"), ("expéditeur", "destinataire"),
    ("origen", "destino"), ("remitente", "destinatario"), ("mittente", "destinatario"), ("da", "a"),
    ("remetente", "destinatário"), ("de", "para"), ("van", "naar"), ("afzender", "ontvanger"),
    ("nadawca", "odbiorca"), ("od", "do"), ("node1", "node2"), ("FromNodeId", "ToNodeId"),
)  # fmt: skip
SORTS = (("userId", "movieId"), ("user", "item"), ("customer_id", "product_id"), ("author", "paper"))
TIMES = ("time", "timestamp", "Zeit", "fecha", "horodatage", "tijd", "created_at", "czas")
VALUES = ("weight", "amount", "Betrag", "valor", "montant", "waarde", "rating", "kwota")
TYPES = ("type", "relation", "Art", "tipo", "kind")
STYLES = ("known", "unknown", "numbered", "none")
NUMBERED = ("col{}", "column_{}", "V{}", "x{}", "field {}", "attr{}", "C{}")
UNKNOWN = ("alpha", "foo", "col", "zug", "xyz", "thing", "p_one", "quux")


@dataclass(frozen=True)
class RandomList:
    """A file, and the truth about it. ``roles`` by column in order; ``rows`` are the ends of every edge.

    ``plain``: the file says all that is needed, by a header of known names.
    """

    content: bytes
    roles: tuple[str, ...]
    header: bool
    bipartite: bool | None
    rows: tuple[tuple[str, str], ...]
    times: tuple[int, ...]
    values: tuple[float, ...]
    known: bool
    kinds: dict[str, str] = field(default_factory=dict)


def _letters(rng: random.Random, few: int, most: int) -> str:
    return "".join(rng.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(rng.randint(few, most)))


def _distinct(count: int, make: Callable[[int], str]) -> list[str]:
    found = dict.fromkeys(make(number) for number in range(3 * count + 30))
    return list(found)[:count]


def ids(rng: random.Random, count: int) -> tuple[str, list[str]]:
    """Ids of one of 16 kinds."""
    kinds: dict[str, Callable[[int], str]] = {
        "from 0": str,
        "from 1": lambda n: str(n + 1),
        "large": lambda n: str(10**9 * 7 + rng.randrange(10**9)),
        "names": lambda n: _letters(rng, 4, 8).title(),
        "mail": lambda n: f"{_letters(rng, 3, 7)}{n}@{_letters(rng, 3, 5)}.org",
        "uuid": lambda n: str(uuid.UUID(int=rng.getrandbits(128))),
        "hex": lambda n: f"0x{rng.getrandbits(40):010x}",
        "prefixed": lambda n: f"u{n}",
        "address": lambda n: f"10.{n % 200}.{rng.randrange(250)}.{rng.randrange(250)}",
        "phone": lambda n: f"+49{rng.randrange(10**9, 10**10)}",
        "two words": lambda n: f"{_letters(rng, 3, 6).title()} {_letters(rng, 4, 7).title()}",
        "umlauts": lambda n: f"Mü{_letters(rng, 2, 5)}é{n}",
        "tags": lambda n: f"#{_letters(rng, 4, 8)}",
        "padded": lambda n: f"{n:06d}",
        "links": lambda n: f"http://x.org/{_letters(rng, 3, 6)}/{n}",
        "codes": lambda n: f"{_letters(rng, 2, 2).upper()}-{n:04d}",
    }
    kind = rng.choice(list(kinds))
    return kind, _distinct(count, kinds[kind])


def times(rng: random.Random, rows: int) -> tuple[str, list[str], list[int]]:
    """Times of one of 15 kinds, as written and as they are read: integers or seconds since 1970."""
    start = datetime(rng.randint(1995, 2025), rng.randint(1, 12), rng.randint(1, 28), tzinfo=UTC)
    moments = [start + timedelta(seconds=rng.randrange(10**7)) for _ in range(rows)]
    if rng.random() < 0.6:
        moments.sort()
    days = [each.replace(hour=0, minute=0, second=0) for each in moments]
    seconds = [int(each.timestamp()) for each in moments]
    dates = [int(each.timestamp()) for each in days]
    minutes = [each - each % 60 for each in seconds]
    steps = sorted(rng.randrange(60) for _ in range(rows))
    kinds: dict[str, tuple[list[str], list[int]]] = {
        "seconds": ([str(each) for each in seconds], seconds),
        "milliseconds": ([str(each * 1000) for each in seconds], [each * 1000 for each in seconds]),
        "microseconds": ([str(each * 10**6) for each in seconds], [each * 10**6 for each in seconds]),
        "nanoseconds": ([str(each * 10**9) for each in seconds], [each * 10**9 for each in seconds]),
        "floats": ([f"{each}.25" for each in seconds], seconds),
        "steps": ([str(each) for each in steps], steps),
        "date": ([each.strftime("%Y-%m-%d") for each in days], dates),
        "iso": ([each.strftime("%Y-%m-%dT%H:%M:%SZ") for each in moments], seconds),
        "spaced": ([each.strftime("%Y-%m-%d %H:%M:%S") for each in moments], seconds),
        "offset": ([each.strftime("%Y-%m-%dT%H:%M:%S+02") for each in moments], [s - 7200 for s in seconds]),
        "points": ([each.strftime("%d.%m.%Y") for each in days], dates),
        "slashes": ([each.strftime("%m/%d/%Y %H:%M") for each in moments], minutes),
        "digits": ([each.strftime("%Y%m%d") for each in days], dates),
        "noon": ([each.strftime("%m/%d/%Y %I:%M %p") for each in moments], minutes),
        "years": ([str(each.year) for each in moments], [each.year for each in moments]),
    }
    kind = rng.choice(list(kinds))
    return kind, *kinds[kind]


def values(rng: random.Random, rows: int, comma: bool) -> tuple[str, list[str], list[float]]:
    """Values of one of five kinds, as written and as they are read."""
    kind = rng.choice(["stars", "fractions", "signs", "counts", "comma" if comma else "fractions"])
    if kind == "stars":
        found: list[float] = [rng.randint(1, 5) for _ in range(rows)]
    elif kind == "signs":
        found = [rng.choice([-1, 1]) for _ in range(rows)]
    elif kind == "counts":
        found = [int(rng.expovariate(0.02)) + 1 for _ in range(rows)]
    else:
        found = [round(rng.uniform(0.01, 90), 2) for _ in range(rows)]
    written = [f"{each:.2f}" if isinstance(each, float) else str(each) for each in found]
    return kind, [each.replace(".", ",") for each in written] if kind == "comma" else written, found


def ends(rng: random.Random, rows: int) -> tuple[str, list[tuple[str, str]], bool | None]:
    """Edges among nodes of one sort or two, some of which have many. Two sorts of integers share ids."""
    count = max(3, int(rows * rng.uniform(0.15, 1.2)))
    kind, known = ids(rng, count)
    two = rng.random() < 0.15
    others = known
    if two:
        others = known[: max(3, int(len(known) * rng.uniform(0.2, 1)))]
        if kind not in ("from 0", "from 1", "padded"):
            others = [f"{each}x" for each in others]
    pairs = []
    for _ in range(rows):
        one = (
            known[min(int(rng.paretovariate(0.9)) - 1, len(known) - 1)]
            if rng.random() < 0.4
            else rng.choice(known)
        )
        other = rng.choice(others)
        while not two and other == one:
            other = rng.choice(others)
        pairs.append((one, other))
    shared = two and bool({a for a, _ in pairs} & {b for _, b in pairs})
    return kind, pairs, True if shared else (None if two else False)


def random_list(rng: random.Random, *, shuffled: bool = False) -> RandomList:
    """Make a file; ``shuffled``: its columns in any order, under unknown names or none."""
    rows = int(4 * 500 ** rng.random())
    kind, pairs, two = ends(rng, rows)
    delimiter = rng.choice(DELIMITERS)
    columns: list[tuple[str, list[str]]] = [
        ("source", [a for a, _ in pairs]),
        ("target", [b for _, b in pairs]),
    ]
    kinds, at, held = {"ids": kind}, [], []
    if rng.random() < 0.5:
        kinds["values"], written, held = values(rng, rows, delimiter != ",")
        columns.append(("value", written))
    if rng.random() < 0.45:
        kinds["times"], written, at = times(rng, rows)
        columns.append(("time", written))
    if rng.random() < 0.2:
        names = rng.sample(["knows", "likes", "pays", "calls", "works at"], rng.randint(2, 4))
        columns.append(("type", [rng.choice(names) for _ in range(rows)]))
    if shuffled:
        rng.shuffle(columns)
    elif rng.random() < 0.1:
        columns = [columns[-1], *columns[:-1]] if len(columns) > 2 else columns
    if rng.random() < 0.06:
        columns.insert(0, ("left alone", [str(number) for number in range(rows)]))
    style = rng.choices(STYLES, [0.0 if shuffled else 0.43, 0.14, 0.05, 0.38])[0]
    header = _header(rng, [role for role, _ in columns], style, two)
    return _written(rng, columns, header, delimiter, style, (pairs, at, held, two), kinds)


def _header(rng: random.Random, roles: Sequence[str], style: str, two: bool | None) -> list[str] | None:
    if style == "none":
        return None
    if style == "unknown":
        words = rng.sample(UNKNOWN, len(UNKNOWN))
        return [
            f"{words[place % len(words)]}{place if place >= len(words) else ''}"
            for place in range(len(roles))
        ]
    if style == "numbered":
        form, first = rng.choice(NUMBERED), rng.randint(0, 1)
        return [form.format(first + place) for place in range(len(roles))]
    pair = rng.choice(SORTS if two else ENDS)
    named = {"source": pair[0], "target": pair[1], "left alone": "index"}
    named |= {"time": rng.choice(TIMES), "value": rng.choice(VALUES), "type": rng.choice(TYPES)}
    return [named[role] for role in roles]


def _written(
    rng: random.Random,
    columns: list[tuple[str, list[str]]],
    header: list[str] | None,
    delimiter: str,
    style: str,
    truth: tuple[list[tuple[str, str]], list[int], list[float], bool | None],
    kinds: dict[str, str],
) -> RandomList:
    pairs, at, held, two = truth
    table = list(zip(*(cells for _, cells in columns), strict=True))
    if delimiter == " " and any(" " in cell for row in (header or [], *table) for cell in row):
        delimiter = "\t"
    if delimiter == "::" and any(":" in cell for row in table for cell in row):
        delimiter = ";"
    lines = [] if header is None else [header]
    lines += [list(row) for row in table]
    quoted = delimiter not in ("::", " ") and rng.random() < 0.12
    if delimiter in ("::", " "):
        text = "\n".join(
            (delimiter if delimiter == "::" else rng.choice([" ", "  "])).join(row) for row in lines
        )
    else:
        made = io.StringIO()
        quoting = csv.QUOTE_ALL if quoted else csv.QUOTE_MINIMAL
        csv.writer(made, delimiter=delimiter, lineterminator="\n", quoting=quoting).writerows(lines)
        text = made.getvalue().rstrip("\n")
    opening = rng.choices(
        ["", "# made by a tool\n", "% a comment\n# two of them\n", "A title of it all\n"], [7, 1, 1, 0.6]
    )[0]
    if delimiter in ("\t", " ") and opening.startswith("A"):
        opening = ""
    text = opening + text + "\n" * (rng.random() < 0.9)
    end = rng.choices(["\n", "\r\n", "\r"], [8, 2, 0.6])[0]
    encoding = rng.choices(["utf-8", "utf-8-sig", "utf-16"], [9, 1, 0.5])[0]
    kinds |= {
        "delimiter": delimiter,
        "header": style,
        "opening": opening,
        "end": repr(end),
        "encoding": encoding,
    }
    return RandomList(
        text.replace("\n", end).encode(encoding),
        tuple(role for role, _ in columns),
        header is not None,
        two,
        tuple(pairs),
        tuple(at),
        tuple(held),
        style == "known",
        kinds,
    )
