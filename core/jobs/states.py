"""Which step a job may take from which state. What is not in the table is refused.

What becomes of the reservation when a job ends ("opened": the graph was opened, or a metered read recorded,
under this reservation):

| what happened                               | opened | reservation                | job                 |
|---------------------------------------------|--------|----------------------------|---------------------|
| bytes staged, charge committed              | any    | charge, names every digest | published           |
| child failed, killed, too large, too slow,  | yes    | forfeit                    | failed, reason      |
|   broke its plan, wrote an invalid release  | no     | release                    | failed, reason      |
| a stream's snapshot breaks its schema       | no     | release                    | invalid_snapshot    |
| the links to hide were withdrawn meanwhile  | no     | release                    | links_not_named     |
| the catalogue makes no Iceberg table there   | no     | release                    | table_refused       |
| needs a GPU, and for too long no worker had | no     | release                    | accelerator_missing |
| its method is one that no worker has now    | no     | release                    | method_missing      |
|   one                                       |        |                            |                     |
| cancelled by its caller, dataset archived   | yes    | forfeit                    | cancelled           |
|                                             | no     | release                    | cancelled           |
| lease lost, database or storage away, GPU   | yes    | release, reserve anew      | queued              |
|   gone (the driver says so, not the child), | no     | kept                       | queued              |
|   or drained by the operator                |        |                            |                     |
|   ... and the account refuses the new one   | yes    | release                    | budget_exhausted    |
|   ... and no attempt is left                | yes    | release                    | worker_lost         |
|                                             | no     | release                    | worker_lost         |
|   ... and its model is fitted               | yes    | kept                       | queued              |
|   ... and no attempt is left then           | yes    | forfeit                    | drawing_lost        |
| reservation ran out while queued, or while  | no     | expire                     | reservation_expired |
|   awaiting approval                         |        |                            |                     |
| awaits approval: approved                   | no     | kept, no longer runs out   | queued              |
|   ... rejected                              | no     | release                    | rejected, reason    |

A job counts as a give-back, once, when its last reservation is released and an attempt of it had opened the
graph when its lease was lost or its GPU gone: what is in a graph can cost a host its life, and a caller can
ask for that. A database or a storage that was away does not count, nor does a drain: no job brings those
about.

The reservation of a stream's snapshot never runs out: it waits for the snapshots before it. A further sample
of a published model opens nothing and reserves nothing: its reservation of no amounts ends as the rows with
"no" say, and in a charge of no amounts, beside a ``derive`` entry, when it is published.

A job without a guarantee has no amounts: its opening exposes the account, in the transaction that records it,
and whatever becomes of the job, the account stays exposed.

A job whose graph is drawn in shards runs, held by nobody, from when its model is fitted until the last shard
is drawn, and waits then for a worker that joins them. How many shards there are can be seen, and follows from
what was read: so from the fit on its budget is spent whatever happens, and nothing is read again.

A failure after the opening costs its budget because it is an output: whether it happened can depend on the
data, for loading the graph takes time and memory that depend on it.
"""

from __future__ import annotations

from core.errors import InvalidTransition
from core.jobs.models import JobReason
from core.jobs.models import JobState as S

TRANSITIONS: dict[S, frozenset[S]] = {
    # state               may become
    S.AWAITING_APPROVAL: frozenset({S.QUEUED, S.REJECTED, S.CANCELLED, S.FAILED}),
    S.QUEUED: frozenset({S.RUNNING, S.CANCELLED, S.FAILED}),
    S.RUNNING: frozenset({S.PUBLISHING, S.CANCELLING, S.QUEUED, S.FAILED}),
    S.CANCELLING: frozenset({S.CANCELLED}),
    S.PUBLISHING: frozenset({S.PUBLISHED}),
    S.PUBLISHED: frozenset(),
    S.FAILED: frozenset(),
    S.CANCELLED: frozenset(),
    S.REJECTED: frozenset(),
}

TERMINAL = frozenset(state for state, following in TRANSITIONS.items() if not following)

# Has a release, or may still have one.
LIVE = frozenset({S.AWAITING_APPROVAL, S.QUEUED, S.RUNNING, S.PUBLISHING, S.PUBLISHED})

GIVEN_BACK = frozenset({JobReason.WORKER_LOST, JobReason.BUDGET_EXHAUSTED})
"""Reasons for which a reservation returns although the graph may have been opened."""

# Held by a worker under a lease.
LEASED = frozenset({S.RUNNING, S.CANCELLING, S.PUBLISHING})


def check(current: str, following: S) -> None:
    """Refuse a step that is not in the table (InvalidTransition)."""
    if following not in TRANSITIONS[S(current)]:
        raise InvalidTransition(
            f"A job that is {current} cannot become {following}.", state=str(current), asked=str(following)
        )
