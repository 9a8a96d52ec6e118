"""Spend outside the service enters the ledger. It only ever counts against the spender."""

from __future__ import annotations

from core.datasets import service as datasets
from core.errors import InvalidInput, StaleEtag
from core.identity.models import Role
from core.identity.service import Principal, require
from core.ledger import repository as budgets
from core.ledger import service as ledger
from core.ledger.amounts import Number, delta_cost, epsilon_cost
from core.ledger.kinds import Filter
from core.ledger.models import BudgetAccount
from core.ledger.terms import order_dimension
from core.privacy.accounting import accountant
from core.privacy.accounting.divergences import rdp
from core.privacy.accounting.events import MAX_NANO_EPSILON, NANO, Pure
from core.privacy.units import Unit
from core.workflows.common.context import Services
from core.workflows.webhooks import announcements
from graphveil.models.ledger import Budget


def adjust_budget(
    services: Services,
    principal: Principal,
    dataset_id: str,
    *,
    epsilon: Number,
    delta: Number,
    reason: str,
    head: str | None = None,
) -> Budget:
    """Raise the account's charged amounts by these. The entry says who said so and why.

    ``head``: the last entry that the caller has seen; where another stands, nothing is done. Name it to make
    a repetition safe. Raises Forbidden, NotFound, InvalidInput, StaleEtag, BudgetExceeded.
    """
    require(principal, Role.CURATOR)
    nano_epsilon, delta_atto = epsilon_cost(epsilon), delta_cost(delta)
    with services.db.transaction() as session:
        dataset = datasets.get(session, principal.tenant, dataset_id)
        # The lock first: the head compared below is then the one that the entry follows.
        account, _ = budgets.lock_account(session, dataset.account_id)
        if head is not None and head != account.last_hash.hex():
            raise StaleEtag("The account has moved on since you read it; read it again.", id=account.id)
        amounts = amounts_of(account, nano_epsilon, delta_atto)
        with announcements.spending(session, services.settings, dataset):
            ledger.adjust(session, account.id, amounts=amounts, actor=principal.key_id, reason=reason)
        return ledger.statement(session, account.id)


def amounts_of(account: BudgetAccount, nano_epsilon: int, delta_atto: int) -> dict[str, int]:
    """Compute what an (epsilon, delta) adds up to in the account's dimensions.

    Under w-event it is untimed: it counts in every window. Under the Rényi filter a pure epsilon is
    min(eps, alpha eps^2 / 2) at each order; a delta has no such curve. Raises InvalidInput.
    """
    if account.filter == Filter.RENYI:
        if delta_atto:
            raise InvalidInput(
                "under the Rényi filter only a pure epsilon can be added: a delta has no Rényi curve",
                field="delta",
            )
        if nano_epsilon > MAX_NANO_EPSILON:
            raise InvalidInput(f"at most epsilon {MAX_NANO_EPSILON // NANO}", field="epsilon")
        orders = list(account.orders or ())
        # Of spend elsewhere only a pure epsilon is known; its curve bounds that of any mechanism of that
        # epsilon.
        curve = rdp(Pure(nano_epsilon, "adjustment"), orders)
        return {
            # Rounded up: an account never holds less than was spent.
            order_dimension(order): accountant.ceil_nano(value)
            for order, value in zip(orders, curve, strict=True)
        }
    # Spend outside of the time grid counts in every window of a w-event account.
    first = "untimed" if account.unit == Unit.W_EVENT else "epsilon"
    return {first: nano_epsilon, "delta": delta_atto}
