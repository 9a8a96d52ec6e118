"""What governance watches: what is left of every budget, how fast it goes, what was refused and entered."""

from __future__ import annotations

from deploy.grafana.panels import (
    GREEN,
    LEDGER,
    ORANGE,
    RED,
    WHO,
    bars,
    dashboard,
    figure,
    lines,
    named,
    note,
    override,
    table,
    variable,
)

CHOSEN = '{account=~"$account",unit=~"$unit"}'
REFUSED = 'problem=~"budget-.*|account-.*|policy-refused|kind-not-allowed|unit-mismatch"'
SHARE = ((None, RED), (0.05, ORANGE), (0.2, GREEN))

# As the exporter names an account: its protection domain, and whose share of it it is.
NAME = "CASE scope WHEN 'domain' THEN domain ELSE domain || ', ' || scope || ' ' || scope_name END"
# A w-event account's amounts are by step, a Rényi account's by order: they are shown as they were entered.
ENTRIES = f"""\
SELECT created_at AS "time", {NAME} AS name, account_id AS account, kind, epsilon, delta,
  amounts::text AS amounts, job_id AS job, actor, approver, reason
FROM recent_ledger_entries
WHERE $__timeFilter(created_at) AND account_id IN (${{account:sqlstring}})
ORDER BY created_at DESC LIMIT 200"""
GRANTS = f"""\
SELECT created_at AS "time", {NAME} || ' (' || account_id || '): ' || reason AS text, kind AS tags
FROM recent_ledger_entries
WHERE kind = 'grant' AND $__timeFilter(created_at) AND account_id IN (${{account:sqlstring}})"""


def _now(metric: str) -> str:
    return f"max by (account, unit) ({metric}{CHOSEN})"


BURN = f"graphveil:budget_burn:epsilon_per_day{CHOSEN}"

BUDGET = dashboard(
    "graphveil-budget",
    "Graphveil: budget",
    "What is left of every dataset's privacy budget, where it goes, and when it will be gone.",
    [
        note("Each account is a privacy loss of its own. **Sums over accounts are not a privacy loss.** "
             "Figures are PostgreSQL's; the accounts with the least left are exported."),
        bars("Epsilon left: the 20 fullest accounts",
             named('bottomk(20, graphveil:budget_remaining:ratio{unit=~"$unit"})'), f"{WHO}, {{{{unit}}}}",
             unit="percentunit", width=12, height=10, steps=SHARE,
             about="Below 20 % orange; below 5 % red, and a ticket for the curator."),
        figure("Accounts", "max(graphveil_budget_accounts)", steps=((None, "blue"),),
               about="All of them; only the fullest have gauges."),
        figure("Exposed", "max(graphveil_budget_exposed_accounts)", steps=((None, GREEN), (1, ORANGE)),
               about="After a release without a guarantee no epsilon can be claimed any more."),
        figure("Blocked", "max(graphveil_budget_blocked_accounts)", steps=((None, GREEN), (1, ORANGE)),
               about="Reservations wait until a curator lifts the block."),
        table("Exposed or blocked accounts",
              named("max by (account, unit) (graphveil_budget_exposed) == 1 "
                     "or max by (account, unit) (graphveil_budget_blocked) == 1"),
              width=12, height=6, empty="none"),
        lines("$account: spent and reserved against the capacity",
              (named(_now("graphveil_budget_charged_epsilon")), f"spent {WHO}"),
              (named(_now("graphveil_budget_reserved_epsilon")), f"reserved {WHO}"),
              (named(_now("graphveil_budget_capacity_epsilon")), f"capacity {WHO}"),
              width=24, repeat="account", custom={"stacking": {"mode": "normal", "group": "A"}},
              overrides=({"matcher": {"id": "byRegexp", "options": "^capacity .*"}, "properties": [
                  {"id": "custom.stacking", "value": {"mode": "none", "group": "A"}},
                  {"id": "custom.fillOpacity", "value": 0},
                  {"id": "color", "value": {"mode": "fixed", "fixedColor": RED}}]},)),
        lines("Epsilon left", (named(_now("graphveil_budget_remaining_epsilon")), WHO), width=12),
        lines("Epsilon a day, mean of the last seven", (named(BURN), WHO), width=12,
              about="Of a younger account since it was opened. None of a stream: its windows move on."),
        table("When it will be gone, at that pace",
              named(f"(time() + clamp_max(graphveil:budget_left:seconds{CHOSEN}, 3650 * 86400)) * 1000"),
              unit="dateTimeAsIso", width=12, empty="nothing is being spent",
              about="At most ten years ahead. Nothing is promised: a single large job ends a budget today."),
        lines("Refusals in an hour, by reason",
              (f"sum by (problem) (increase(graphveil_http_problems_total{{{REFUSED}}}[1h]))", "{{problem}}"),
              width=12, empty="none"),
        lines("Delta left", (named(_now("graphveil_budget_remaining_delta")), WHO), width=8,
              empty="these accounts have no delta"),
        lines("Share of delta spent or reserved",
              (named(f"({_now('graphveil_budget_charged_delta')} "
                      f"+ {_now('graphveil_budget_reserved_delta')}) "
                      f"/ {_now('graphveil_budget_capacity_delta')}"), WHO), unit="percentunit", width=8,
              empty="these accounts have no delta"),
        lines("Age of the oldest reservation at work",
              (named("max by (account, unit) (time() - graphveil_budget_oldest_reservation_timestamp_seconds"
                      f"{CHOSEN})"), WHO), unit="s", width=8, empty="none is at work"),
        table("Recent entries", sql=ENTRIES, width=24, height=12, empty="none",
              overrides=(override("reason", custom__width=320),)),
    ],
    variables=[
        variable("unit", "label_values(graphveil_budget_capacity_epsilon, unit)", multi=True, all_value=True),
        variable("account", "query_result(max by (account, name) (graphveil_account_info and on (account) "
                 'graphveil_budget_capacity_epsilon{unit=~"$unit"}))', multi=True, all_value=False,
                 regex='/account="(?<value>[^"]+)".*name="(?<text>[^"]+)"/'),
    ],
    annotations=[{"name": "Grants", "enable": True, "iconColor": "blue", "datasource": LEDGER,
                  "target": {"refId": "Anno", "format": "table", "rawQuery": True, "rawSql": GRANTS}}],
    since="now-7d",
)  # fmt: skip
