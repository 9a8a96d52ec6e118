"""Names and models that schemas are made of. They are models that are closed and cannot change."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Sequence
from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

PLAIN = r"^[A-Za-z][A-Za-z0-9_-]{0,62}$"
Name = Annotated[str, Field(pattern=PLAIN)]
MAX_SHOWN = 128
"""How many letters the name of a type may have in files."""
# Letters that NFKD does not take apart.
_LETTERS = str.maketrans({"ł": "l", "Ł": "L", "ø": "o", "Ø": "O", "æ": "ae", "Æ": "Ae", "đ": "d"})
_LENGTH = 63
_APART = "_attribute"
_TOLD = 8  # columns that a remark names


class Frozen(BaseModel):
    """A part of a schema: an unknown field is refused, and none changes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


def _printable(text: str) -> str:
    if not is_shown(text):
        raise ValueError("a type is shown by printable letters, without spaces around them")
    return text


Shown = Annotated[str, Field(min_length=1, max_length=MAX_SHOWN), AfterValidator(_printable)]
"""How files name a type."""


def is_plain(text: object) -> bool:
    """Tell whether the text is a plain name. A letter comes first, then letters, digits, ``_`` and ``-``."""
    return isinstance(text, str) and re.fullmatch(PLAIN, text) is not None


def is_shown(text: object) -> bool:
    """Tell whether files may name a type so. Such a name is printable, without spaces around it, of 128
    letters at most."""
    return (
        isinstance(text, str) and 0 < len(text) <= MAX_SHOWN and text.isprintable() and text == text.strip()
    )


def plain_name(text: str) -> str:
    """Make a plain name of any text. It writes ``Größe`` as ``Grosse``, ``2020 votes`` as ``x2020_votes``.

    A letter that has no plain form is written as its number. The same text has the same name everywhere.
    """
    letters = "".join(
        _plain_letter(letter) for letter in unicodedata.normalize("NFKD", text.translate(_LETTERS))
    )
    name = re.sub(r"[^A-Za-z0-9_-]+", "_", letters).strip("_-")
    return (name if name[:1].isalpha() else f"x{name}")[:_LENGTH]


def _plain_letter(letter: str) -> str:
    if letter.isascii() or unicodedata.combining(letter):
        return letter if letter.isascii() else ""
    # Such as ``ß``, which is ``ss``.
    folded = letter.casefold()
    if folded.isascii():
        return folded
    return f"u{ord(letter):x}" if letter.isalnum() else "_"


def apart(name: str) -> str:
    """Name a column that is called as structure is, which it is not."""
    return plain_name(f"{name}{_APART}")


def column_names(given: Sequence[str], structural: Collection[str] = ()) -> list[str]:
    """Name columns of values plainly. Those that would share a name keep their own, which no schema can hold.

    A column that has the name of what is ``structural`` is called its attribute: ``id`` is ``id_attribute``.
    """
    made = [
        apart(column) if column in structural else column if is_plain(column) else plain_name(column)
        for column in given
    ]
    often = Counter(made)
    return [name if often[name] == 1 else own for own, name in zip(given, made, strict=True)]


def renamed(given: Sequence[str], names: Sequence[str]) -> str | None:
    """Tell a curator which columns are renamed. They are called otherwise than in their file; None where none
    is."""
    changes = [f"{own!r} is {name}" for own, name in zip(given, names, strict=True) if own != name]
    if not changes:
        return None
    more = f" and {len(changes) - _TOLD} more" if len(changes) > _TOLD else ""
    return (
        f"Columns are called otherwise here, in schemas and in releases: {', '.join(changes[:_TOLD])}{more}."
    )


def type_names(shown: Sequence[str]) -> dict[str, str]:
    """Name types plainly, as files name them. What would share a name is numbered, in sorted order."""
    # A plain name stays as it is, whatever others become.
    taken = {name_shown for name_shown in shown if is_plain(name_shown)}
    named = {name_shown: name_shown for name_shown in taken}
    for name_shown in sorted(set(shown) - taken):
        name, number = plain_name(name_shown), 2
        while name in taken:
            # A long name's end gives way to the number.
            ending = f"-{number}"
            name, number = plain_name(name_shown)[: _LENGTH - len(ending)] + ending, number + 1
        taken.add(name)
        named[name_shown] = name
    return named
