"""The app: the only place where routers, middleware and handlers meet."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial

from anyio import to_thread
from fastapi import FastAPI

from api.console import routes as console
from api.http import problems, streaming, traces
from api.http.event_streams import EventStreams
from api.http.limits import Limits
from api.http.middleware import Boundary
from api.routes import (
    approvals,
    audits,
    budgets,
    datasets,
    events,
    evidence,
    guides,
    health,
    jobs,
    keys,
    ledger,
    me,
    methods,
    plans,
    policies,
    proposals,
    quotas,
    releases,
    samples,
    sensitive_links,
    streams,
    uploads,
    webhooks,
)
from api.routes import problems as problem_pages
from api.serve.metrics import HttpMetrics
from api.serve.revocations import Revocations
from api.show import folders, openapi
from core.identity.cache import PrincipalCache
from core.settings import Settings
from core.version import package_version
from core.workflows.common.context import Services, open_services
from core.workflows.identity.authenticate import Authenticator
from core.workflows.jobs.events import changes_behind

PREFIXES = ("/v1", "")
"""Every route is served under each; the first is the documented one."""

RESOURCES = (
    jobs,
    plans,
    datasets,
    uploads,
    sensitive_links,
    budgets,
    ledger,
    methods,
    events,
    evidence,
    samples,
    releases,
    streams,
    audits,
    approvals,
    policies,
    proposals,
    quotas,
    keys,
    me,
    webhooks,
)


def create_app(services: Settings | Services) -> FastAPI:
    """Make an app over the given services. Those that it opened from settings, it closes at shutdown."""
    owned = isinstance(services, Settings)
    opened = open_services(services) if isinstance(services, Settings) else services
    metrics = HttpMetrics()

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        to_thread.current_default_thread_limiter().total_tokens = opened.settings.api_threads
        heard = Revocations(app.state.services.settings.database_url, app.state.authenticator.forget)
        heard.start()
        yield
        heard.stop()
        if owned:
            opened.close()

    app = FastAPI(
        title="Graphveil",
        version=package_version(),
        summary="Synthetic graphs under a privacy guarantee that is computed, metered and charged.",
        description=openapi.DESCRIPTION,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url=None,  # served by a route of its own, whose bytes are made once
        openapi_tags=openapi.TAGS,
        generate_unique_id_function=openapi.operation_id,
        redirect_slashes=False,
        telemetry=traces.NOT_THE_FRAMEWORKS_OWN,
    )
    app.state.services = opened
    app.state.metrics = metrics
    app.state.authenticator = Authenticator(opened.settings)
    app.state.limits = Limits(opened.settings)
    app.state.description = openapi.Description(app)
    app.state.seen_sessions = PrincipalCache(
        seconds=opened.settings.session_idle_seconds, entries=opened.settings.key_cache_entries
    )
    app.state.upload_slots = streaming.UploadSlots(opened.settings)
    app.state.event_streams = EventStreams(opened.settings, partial(changes_behind, opened))
    problems.install(app)
    app.add_middleware(Boundary, metrics=metrics, max_header_bytes=opened.settings.max_header_bytes)
    # Routes are tried one after another, twice for each router around them: none around these, jobs first.
    for module in RESOURCES:
        for prefix in PREFIXES:
            app.include_router(
                module.router,
                prefix=prefix,
                include_in_schema=prefix == PREFIXES[0],
                responses=openapi.EVERYWHERE,
            )
    for router in console.ROUTERS:
        app.include_router(router)
    app.include_router(health.router)
    app.include_router(health.asking)
    app.include_router(problem_pages.router)
    app.include_router(guides.router)
    folders.mount(app)
    return app
