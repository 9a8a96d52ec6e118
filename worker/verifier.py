"""``python -m worker.verifier``: checks every promise of the ledger, time and again, and signs its heads.

It also certifies, with the same key, the one that signs evidence packs.

Several may run; an advisory lock lets one at a time work. ``--once`` checks once, and exits 1 where anything
is broken or could not be checked. ``--export`` exports the signed heads at once, and prints them, to be kept
somewhere else.
"""

from __future__ import annotations

import sys

from sqlalchemy.exc import OperationalError

from core import command_line, logging
from core.errors import GraphveilError
from core.logging import get_logger
from core.settings import get_settings
from core.workflows.common.context import Services, open_services
from core.workflows.ledger import evidence_keys, head_exports
from core.workflows.ledger.invariants.run import run_checks
from worker.advisory_lock import alone
from worker.stopping import Stopping

LOCK = 0x67726175  # "grau": one verifier a database

log = get_logger(__name__)


def verify_once(services: Services) -> bool:
    """Check every promise, and export due heads. Returned is whether all promises hold."""
    outcomes = run_checks(services)
    broken = [outcome.name for outcome in outcomes if not outcome.kept]
    log.info("verified", checked=len(outcomes), broken=broken)
    _export_if_due(services)
    _certify_if_due(services)
    return not broken


def _once(services: Services) -> int:
    try:
        return 0 if verify_once(services) else 1
    except OperationalError as error:
        log.error("database_away", error=type(error).__name__)
        return 3


def _export_if_due(services: Services) -> None:
    try:
        if head_exports.export_due(services):
            key, _ = head_exports.export(services)
            log.info("heads_exported", key=key)
    except GraphveilError as error:
        log.error("heads_not_exported", error=type(error).__name__, message=error.message)


def _certify_if_due(services: Services) -> None:
    try:
        key = evidence_keys.certify_if_due(services)
    except GraphveilError as error:
        log.error("evidence_key_not_certified", error=type(error).__name__, message=error.message)
    else:
        if key is not None:
            log.info("evidence_key_certified", key=key)


def _export(services: Services) -> int:
    try:
        key, document = head_exports.export(services)
    except GraphveilError as error:
        log.error("heads_not_exported", error=type(error).__name__, message=error.message)
        return 1
    sys.stdout.write(document.decode() + "\n")
    log.info("heads_exported", key=key)
    return 0


def main() -> int:
    """Verify until requested to stop. Options may say otherwise; returned is the exit code."""
    parser = command_line.parser("worker.verifier", __doc__)
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--once", action="store_true", help="check once; exit 1 where anything is broken")
    ways.add_argument("--export", action="store_true", help="export the signed heads now, and print them")
    asked = parser.parse_args()
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    services = open_services(settings)
    try:
        if asked.export:
            return _export(services)
        if asked.once:
            return _once(services)
        if not settings.head_signing_key.get_secret_value():
            log.warning("no_heads", reason="GRAPHVEIL_HEAD_SIGNING_KEY is empty: a restore cannot be noticed")
        stopping = Stopping()
        log.info("verifier_started")
        alone(services.db, LOCK, lambda: verify_once(services), settings.verifier_poll_seconds, stopping)
        log.info("verifier_stopped")
        return 0
    finally:
        services.close()


if __name__ == "__main__":
    sys.exit(main())
