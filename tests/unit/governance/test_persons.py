"""Who is a second person."""

from __future__ import annotations

import pytest

from core.errors import SecondPersonNeeded
from core.identity.models import Role
from core.identity.service import Principal
from core.workflows.identity.persons import require_second_person, same_person


def caller(person: str) -> Principal:
    return Principal("acme", "key_1", "laptop", frozenset({Role.CURATOR}), person)


@pytest.mark.parametrize(
    ("person", "first"),
    [
        ("ada", "ada"),
        ("Ada", "ada "),
        ("STRASSE", "straße"),
        ("ａｄａ", "ada"),  # full width
        ("ﬁona", "FIONA"),  # a ligature
        ("zoe\u0308", "zo\u00eb"),
        ("\u00a0ada", "ada"),
        ("", "ada"),
        ("ada", ""),
        ("", ""),
        (" ", "ada"),
    ],
)
def test_one_person_or_nobody_is_no_second_person(person: str, first: str) -> None:
    with pytest.raises(SecondPersonNeeded):
        require_second_person(caller(person), first)


def test_another_name_is_another_person() -> None:
    require_second_person(caller("bo"), "ada")
    assert not same_person(caller("bo"), "ada")
