"""The plan of a method without a guarantee."""

from __future__ import annotations

from core.methods._shared.frame.plan import plan_of
from core.methods.base import PublicFacts
from core.privacy.accounting.events import Unprotected
from core.privacy.accounting.plan import WHOLE_GRAPH, Allotment, PrivacyPlan


def unprotected_plan(method: str, public: PublicFacts, reason: str) -> PrivacyPlan:
    """Plan one unprotected access to the whole graph.

    There is nothing else, and the guarantee is ``none``.
    """
    access = Allotment(WHOLE_GRAPH, None, Unprotected(reason), "unprotected access")
    return plan_of(method, public, [access])
