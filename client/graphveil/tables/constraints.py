"""What tables declare beside keys: kept after the draw, at no cost, or refused by name."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass

from graphveil.problems import InvalidInput
from graphveil.tables.mapping import Column, Table

KNOWN = (
    "unique(a, b) of the two ends, a >= b of two numbers, a > b of whole ones, acyclic(key) of a key into "
    "the table itself"
)


@dataclass(frozen=True)
class Constraints:
    """The constraints of one table. ``above``: a, b and the least of a - b. ``acyclic``: such keys."""

    table: Table
    above: tuple[tuple[str, str, int], ...] = ()
    acyclic: tuple[str, ...] = ()

    def rewritten(self, column: str, said: Column) -> Column:
        """Declare a column as it is drawn: of a >= b or a > b, how much a is above b."""
        for high, low, least in self.above:
            if high == column:
                own, other = said.bounds, self.table.columns[low].bounds
                assert own is not None
                assert other is not None
                return said.model_copy(
                    update={"bounds": (least, own[1] - other[0]), "cuts": (), "clip": False}
                )
        return said


def constraints_of(name: str, table: Table) -> Constraints:
    """Read a table's constraints. InvalidInput names what is not kept."""
    above, acyclic = [], []
    for text in table.constraints:
        where = f"tables.{name}.constraints"
        if found := re.fullmatch(r"\s*unique\(([^()]*)\)\s*", text):
            _unique(name, table, [each.strip() for each in found[1].split(",")], where)
        elif found := re.fullmatch(r"\s*acyclic\(([^()]*)\)\s*", text):
            column = table.columns.get(found[1].strip())
            if column is None or column.references != name or table.rows != "public":
                raise InvalidInput(f"{text}: that is no key of {name} into {name}; leave it out", field=where)
            acyclic.append(found[1].strip())
        elif found := re.fullmatch(r"\s*(\w+)\s*(>=?)\s*(\w+)\s*", text):
            above.append(_above(name, table, found[1], found[3], text))
        else:
            raise InvalidInput(
                f"the constraint {text!r} of {name} is not kept; kept are {KNOWN}. Leave it out to release "
                "without it",
                field=where,
            )
    return Constraints(table, tuple(above), tuple(acyclic))


def _unique(name: str, table: Table, columns: list[str], where: str) -> None:
    if table.key is not None and columns == [table.key]:
        return
    ends = set(table.ends or list(table.references)[:2])
    if table.rows == "private" and table.repeats == 1 and table.steps is None and set(columns) == ends:
        return
    raise InvalidInput(
        f"unique({', '.join(columns)}) of {name} is not kept: only keys are, and the two ends with "
        "repeats: 1. "
        "Leave it out, or withhold the column",
        field=where,
    )


def _above(name: str, table: Table, high: str, low: str, text: str) -> tuple[str, str, int]:
    where = f"tables.{name}.constraints"
    for column in (high, low):
        said = table.columns.get(column)
        number = said is not None and said.bounds is not None and said.type not in ("date", "timestamp")
        if said is None or said.role != "protected" or said.null or not number or table.rows != "private":
            raise InvalidInput(
                f"{text}: {column} is no protected number with bounds and without nulls in private "
                "rows; leave "
                "the constraint out",
                field=where,
            )
    above, below = table.columns[high].bounds, table.columns[low].bounds
    assert above is not None
    assert below is not None
    least = 0 if ">=" in text else 1
    if least and any("int" not in table.columns[each].type for each in (high, low)):
        raise InvalidInput(f"{text}: that is kept of whole numbers; say {high} >= {low}", field=where)
    if below[1] + least > above[1]:
        raise InvalidInput(f"{text}: {low} may be above all that {high} may be; lower its bound", field=where)
    return high, low, least


def fill(targets: list[int | None]) -> list[int | None]:
    """Fill gaps of a key that must not be null: as popular as the drawn targets are."""
    drawn = [each for each in targets if each is not None]
    choice = secrets.SystemRandom().choice
    return [each if each is not None or not drawn else choice(drawn) for each in targets]


def without_circles(parents: list[int | None]) -> list[int | None]:
    """Make parents acyclic: a member of each circle swaps its parent with a row outside its subtree.

    Two rows change a circle, and rows have as many children as before; where no row lies outside, the member
    becomes a root.
    """
    made, state = list(parents), [0] * len(parents)
    roots = [row for row, parent in enumerate(made) if parent is None]
    for row in range(len(made)):
        walked, at = [], row
        while state[at] == 0:
            state[at] = 1
            walked.append(at)
            parent = made[at]
            if parent is None:
                break
            if state[parent] == 1:
                _mend(made, at, roots)
                break
            at = parent
        for each in walked:
            state[each] = 2
    return made


def _mend(made: list[int | None], row: int, roots: list[int]) -> None:
    """Swap the parent of a circle's member with that of a row that hangs on a root."""
    below = set(roots)
    for child, parent in enumerate(made):
        if parent in below:
            made[child], made[row] = made[row], parent
            return
    made[row] = None
    roots.append(row)
