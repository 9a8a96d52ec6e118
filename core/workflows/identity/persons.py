"""What takes two persons: who requests it never decides."""

from __future__ import annotations

import unicodedata

from core.errors import SecondPersonNeeded
from core.identity.service import Principal


def require_second_person(principal: Principal, first: str) -> None:
    """Check that another person calls. It is certainly another than ``first``.

    A name on either side that is empty could be anybody's. Case, outer spaces and compatibility forms of
    letters (full width, ligatures) make no other person.
    Raises SecondPersonNeeded.
    """
    if not _name(principal.person) or not _name(first) or same_person(principal, first):
        raise SecondPersonNeeded("This takes a second person: whoever asked for it cannot decide about it.")


def same_person(principal: Principal, other: str) -> bool:
    """Tell whether the caller is that person, as far as names tell."""
    return _name(principal.person) == _name(other)


def _name(person: str) -> str:
    """Fold what looks alike: compatibility forms, then case, whose folding can make such forms anew."""
    folded = unicodedata.normalize("NFKC", person).casefold()
    return unicodedata.normalize("NFKC", folded).strip()
