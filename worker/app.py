"""Celery, as a doorbell. A message carries an id, is acknowledged early, and may come twice or not at all.

PostgreSQL is the truth: claims decide who works, leases who has stopped, the reaper what is rung again.
"""

from __future__ import annotations

import mmap
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

from celery import Celery, bootsteps, signals
from kombu.entity import Exchange, Queue

from core import logging
from core.outbox.models import Topic
from core.settings import get_settings
from core.tracing import spans
from worker import heartbeat

UPLOADS, WORK, SHARDS, CHECKS = "graphveil-uploads", "graphveil", "graphveil-shards", "graphveil-checks"
"""The queues: files to validate, releases, shards of releases, and what looks at releases afterwards
(comparisons, audits)."""

GPU = Queue("graphveil-gpu", Exchange("graphveil-gpu"), "graphveil-gpu")
"""The queue of releases that wait for a GPU. Only workers that are told of one serve it, and first."""

PREFIX = "graphveil."
NEEDING = "-with."
"""Between a topic and an ability in a task's name: work that needs it has a queue of its own for each."""
GPU_TASK = f"{PREFIX}{Topic.RUN}-gpu"
"""The task of a job that waits for a GPU: its messages have a queue of their own."""

settings = get_settings()


def route_by_ability(name: str, *_args: Any, **_given: Any) -> dict[str, Queue] | None:
    """Route work to the queue of what it needs. It is work that not every worker can do."""
    _, needing, ability = name.partition(NEEDING)
    return {"queue": queue_of(ability)} if needing else None


def queue_of(ability: str) -> Queue:
    """Name the queue of work that needs the ability."""
    name = f"{WORK}-with-{ability}"
    return Queue(name, Exchange(name), name)


app = Celery("graphveil", broker=settings.redis_url, include=["worker.tasks"])
app.conf.update(
    accept_content=["json"],
    task_serializer="json",
    # In this order where a worker serves all, as it does unless it is started with -Q. An upload is short and
    # somebody sits before it: besides going first it has a process of its own, which no long job holds up.
    # A worker with a GPU does what others can do when nothing waits for its GPU.
    task_queues=[
        *([GPU] if settings.gpu else []),
        *(Queue(name) for name in (UPLOADS, WORK, SHARDS, CHECKS)),
    ],
    task_default_queue=WORK,
    task_routes=(
        {
            GPU_TASK: {"queue": GPU},
            "graphveil.ingest": UPLOADS,
            "graphveil.links": UPLOADS,
            "graphveil.shard": SHARDS,
            "graphveil.evaluate": CHECKS,
            "graphveil.audit": CHECKS,
        },
        route_by_ability,
    ),
    task_acks_late=False,  # a lost worker is noticed by its lease, not by the broker
    task_ignore_result=True,
    task_publish_retry=False,  # the relay keeps what could not be sent
    result_backend=None,
    worker_proc_alive_timeout=60,  # a pool process opens what it needs, and holds its GPU, before it says so
    worker_prefetch_multiplier=1,
    worker_disable_prefetch=True,
    worker_hijack_root_logger=False,
    worker_redirect_stdouts=False,
    worker_enable_remote_control=False,
    worker_send_task_events=False,
    broker_connection_retry_on_startup=True,
    broker_transport_options={
        "queue_order_strategy": "priority",
        "socket_connect_timeout": 5,
        "socket_timeout": 30,
        "health_check_interval": 10,
    },
)

# One byte that the pool processes share with their parent: it lives in memory mapped before they are forked.
_drain = mmap.mmap(-1, 1)
_beside: list[subprocess.Popen[bytes]] = []


def task_name(topic: str) -> str:
    """Name the Celery task of the topic's messages. ValueError for an unknown topic.

    Here and not beside the tasks: whoever only sends loads none of the libraries that do the work.
    """
    return PREFIX + Topic(topic).value


def task_needing(topic: str, ability: str) -> str:
    """Name the task of work that needs an ability. It is the topic's, and only workers with the ability may
    do it."""
    return f"{task_name(topic)}{NEEDING}{ability}"


def draining() -> bool:
    """Tell whether this worker is to stop."""
    return _drain[0] == 1


@signals.celeryd_init.connect
def _serve_own_abilities(conf: Any, options: Mapping[str, Any] | None = None, **_: Any) -> None:
    """Serve the queues of what this worker can do beyond others, unless it is told its queues."""
    if (options or {}).get("queues"):
        return
    from core.workflows.jobs import abilities

    every = list(conf.task_queues)
    at = next(index for index, queue in enumerate(every) if queue.name == WORK) + 1
    conf.task_queues = [*every[:at], *map(queue_of, sorted(abilities.beyond())), *every[at:]]


class Beat(bootsteps.StartStopStep):  # type: ignore[misc]  # Celery has no types
    """The main process's heartbeat: its loop, which gives work to the pool, comes round."""

    requires = ("celery.worker.components:Timer",)

    def start(self, parent: Any) -> None:
        """Beat now, and time and again on the loop's own timer."""
        heart = heartbeat.Heartbeat(settings.heartbeat_file)
        heart.beat()
        parent.timer.call_repeatedly(heartbeat.EVERY_SECONDS, heart.beat)


app.steps["worker"].add(Beat)


@signals.worker_init.connect
def _start_only_with_a_whole_ledger(**_: Any) -> None:
    if subprocess.run([sys.executable, "-m", "worker.preflight"], check=False).returncode != 0:
        raise SystemExit(1)


@signals.worker_ready.connect
def _start_compiling(**_: Any) -> None:
    """Compile kernels beside the work, unless only uploads are taken, which need none."""
    if set(app.amqp.queues.consume_from) == {UPLOADS}:
        return
    _beside.append(subprocess.Popen([sys.executable, "-m", "worker.kernels", str(os.getpid())]))
    if draining():  # asked to stop before the process was on the list of those that are stopped
        _stop_compiling()


@signals.worker_shutting_down.connect
def _start_draining(**_: Any) -> None:
    _drain[0] = 1
    _stop_compiling()


def _stop_compiling() -> None:
    for process in _beside:
        process.kill()


@signals.worker_process_init.connect
def _hold_the_gpu(**_: Any) -> None:
    """Hold the GPU from the start on: until it is known to be held, no job is sent for it.

    A worker whose GPU is gone stops, as if asked to: its preflight says when it may start again.
    """
    if not settings.gpu:
        return
    from worker.process import this_process

    held = this_process().own_gpu
    assert held is not None
    held.when_lost = lambda: os.kill(os.getppid(), signal.SIGTERM)


@signals.worker_process_init.connect
def _tell_abilities(**_: Any) -> None:
    """Tell from the start on what this process can do, unless it takes no jobs."""
    if WORK in app.amqp.queues.consume_from:
        from worker import telling
        from worker.process import this_process

        telling.keep(this_process())


@signals.worker_process_shutdown.connect
def _let_the_gpu_go(**_: Any) -> None:
    if settings.gpu:
        from worker.process import this_process

        if (held := this_process().own_gpu) is not None:
            held.let_go()


@signals.worker_process_shutdown.connect
def _send_the_last_spans(**_: Any) -> None:
    spans.stop()


@signals.setup_logging.connect
def _configure_logging(**_: Any) -> None:
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
