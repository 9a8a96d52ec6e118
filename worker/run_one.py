"""``python -m worker.run_one TOPIC ID``: one piece of work without a broker, then the end.

For schedulers that start one container a job. The exit code is 0 when the work was taken, 3 when it was not
free, 1 when no worker may start here (see worker.preflight).
"""

from __future__ import annotations

import sys

from core import command_line, logging
from core.outbox.models import Topic
from core.settings import get_settings
from core.tracing import spans
from worker.preflight import may_work
from worker.process import open_process
from worker.stopping import Stopping
from worker.work import take

NOT_FREE = 3


def main() -> int:
    """Take the work; the exit code."""
    parser = command_line.parser("worker.run_one", __doc__)
    parser.add_argument("topic", choices=[topic.value for topic in Topic])
    parser.add_argument("subject_id")
    asked = parser.parse_args()
    settings = get_settings()
    logging.configure(json_lines=settings.log_json, level=settings.log_level)
    if not may_work(settings):
        return 1
    spans.start(settings, "worker")
    process = open_process(settings)
    try:
        taken = take(process, Topic(asked.topic), asked.subject_id, Stopping())
    finally:
        if process.own_gpu is not None:
            process.own_gpu.let_go()
        spans.stop()
    return 0 if taken else NOT_FREE


if __name__ == "__main__":
    sys.exit(main())
