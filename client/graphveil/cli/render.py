"""Answers for people."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from rich.markup import escape
from rich.text import Text

from graphveil.cli.console import out, table
from graphveil.cli.render_reading import reading
from graphveil.cli.render_report import report
from graphveil.cli.render_risk import learned
from graphveil.models.datasets import Dataset
from graphveil.models.jobs import Evaluation, Job
from graphveil.models.ledger import Budget
from graphveil.models.plans import Expected, Method, Plan
from graphveil.models.reports import Precision, quantity_of, subject_of
from graphveil.risk import THIS, WHOLE, rows

__all__ = ["budget", "dataset", "datasets", "job", "jobs", "methods", "plan", "report"]

BAR_WIDTH = 50
_STATES = {
    "published": "green",
    "ready": "green",
    "proposed": "yellow",
    "intact": "green",
    "failed": "red",
    "rejected": "red",
    "cancelled": "yellow",
    "refused": "red",
    "violated": "red",
    "stale": "yellow",
    "archived": "dim",
    "closed": "dim",
    "revoked": "dim",
    "expired": "dim",
}


def coloured(state: str) -> str:
    """Write the state in its colour."""
    style = _STATES.get(state, "cyan")
    return f"[{style}]{state}[/{style}]"


def _unit(unit: str, window: int | None) -> str:
    return f"{unit} ({window} steps)" if window else unit


def dataset(found: Dataset) -> None:
    """Print one dataset, with what to do next."""
    out.print(f"[bold]{escape(found.name)}[/bold]  {found.id}  {coloured(found.state)}")
    out.print(f"unit {_unit(found.unit, found.window)}, account {found.account_id}")
    if found.exposed:
        out.print("[red]Exposed: a job without a guarantee has opened a graph of its account.[/red]")
    if found.version:
        out.print(f"version {found.version.number}: {coloured(found.version.state)}")
        _read(found.version.ingest_report or {})
        for file in found.version.readings:
            reading(found.id, file)
        for each in found.version.read_off:
            out.print(f"[yellow]Read off the data, outside epsilon:[/yellow] {escape(each.text)}")
    if found.proposed_schema:
        out.print("A schema is proposed:")
        out.print_json(data=found.proposed_schema)
        out.print(
            "[bold]To confirm it makes it public.[/bold] As it is: "
            f"graphveil confirm-schema {found.id} --accept --wait\n"
            f"Corrected, in a file: graphveil confirm-schema {found.id} schema.json --wait"
        )


def _read(report: Mapping[str, Any]) -> None:
    """Print what was read of an upload, in numbers, then what its curator should know."""
    if "message" in report:
        out.print(escape(str(report["message"])))
    nodes, edges = report.get("nodes") or {}, report.get("edges") or {}
    if nodes:
        counted = [f"{count} {escape(name)}" for name, count in nodes.items()]
        counted += [f"{counts['edges']} {escape(name)}" for name, counts in edges.items()]
        dropped = f"{report.get('duplicates_merged', 0)} duplicates merged"
        loops = f"{report.get('loops_dropped', 0)} loops dropped"
        out.print(f"{report.get('rows_read', 0)} rows read: {_few(counted)}; {dropped}, {loops}")
    warned(report.get("warnings") or ())


def _few(parts: Sequence[str], most: int = 12) -> str:
    """Join the parts on one line: of many, the first."""
    more = f" and {len(parts) - most} more" if len(parts) > most else ""
    return ", ".join(parts[:most]) + more


def datasets(found: Sequence[Dataset]) -> None:
    """Print a line for each."""
    made = table(None, "id", "name", "state", "unit")
    for one in found:
        made.add_row(one.id, escape(one.name), coloured(one.state), _unit(one.unit, one.window))
    out.print(made)


def methods(found: Sequence[Method]) -> None:
    """Print a paragraph for each."""
    for method in found:
        out.print(f"[bold]{method.name}[/bold]  {escape(method.title)}  [dim]({method.assurance})[/dim]")
        out.print(f"  {escape(method.summary)}")
        takes = ", ".join(name for name, taken in method.accepts.items() if taken)
        out.print(
            f"  [dim]units {', '.join(method.units)}; {', '.join(method.kinds)} epsilon; takes {takes}[/dim]"
        )
        for name, schema in method.parameters.get("properties", {}).items():
            default = f" [dim](default {schema['default']})[/dim]" if "default" in schema else ""
            out.print(f"    {name}: {escape(schema.get('description', ''))}{default}")


def plan(found: Plan) -> None:
    """Print the price, and what would be left."""
    cost = found.cost
    price = "no guarantee" if cost.epsilon is None else f"epsilon {cost.epsilon}, delta {cost.delta}"
    relations = ", ".join(found.edge_types)
    out.print(f"[bold]{found.method}[/bold] on {escape(relations)}: {price} ({cost.kind}),")
    out.print(f"unit {_unit(found.unit, found.window)}, {found.allotments} metered operations")
    if found.protects is not None:
        out.print(f"It hides {escape(found.protects)}.")
    chosen(found.chosen_because)
    if found.solved is not None:
        why = f": {found.solved.binds} takes it" if found.solved.binds else ", the least that is taken"
        out.print(f"[bold]epsilon {found.solved.epsilon}[/bold] is the smallest that meets the target{why}.")
    for each in found.node_prices:
        out.print(
            f"All edges of one {escape(each.node_type)} (at most {each.edges}), replaced by any others: "
            f"epsilon {each.epsilon}, delta {each.delta}"
        )
    if found.shares:
        out.print(f"Epsilon is divided: {divided(found.shares)}.")
    whole = found.budget_after.capacity
    if cost.epsilon is not None:
        learned(rows([(THIS, cost.epsilon, cost.delta), (WHOLE, whole.epsilon, whole.delta)]))
    precision(found.precision)
    expected(found.expected)
    warned(found.warnings)
    if found.identical_to is not None:
        out.print(f"[yellow]Job {found.identical_to} has the same content: its release is free.[/yellow]")
    if found.needs_approval:
        out.print("[yellow]It would wait for a second curator's approval.[/yellow]")
    out.print("After this job the budget would be:")
    budget(found.budget_after)
    for quota in found.quotas_after:
        out.print(f"and the quota of {quota.scope} {escape(quota.scope_name or '')}:")
        budget(quota)


def precision(found: Sequence[Precision]) -> None:
    """Print the error bounds of paid figures. There is a row for each relation and quantity."""
    if not found:
        return
    made = table(None, "relation", "what is counted", "within", "deviation")
    for each in found:
        spread = "" if each.deviation is None else f"{each.deviation:.3g}"
        made.add_row(escape(subject_of(each)), quantity_of(each), str(each.within), spread)
    out.print(f"Each figure that is paid for will be so near to the truth, with {found[0].confidence:.0%}:")
    out.print(made)


def expected(found: Sequence[Expected]) -> None:
    """Print the expected errors of answers to common questions.

    They follow from the noise; how each answer is derived is printed once.
    """
    if not found:
        return
    made = table(None, "relation", "question", "answer", "assumed")
    for each in found:
        answer = answer_of(each.value, each.unit)
        made.add_row(escape(each.edge_type), each.question, answer, escape(each.assumed or ""))
    out.print("What follows from that, before anything is spent:")
    out.print(made)
    for question, method in {each.question: each.method for each in found}.items():
        out.print(f"[dim]{question}: {escape(method)}[/dim]")


def divided(shares: Mapping[str, float]) -> str:
    """Write each read's share of epsilon."""
    return ", ".join(f"{name} {share:.3g}" for name, share in shares.items())


def answer_of(value: float, unit: str) -> str:
    """Write a derived answer with its unit. Shares are per cents."""
    if unit.startswith("share of"):
        return f"{value:.2%} of{unit[8:]}"
    return f"{value:,.0f} {unit}" if value >= 100 else f"{value:.3g} {unit}"


def chosen(reason: str | None) -> None:
    """Print why auto chose the method, where it did."""
    if reason is not None:
        out.print(f"[dim]chosen by auto: {escape(reason)}[/dim]")


def warned(warnings: Sequence[str]) -> None:
    """Print what the promise leaves open, a line for each."""
    for warning in warnings:
        out.print(f"[yellow]{escape(warning)}[/yellow]")


def budget(found: Budget) -> None:
    """Print a budget's bar and figures. The bar is of charged, reserved and remaining."""
    out.print(_bar(found))
    made = table(None, "", "epsilon", "delta")
    for name in ("charged", "reserved", "remaining", "capacity"):
        amount = getattr(found, name)
        made.add_row(name, amount.epsilon, amount.delta)
    out.print(made)
    unit = _unit(found.unit, found.window)
    out.print(f"[dim]unit {unit}, filter {found.filter}, domain {escape(found.domain)}[/dim]")
    if found.tightest_window:
        first, last = found.tightest_window
        out.print(f"[dim]figures of the fullest window: steps {first} to {last}[/dim]")
    if found.blocked:
        out.print("[red]Blocked: too many jobs in a row gave their budget back.[/red]")
    if found.exposed:
        out.print("[red]Exposed: a job without a guarantee has opened a graph.[/red]")


def _bar(found: Budget) -> Text:
    capacity = Decimal(found.capacity.epsilon)
    parts = [max(Decimal(0), Decimal(getattr(found, name).epsilon)) for name in ("charged", "reserved")]
    cells = [int((part / capacity * BAR_WIDTH).to_integral_value()) if capacity else 0 for part in parts]
    charged = min(cells[0], BAR_WIDTH)
    reserved = min(cells[1], BAR_WIDTH - charged)
    bar = Text()
    bar.append("█" * charged, style="red")
    bar.append("█" * reserved, style="yellow")
    bar.append("░" * (BAR_WIDTH - charged - reserved), style="green")
    return bar.append(f"  epsilon {found.remaining.epsilon} of {found.capacity.epsilon} left")


def job(found: Job) -> None:
    """Print one job, with what to do next."""
    reason = f" ({found.reason})" if found.reason else ""
    out.print(f"[bold]{found.id}[/bold]  {coloured(found.state)}{reason}")
    out.print(
        f"{found.method} on {escape(', '.join(found.edge_types))}, unit {_unit(found.unit, found.window)}, "
        f"epsilon {found.epsilon}, delta {found.delta}"
    )
    chosen(found.chosen_because)
    if found.stream_id is not None:
        out.print(f"step {found.step} of {found.stream_id}")
    if found.sample_of is not None:
        out.print(f"a further sample of {found.sample_of}, charged nothing")
    if found.kind == "unread":
        out.print("made from declarations, nothing read, charged nothing")
    if found.size is not None:
        out.print(f"drawn with {found.size.nodes} nodes; the original has {found.size.of}")
    if found.shards is not None:
        out.print(f"{found.shards.drawn} of {found.shards.total} shards drawn")
    for each in found.tables:
        out.print(f"table {escape(each.name)}, snapshot {each.snapshot}")
    if found.budget is not None:
        out.print(f"budget {found.budget.outcome}: {escape(found.budget.text)}")
    if found.evaluation is not None:
        out.print(f"evaluation ({found.suite}): {_evaluation(found.evaluation)}")
    if found.approval is not None:
        said = f"{escape(found.approval.decided_by)}: {escape(found.approval.reason)}"
        word = "rejected" if found.state == "rejected" else "approved"
        out.print(f"{word} by {said}")
    if found.state == "awaiting_approval":
        out.print(f"[dim]a second curator: graphveil approve {found.id} --reason ...[/dim]")
    if found.state == "published":
        out.print(f"[dim]graphveil report {found.id}; graphveil download {found.id}[/dim]")


def _evaluation(found: Evaluation) -> str:
    """Write the evaluation's state, and while it runs the stage and its steps."""
    if found.state != "running" or found.stage is None:
        return found.state
    return f"{found.stage}, {found.done} of {found.total}"


def jobs(found: Sequence[Job]) -> None:
    """Print two lines for each, at most 80 columns wide. First id and state, then what was requested."""
    for one in found:
        created = one.created_at.strftime("%Y-%m-%d %H:%M")
        out.print(f"{one.id}  [dim]{created}[/dim]  {coloured(one.state)}")
        told = (one.method, f"epsilon {one.epsilon}", one.reason, one.label and escape(one.label))
        out.print(f"    {', '.join(filter(None, told))}")
