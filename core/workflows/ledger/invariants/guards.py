"""The database itself still refuses what it was built to refuse."""

from __future__ import annotations

from typing import Any, ClassVar

from core.workflows.ledger.invariants.base import SqlPromise

ALWAYS, AWAKE = "A", "OA"
TRIGGERS = (
    # table, trigger, function, states in which it works; ALWAYS: for replicas and restores too
    ("ledger_entries", "ledger_entries_append_only", "refuse_change", ALWAYS),
    ("metered_reads", "metered_reads_append_only", "refuse_change", ALWAYS),
    ("dataset_policies", "dataset_policies_append_only", "refuse_change", ALWAYS),
    ("budget_accounts", "budget_accounts_raise", "raise_balances", AWAKE),
    ("budget_accounts", "budget_accounts_granted", "check_granted", AWAKE),
    ("budget_balances", "budget_balances_begun", "check_balance", AWAKE),
)
REFUSING = ("refuse_change", "raise_balances", "check_granted", "check_balance")
BALANCE_CHECKS = ("not_negative", "within_capacity", "step_numbered", "window_within_capacity")
UNIQUE = ("uq_ledger_entries_one_reserve", "uq_ledger_entries_one_terminal")


class GuardsStand(SqlPromise):
    """L1, L3 and L5: reads the catalogue only."""

    name = "guards_stand"
    promise = (
        "The triggers that keep tables append-only and capacities granted are awake; the constraints that "
        "keep balances within capacity, and reservations to one ending, stand."
    )
    # What a superuser, or a restore with its triggers off, may have taken away.
    broken = """
        SELECT '' AS tenant, w.name AS subject, 'the trigger is off or gone' AS detail
        FROM unnest(
            CAST(:tables AS text[]), CAST(:triggers AS text[]),
            CAST(:functions AS text[]), CAST(:states AS text[])
        ) AS w (belongs, name, calls, states)
        WHERE NOT EXISTS (
            SELECT FROM pg_trigger AS t JOIN pg_proc AS p ON p.oid = t.tgfoid
            WHERE t.tgrelid = to_regclass(w.belongs) AND t.tgname = w.name AND p.proname = w.calls
                AND strpos(w.states, CAST(t.tgenabled AS text)) > 0
        )
        UNION ALL
        SELECT '', wanted, 'the function refuses nothing'
        FROM unnest(CAST(:refusing AS text[])) AS wanted
        WHERE NOT EXISTS (SELECT FROM pg_proc WHERE proname = wanted AND prosrc LIKE '%RAISE EXCEPTION%')
        UNION ALL
        SELECT '', wanted, 'the check constraint is gone or was never validated'
        FROM unnest(CAST(:checks AS text[])) AS wanted
        WHERE NOT EXISTS (
            SELECT FROM pg_constraint AS c
            WHERE c.conrelid = to_regclass('budget_balances') AND c.contype = 'c' AND c.convalidated
                AND c.conname IN (wanted, 'ck_budget_balances_' || wanted)
        )
        UNION ALL
        SELECT '', wanted, 'the unique index is gone or not valid'
        FROM unnest(CAST(:indexes AS text[])) AS wanted
        WHERE NOT EXISTS (
            SELECT FROM pg_index AS i
            WHERE i.indexrelid = to_regclass(wanted) AND i.indisunique AND i.indisvalid
        )
    """
    parameters: ClassVar[dict[str, Any]] = {
        "tables": [each[0] for each in TRIGGERS],
        "triggers": [each[1] for each in TRIGGERS],
        "functions": [each[2] for each in TRIGGERS],
        "states": [each[3] for each in TRIGGERS],
        "refusing": list(REFUSING),
        "checks": list(BALANCE_CHECKS),
        "indexes": list(UNIQUE),
    }
