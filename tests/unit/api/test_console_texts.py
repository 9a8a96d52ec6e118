"""The console's texts: every one stands in the catalogue, and every one there is used."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import api.console
from api.console.texts import catalogue, text, worded

ROOM = Path(api.console.__file__).parent
PAGES = sorted(ROOM.glob("templates/*.html"))
SOURCES = [*PAGES, *sorted(ROOM.rglob("*.py"))]
NAMED = re.compile(r'\b(?:t|text)\("([a-z_]+\.[a-z_-]+)"[,)]')
BUILT = re.compile(r'\b(?:t|text)\(f?"([a-z_]+\.[a-z_]*)(?:" ~|\{)')  # the end of the name follows from data
WORDED = re.compile(r'\bworded\("([a-z_]+)"')
LED_TO = re.compile(r"[?]done=([a-z_]+)|done=\{'([a-z]+)' if .*? else '([a-z]+)'")


def test_every_text_that_is_named_is_in_the_catalogue():
    for source in SOURCES:
        for name in NAMED.findall(source.read_text()):
            assert name in catalogue(), (source.name, name)


def test_every_text_of_the_catalogue_is_used():
    whole = "\n".join(source.read_text() for source in SOURCES)
    named, groups = set(NAMED.findall(whole)), tuple(f"{name}." for name in WORDED.findall(whole))
    starts = tuple(BUILT.findall(whole))
    done = {name for found in LED_TO.findall(whole) for name in found if name}
    unused = [
        name
        for name in catalogue()
        if name not in named
        and not name.startswith(groups + tuple(start for start in starts if start != "done."))
        and not (name.startswith("done.") and name.partition(".")[2] in done)
    ]
    assert unused == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_has_words_of_its_own(page: Path):
    """What is left of a page without its tags and expressions are no words: a translation misses none."""
    rest = re.sub(r"\{[{%].*?[%}]\}", " ", page.read_text(), flags=re.DOTALL)
    rest = re.sub(r"<!doctype html>|<[^>]+>", " ", rest)
    assert re.findall(r"[A-Za-z]{2,}", rest) == []


def test_values_are_filled_in_and_a_missing_one_is_an_error():
    assert text("jobs.epsilon", epsilon="0.5") == "ε 0.5"
    with pytest.raises(KeyError):
        text("jobs.epsilon", delta="0")
    with pytest.raises(KeyError):
        text("jobs.nothing")
    assert worded("reason", "worker_lost") == "its worker was lost too often"
    assert worded("reason", "some_new_reason") == "some new reason"
