"""One release in one process, without a service. It is settled, reserved, made and charged by the same rules.

The plan is settled as the service settles a job's, and the release is made by what the service's child runs.
Where an account is given its amount is reserved before the graph is opened, and charged by then whatever
happens: only what is refused before costs nothing. Releases side by side share the account: what one has
reserved no other can.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from core import ids
from core.errors import InvalidInput, KindNotAllowed, NotAccepted
from core.graphs.schema import Derived, GraphSchema
from core.ledger.amounts import check_delta, delta_cost, epsilon_cost
from core.ledger.filters import delta_left
from core.ledger.in_file import FileAccount, Held
from core.ledger.kinds import Filter
from core.methods import registry
from core.methods.base import Method, Progress, PublicFacts
from core.methods.choice import AUTO
from core.privacy.accounting.accountant import Accountant
from core.privacy.accounting.events import MAX_NANO_EPSILON, NANO
from core.privacy.accounting.meter import TranscriptEntry
from core.privacy.accounting.plan import ATTO, GuaranteeKind
from core.privacy.units import Unit
from core.publishing import checks
from core.publishing.release import run_release
from core.publishing.settle import AskedMethod, Settled, settle, usual_delta
from core.publishing.spec import Plain, ReleaseTask, Size

HERE = "local"
"""What a release that no service made says of its dataset."""


@dataclass(frozen=True)
class Asked:
    """What is requested of a release. A job of the service requests the same. Amounts are exact as decimal
    strings.

    ``public``: the graph is known to all: a seed is taken, and a method without a guarantee. ``nodes``: so
    many are drawn; None: the original's.
    """

    epsilon: str | int | float
    delta: str | int | float | None = None
    unit: Unit = Unit.EDGE
    window: int | None = None
    method: AskedMethod = AUTO
    parameters: Mapping[str, Any] = field(default_factory=dict)
    edge_types: Sequence[str] | None = None
    formats: Sequence[str] = ()
    seed: int | None = None
    public: bool = False
    nodes: int | None = None


@dataclass(frozen=True)
class Task:
    """A release that is settled; nothing of it depends on the data."""

    task: ReleaseTask
    settled: Settled
    facts: PublicFacts


def plan_alone(
    schema: GraphSchema,
    nodes: Mapping[str, int],
    requested: Asked,
    account: FileAccount | None = None,
    derived: Sequence[Derived] = (),
) -> Task:
    """Settle the release; ``nodes`` are the sizes of the node universes.

    Raises what the service would: InvalidInput and its kinds, KindNotAllowed.
    """
    if requested.seed is not None and not requested.public:
        raise InvalidInput("A known seed voids the guarantee: only public datasets take one.", field="seed")
    checks.check_protects(schema, requested.unit, requested.window)
    if (requested.unit is Unit.W_EVENT) != (requested.window is not None):
        raise InvalidInput("the unit w-event needs a window, and no other unit takes one", field="window")
    nano_epsilon, edge_types = (
        epsilon_cost(requested.epsilon),
        checks.protected_relations(schema, requested.edge_types),
    )
    if nano_epsilon > MAX_NANO_EPSILON:
        raise InvalidInput(f"A release has at most epsilon {MAX_NANO_EPSILON // NANO}.", field="epsilon")
    renyi, most_atto, left_atto = False, ATTO, None
    if account is not None:
        book = account.book()
        renyi = book.terms.filter == Filter.RENYI
        most_atto, left_atto = book.terms.delta_atto, partial(delta_left, book.terms, book.balances)
    if requested.delta is None:
        delta_atto = usual_delta(schema, requested.unit, edge_types, nodes, most_atto, left_atto)
    else:
        delta_atto = delta_cost(requested.delta)
        check_delta(delta_atto, most_atto)
    facts = PublicFacts(
        schema,
        requested.unit,
        requested.window,
        nano_epsilon,
        delta_atto,
        edge_types,
        accountant=Accountant.RENYI if renyi else Accountant.PRIVACY_LOSS,
    )
    settled = settle(requested.method, requested.parameters, requested.formats, facts, nodes, had=_Here())
    if settled.plan.cost().kind is GuaranteeKind.NONE and not requested.public:
        raise KindNotAllowed(
            f"{settled.generator.name} so gives no guarantee: it is for graphs that are known to all",
            kind="none",
        )
    if settled.generator.hides_links and not requested.public:
        raise InvalidInput("a list of sensitive links is kept by the service only", field="method")
    params, size = settled.params.model_dump(mode="json"), None
    if requested.nodes is not None:
        checks.check_size(settled.generator.name, params, schema, settled.released)
        size = Size(nodes=requested.nodes, of=sum(nodes.values()))
    release = Plain(
        job_id=ids.new_id(ids.JOB),
        dataset_id=HERE,
        dataset_version=HERE,
        method=settled.generator.name,
        chosen_because=settled.chosen_because,
        params=params,
        unit=facts.unit,
        window=facts.window,
        nano_epsilon=nano_epsilon,
        delta_atto=delta_atto,
        edge_types=facts.edge_types,
        formats=settled.formats,
        seed=requested.seed,
        derived=tuple(derived),
        size=size,
    )
    return Task(ReleaseTask(release=release, plan=settled.plan.to_json()), settled, facts)


class _Here:
    """The methods whose libraries this environment has."""

    def __contains__(self, method: object) -> bool:
        return registry.has(str(method)) and not registry.missing(registry.get(str(method)).needs)

    def refusal(self, generator: Method) -> NotAccepted:
        """Name the libraries, and what installs them."""
        return NotAccepted(missing_here(generator.name, registry.missing(generator.needs)), field="method")


def missing_here(what: str, libraries: Sequence[str]) -> str:
    """Say which libraries ``what`` lacks. They are not installed; it says how to install them."""
    return f"{what} needs {' and '.join(libraries)}, not installed here: pip install 'graphveil[papers]'"


class _Recorder:
    """Tells the account that the graph is about to be opened. From there on the whole plan is spent, so that
    what is read of it need not be durable read by read."""

    def __init__(self, held: Held | None, reservation_id: str) -> None:
        self._held, self._reservation_id = held, reservation_id
        self.opened = False

    def opening(self) -> None:
        """Note it, durably where there is an account."""
        self.opened = True
        if self._held is not None:
            self._held.opening(self._reservation_id)

    def record(self, entry: TranscriptEntry) -> None:
        """Keep nothing: the plan is spent already."""


def make_alone(
    task: Task, graph_folder: Path, out: Path, account: FileAccount | None, progress: Progress
) -> None:
    """Make a release bundle in one process. It is written to ``out``; the account is charged for it.

    Raises what :func:`core.publishing.release.run_release` does and, before the graph is opened,
    BudgetExceeded, UnitMismatch and AccountBlocked. What fails once the graph is opened is charged too;
    AccountBlocked then too, where the account's file was replaced meanwhile: there is no release without its
    charge.
    """
    spec, plan = task.task.release, task.settled.plan
    if account is None:
        _run(task, graph_folder, out, _Recorder(None, ""), progress)
        return
    if plan.cost().kind is GuaranteeKind.NONE:
        # Of an exposed account no epsilon can be claimed again, and the file has no word for that.
        raise NotAccepted(
            "a release without a guarantee would leave the budget's epsilon without meaning: name "
            "graphveil.Budget.unlimited() for a graph that is public",
            field="method",
        )
    terms = account.book().terms
    amounts = plan.spend(terms.filter, terms.orders)
    # The account's file is held throughout, so that releases side by side see each other's reservation.
    with account.held() as held:
        reservation_id = held.reserve(
            amounts, unit=str(spec.unit), window=spec.window, job_id=spec.job_id, apart=plan.apart
        )
        recorder = _Recorder(held, reservation_id)
        try:
            _run(task, graph_folder, out, recorder, progress)
        except BaseException as error:
            # From the opening on a failure can depend on the data, so that failing tells something: it costs.
            if recorder.opened:
                held.forfeit(
                    reservation_id, reason=f"failed after the graph was opened: {type(error).__name__}"
                )
            else:
                held.release(
                    reservation_id, reason=f"refused before the graph was opened: {type(error).__name__}"
                )
            raise
        # Last: the charge names the digests of a bundle that is complete.
        held.charge(reservation_id, digests=digests(out))


def _run(task: Task, graph_folder: Path, out: Path, recorder: _Recorder, progress: Progress) -> None:
    run_release(graph_folder=graph_folder, task=task.task, out=out, recorder=recorder, progress=progress)


def digests(out: Path) -> dict[str, str]:
    """Read the SHA-256 of every released file of the bundle. They go by name."""
    entries = json.loads((out / "manifest.json").read_bytes())
    # Digests of private files would let others try out guesses at what they hold.
    return {each["name"]: each["sha256"] for each in entries if each["role"] != "private"}
