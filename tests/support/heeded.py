"""Parameters that many kinds of a method are tried with, of which each kind heeds some."""

from __future__ import annotations

from typing import Any

from core.errors import NotAccepted
from core.methods.base import Method, Parameters, PublicFacts
from core.privacy.accounting.plan import PrivacyPlan


def heeded(generator: Method, facts: PublicFacts, **params: Any) -> tuple[Parameters, PrivacyPlan]:
    """The parameters and their plan, without those that could change nothing beside the others."""
    while True:
        chosen = generator.Params.varied(**params)
        try:
            return chosen, generator.plan(chosen, facts)
        except NotAccepted as refused:
            if "has no effect" not in refused.message:
                raise
            del params[refused.members["field"]]
