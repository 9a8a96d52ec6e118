"""What has to hold before a process starts. It is one that reserves, charges or publishes."""

from __future__ import annotations

from itertools import islice

from sqlalchemy.exc import SQLAlchemyError

from core.checks import signed_heads
from core.errors import Conflict, GraphveilError
from core.logging import get_logger
from core.settings import Settings
from core.workflows.common.context import Services, open_services
from core.workflows.ledger import head_exports

SHOWN = 5
"""How many accounts the refusal names."""

log = get_logger(__name__)


def require_whole_ledger(services: Services) -> None:
    """Check that the ledger has lost nothing. It has everything that its newest signed heads know; this holds
    where nothing was ever signed.

    A backup that was restored over newer spend would grant that spend once more. Raises Conflict with the
    accounts that have lost entries, InvalidInput where the heads are not signed by a trusted key,
    StorageError where they cannot be read: in doubt, nothing starts. O(accounts), one document.
    """
    key = head_exports.newest(services.store)
    if key is None:
        return
    document = head_exports.read(services.store, key)
    signed = signed_heads.opened(document, head_exports.trusted_keys(services.settings))
    with services.db.transaction() as session:
        head_exports.snapshot(session)
        lost = [
            f"{found.subject}: {found.detail}"
            # One more than is shown tells whether there are more.
            for found in islice(head_exports.lost(session, signed), SHOWN + 1)
        ]
    if lost:
        more = "; and more" if len(lost) > SHOWN else ""
        raise Conflict(
            f"the ledger has forgotten what {key} has signed, as a restored backup has "
            f"({'; '.join(lost[:SHOWN])}{more}): nothing starts before that spend is restored or recorded, "
            "see docs/verifier.md"
        )


def may_start(settings: Settings) -> bool:
    """Tell whether the process may start its work. :func:`require_whole_ledger` holds on the settings'
    servers; the log says why not."""
    services = open_services(settings)
    try:
        require_whole_ledger(services)
    except GraphveilError as error:
        log.error("not_started", error=type(error).__name__, message=error.message)
        return False
    except SQLAlchemyError as error:
        log.error("not_started", error=type(error).__name__, message="the ledger cannot be read")
        return False
    finally:
        services.close()
    return True
