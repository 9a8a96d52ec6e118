"""Whether the ledger can be believed: every promise, when it was checked, and the heads of the chains."""

from __future__ import annotations

from deploy.grafana.panels import ALARMING, GREEN, ORANGE, RED, WHO, dashboard, figure, lines, named, table

INTEGRITY = dashboard(
    "graphveil-ledger",
    "Graphveil: ledger integrity",
    "All green, or somebody is awake. Each promise is checked in production, time and again.",
    [
        figure("Promises: places in which each is broken",
               "max by (invariant) (graphveil_invariant_violations)", "{{invariant}}",
               width=24, height=9, steps=ALARMING, empty="never checked"),
        figure("Longest without a check", "max(graphveil:checks_age:seconds)", unit="s", width=6,
               steps=((None, GREEN), (900, ORANGE), (1800, RED))),
        figure("Oldest unsent message", "graphveil:outbox_waiting:seconds", unit="s", width=6,
               steps=((None, GREEN), (60, ORANGE), (120, RED))),
        figure("Oldest charged release that waits", "graphveil:publish_lag:seconds", unit="s", width=6,
               steps=((None, GREEN), (120, ORANGE), (300, RED))),
        figure("Oldest reservation at work",
               "max(time() - graphveil_budget_oldest_reservation_timestamp_seconds) "
               "or max(graphveil_outbox_unsent * 0)",
               unit="s", width=6, steps=((None, GREEN), (21600, ORANGE), (43200, RED))),
        lines("Since the last check, by promise", ("graphveil:checks_age:seconds", "{{invariant}}"), unit="s",
              width=12),
        lines("Entries in an hour, by kind",
              ("max by (kind) (increase(graphveil_ledger_entries_total[1h]))", "{{kind}}"), width=12),
        lines("Entries of each account", (named("max by (account) (graphveil_ledger_head_sequence)"), WHO),
              width=12, about="A line that falls: an older database was put in place."),
        table("Heads: first 48 bits of the last entry's hash",
              named("max by (account) (graphveil_ledger_head_fingerprint)"), unit="none", width=12,
              about="Kept here outside the database: the same number of entries must keep the same head."),
        lines("Readings and failures of the exporter",
              ("sum by (instance) (rate(graphveil_exporter_scrapes_total[5m]))", "readings"),
              ("sum by (instance) (rate(graphveil_exporter_scrape_errors_total[5m]))", "failures"),
              unit="reqps", width=12),
        lines("What a reading takes", ("max by (instance) (graphveil_exporter_read_duration_seconds)",
                                       "{{instance}}"), unit="s", width=6),
        table("What runs", "max by (job, instance, version) (graphveil_build_info)", width=6),
    ],
)  # fmt: skip
