"""The console's routes. Each calls a workflow, as the API's route of it does, and shows what it answers."""

from api.console.routes import (
    approvals,
    datasets,
    files,
    jobs,
    operations,
    overview,
    readings,
    register,
    release,
    sign_in,
    streams,
    webhooks,
)

ROUTERS = (
    files.router,
    sign_in.router,
    sign_in.leaving,
    overview.router,
    register.router,
    register.receiving,
    readings.router,
    release.router,
    operations.router,
    datasets.router,
    jobs.router,
    approvals.router,
    streams.router,
    webhooks.router,
    files.nothing,
)
"""In the order in which they are asked; the last one answers what none of the others knows."""
