"""Live streams: opened on a dataset, closed, listed. What a stream will cost follows from public facts only.

A stream is a standing agreement: a dataset, a method, an epsilon for every window of steps. Opening it
reserves nothing; each snapshot reserves its own step's part, and is refused where a window would be
overdrawn.
"""

from __future__ import annotations

from core.errors import Conflict
from core.graphs.schema import GraphSchema
from core.graphs.schema.snapshots import tick_schema
from core.identity.models import Role
from core.identity.service import Principal, require, require_own
from core.jobs import idempotency
from core.logging import get_logger
from core.methods import registry
from core.privacy.units import Unit
from core.publishing.checks import checked_params
from core.publishing.notices import value_notices
from core.reports.notices import lasting_relations, values_left_out
from core.streams import repository, service
from core.streams.models import Stream as Row
from core.streams.models import StreamState
from core.workflows.common import paging
from core.workflows.common.context import Services
from core.workflows.jobs.ground import node_counts
from core.workflows.jobs.questions import told
from core.workflows.streams.requests import StreamRequest
from core.workflows.streams.terms import stream_terms, window_preview
from graphveil.amounts import format_epsilon
from graphveil.models.stream_plans import StreamPlan
from graphveil.models.streams import Stream, Streams

READERS = (Role.REQUESTER, Role.CURATOR, Role.AUDITOR)

log = get_logger(__name__)


def create_stream(
    services: Services, principal: Principal, request: StreamRequest, idempotency_key: str | None
) -> tuple[Stream, bool]:
    """Open the stream. True when an earlier call with this key opened it. Reserves nothing.

    Raises IdempotencyKeyMissing, IdempotencyKeyReused, what :func:`plan_stream` raises, and Conflict while
    the tenant has as many open streams as the settings allow.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    key = idempotency.checked_key(idempotency_key)
    digest = idempotency.payload_hash(request.content())
    with services.db.transaction() as session:
        # Of two with one key the second waits here, and finds the first's stream.
        repository.lock_tenant(session, tenant=principal.tenant)
        earlier = service.earlier(session, tenant=principal.tenant, key=key, digest=digest)
        if earlier is not None:
            return _view(earlier), True
        terms = stream_terms(session, principal, request)
        # For what it refuses; an account that is full now may have room when the steps come.
        window_preview(session, terms.stream, terms.by_step)
        limit = services.settings.max_open_streams
        if repository.count_open(session, tenant=principal.tenant) >= limit:
            raise Conflict(f"{limit} streams are open; close one first.")
        stream = terms.stream
        stream.idempotency_key, stream.payload_hash = key, digest
        session.add(stream)
        session.flush()
        session.refresh(stream)
    log.info("stream_opened", stream_id=stream.id, dataset_id=stream.dataset_id)
    return _view(stream), False


def plan_stream(services: Services, principal: Principal, request: StreamRequest) -> StreamPlan:
    """Compute the cost of each step and window. The stream has these; nothing is changed.

    Raises NotFound, DatasetNotReady, UnknownMethod, InvalidInput with its dotted ``field``, NotAccepted,
    KindNotAllowed, AccountBlocked and AccountExposed.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        terms = stream_terms(session, principal, request)
        stream = terms.stream
        fits, after = window_preview(session, stream, terms.by_step)
        schema = GraphSchema.model_validate(terms.version.graph_schema)
    nodes = node_counts(terms.version, schema)
    own = tick_schema(schema, stream.edge_types, stream.first_step)
    generator = registry.get(stream.method)
    params = checked_params(generator.Params, stream.params)
    precision, expected = told(generator, params, terms.plan, own, nodes, request.assume, stream.edge_types)
    synthesised = stream.edge_types if generator.carries(params) else ()
    notices = (
        *lasting_relations(schema, Unit.W_EVENT, stream.window, stream.edge_types),
        *values_left_out(schema, stream.edge_types, synthesised=synthesised),
        *value_notices(generator, params, terms.plan, own, stream.edge_types, snapshot=True),
    )
    return StreamPlan(
        method=stream.method,
        chosen_because=stream.chosen_because,
        parameters=stream.params,
        unit="w-event",
        window=stream.window,
        edge_types=tuple(stream.edge_types),
        first_step=stream.first_step,
        start=stream.grid_start,
        width=stream.grid_width,
        epsilon=format_epsilon(stream.nano_epsilon),
        step_epsilon=format_epsilon(stream.tick_nano_epsilon),
        window_epsilon=format_epsilon(terms.window_nano_epsilon),
        plan_digest=terms.plan.digest(),
        allotments=len(terms.plan.allotments),
        amounts=terms.amounts,
        window_fits=fits,
        budget_after=after,
        precision=precision,
        expected=expected,
        warnings=tuple(notice.text for notice in notices),
    )


def get_stream(services: Services, principal: Principal, stream_id: str) -> Stream:
    """Return the tenant's stream; NotFound otherwise."""
    require(principal, *READERS)
    with services.db.transaction() as session:
        return _view(service.get(session, tenant=principal.tenant, stream_id=stream_id))


def list_streams(
    services: Services,
    principal: Principal,
    dataset_id: str | None = None,
    state: str | None = None,
    cursor: str | None = None,
    limit: int | None = None,
) -> Streams:
    """One page of the tenant's streams, newest first. InvalidInput: unknown state, bad cursor or limit."""
    require(principal, *READERS)
    paging.require_state(state, StreamState)
    page = paging.paged(services, principal, "streams", cursor, limit, dataset_id=dataset_id, state=state)
    with services.db.transaction() as session:
        rows = repository.page(
            session,
            tenant=principal.tenant,
            dataset_id=dataset_id,
            state=state,
            before=page.before,
            limit=page.size + 1,
        )
    shown, more = page.cut(rows, paging.by_age)
    return Streams(items=[_view(row) for row in shown], next_cursor=more)


def close_stream(services: Services, principal: Principal, stream_id: str) -> Stream:
    """Close the stream to further snapshots. Those that wait are still published. Safe to repeat.

    A requester closes its own streams and its team's, a curator any. Raises NotFound and Forbidden.
    """
    require(principal, Role.REQUESTER, Role.CURATOR)
    with services.db.transaction() as session:
        stream = service.get_locked(session, tenant=principal.tenant, stream_id=stream_id)
        require_own(principal, person=stream.person, team=stream.team)
        service.close(session, stream)
        return _view(stream)


def _view(row: Row) -> Stream:
    """Show the stream as its callers see it."""
    return Stream(
        id=row.id,
        dataset_id=row.dataset_id,
        version_id=row.version_id,
        account_id=row.account_id,
        method=row.method,
        chosen_because=row.chosen_because,
        parameters=row.params,
        edge_types=row.edge_types,
        window=row.window,
        epsilon=format_epsilon(row.nano_epsilon),
        step_epsilon=format_epsilon(row.tick_nano_epsilon),
        start=row.grid_start,
        width=row.grid_width,
        first_step=row.first_step,
        next_step=row.next_step,
        missing_steps=row.missing_steps,
        state=row.state,
        suite=row.suite,
        label=row.label,
        requested_by=row.requested_by,
        created_at=row.created_at,
        closed_at=row.closed_at,
    )
