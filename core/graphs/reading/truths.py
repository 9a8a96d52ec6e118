"""Words for yes and no, which are truth values in one spelling."""

from __future__ import annotations

from collections.abc import Iterable

BOOLEANS = ("false", "true")
"""The one spelling of truths, where nobody declared another."""
_WORDS = """
false true; no yes; f t; n y; nein ja; n j; falsch wahr; non oui; faux vrai; no si; no sí; no sì;
falso verdadero; falso vero; nao sim; não sim; falso verdadeiro; nee ja; nie tak; nej ja; off on
"""
_PAIRS = tuple(tuple(pair.split()) for pair in _WORDS.split(";"))
MEANING = {word: truth for pair in _PAIRS for word, truth in zip(pair, BOOLEANS, strict=True)}


def pair_of(texts: Iterable[str]) -> tuple[str, ...] | None:
    """Find the words for no and yes. They are all that the texts have, in any case; else None."""
    lowered = {each.strip().lower() for each in texts}
    return next((pair for pair in _PAIRS if lowered and lowered <= set(pair)), None)
