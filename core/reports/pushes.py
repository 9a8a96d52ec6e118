"""What is sent to a catalogue upon publication. Catalogues are discovered by module name.

Every emitter is a pure function of the *public* part of the report, its charge included: no figure of the
original, no exact time. Each call replaces what an earlier one wrote, so sending again changes nothing.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import import_module
from typing import Any, Protocol, cast

from core.errors import InvalidInput
from core.reports import emitters
from core.reports.catalogues.context import Context, limits
from core.reports.model import PublicPart
from core.reports.text import plain


@dataclass(frozen=True)
class Call:
    """One request: ``path`` follows the address that was registered; ``content`` becomes JSON."""

    method: str
    path: str
    content: Any
    headers: Mapping[str, str] = field(default_factory=dict)


Calls = Generator[Call, Any, None]
"""Requests in their order. Each is answered, by ``send``, with the JSON that the catalogue answered."""


class Emitter(Protocol):
    """What an emitter's module has."""

    def calls(self, public: PublicPart, context: Context) -> Calls:
        """Say what is sent for this release."""


@cache
def catalogues() -> tuple[str, ...]:
    """List the catalogues that there is an emitter for, by name."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(emitters.__path__)))


def calls(catalogue: str, public: PublicPart, context: Context) -> Calls:
    """Say what is sent to that catalogue for this release. InvalidInput for a catalogue that is not known."""
    if catalogue not in catalogues():
        raise InvalidInput("There is no emitter for this catalogue.", accepted=list(catalogues()))
    # Imported by a name that was checked: it is one of the package's own modules.
    emitter = cast(Emitter, import_module(f"{emitters.__name__}.{catalogue}"))
    return emitter.calls(public, context)


def promised(public: PublicPart) -> dict[str, str]:
    """State what a release promises. These are properties of a catalogue's entry."""
    given, made = public.guarantee, public.provenance
    found = {
        "graphveil_job": made.job_id,
        "method": made.method,
        "guarantee": given.kind,
        "epsilon": given.epsilon,
        "delta": given.delta,
        "unit": given.unit.value,
        "window": None if given.window is None else str(given.window),
        "assurance": plain(given.assurance),
        "plan_digest": made.plan_digest,
    }
    return {name: value for name, value in found.items() if value is not None}


def budget(public: PublicPart) -> dict[str, str]:
    """Say what is left of the original's budget now. It comes as properties of a catalogue's entry."""
    charge = public.charge
    if charge is None:
        return {}
    found = {
        "budget_account": charge.account_id,
        "remaining_epsilon": charge.remaining_epsilon,
        "exposed": str(charge.exposed).lower(),
    }
    return {name: value for name, value in found.items() if value is not None}


def follows_data(public: PublicPart) -> bool:
    """Tell whether the release follows from its dataset's data. Lineage names no original otherwise."""
    return public.guarantee.kind != "unread"


def original_name(public: PublicPart) -> str:
    """Return what the original is called."""
    return plain(public.provenance.dataset_name or public.provenance.dataset_id)


def original_text(public: PublicPart) -> str:
    """Say what the original's entry stands for. What is left of its budget is said, too."""
    left = budget(public)
    said = "Sensitive graph, kept by Graphveil; its content is never served."
    if "remaining_epsilon" in left:
        said += f" Remaining privacy budget: epsilon {left['remaining_epsilon']}."
    if left.get("exposed") == "true":
        said += " A release without a guarantee was made of it: no epsilon can be claimed for it as a whole."
    return said


def guarantee_text(public: PublicPart) -> str:
    """Say what is promised of a release, and what is not."""
    return "\n\n".join([plain(public.guarantee.statement), *limits(public)])
