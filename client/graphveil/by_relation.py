"""A method's name, or methods by relation, written as text: ``knows=dcsbm,*=auto``."""

from __future__ import annotations


def read(text: str) -> str | dict[str, str]:
    """Read a method's name, or methods by relation between commas. ValueError for anything else."""
    if "=" not in text:
        return text
    named = [each.strip().partition("=") for each in text.split(",")]
    if not all(relation and method for relation, _, method in named):
        raise ValueError("is not RELATION=METHOD,...")
    return {relation: method for relation, _, method in named}
