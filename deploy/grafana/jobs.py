"""What operators watch by day: the queue, what runs, how it ends, and who does the work."""

from __future__ import annotations

from deploy.grafana.panels import GREEN, ORANGE, RED, dashboard, figure, lines, table

WAITS = "graphveil_job_queue_wait_seconds_bucket"
RUNS = "graphveil_job_duration_seconds_bucket"
FAILED = 'sum by (method, reason) (graphveil_jobs_finished_total{outcome="failed"})'
# A series begins with its first failure, which increase() does not count.
FAILED_BEFORE = 'sum by (method, reason) (graphveil_jobs_finished_total{outcome="failed"} offset 1d)'


def _quantile(share: float, buckets: str, by: str = "le") -> str:
    return f"histogram_quantile({share}, sum by ({by}) (rate({buckets}[$__rate_interval])))"


JOBS = dashboard(
    "graphveil-jobs",
    "Graphveil: jobs",
    "The queue, what runs, how it ends, and which workers do it. Times are coarse by intention.",
    [
        figure("Queued", 'max(graphveil_jobs{state="queued"})', steps=((None, GREEN), (100, ORANGE))),
        figure("Running", 'max(graphveil_jobs{state="running"})', steps=((None, "blue"),)),
        figure("Awaiting approval", 'max(graphveil_jobs{state="awaiting_approval"})',
               steps=((None, GREEN), (1, ORANGE))),
        figure("First in the queue waits", "graphveil:job_waiting:seconds", unit="s",
               steps=((None, GREEN), (120, ORANGE), (600, RED))),
        figure("Hosts at work", "count(max by (worker) (graphveil_worker_heartbeat_timestamp_seconds))",
               steps=((None, "blue"),), empty="none", about="Idle workers hold nothing and are not seen."),
        figure("Lost attempts in a day", "max(increase(graphveil_job_lost_attempts_total[1d]))",
               steps=((None, GREEN), (1, ORANGE), (10, RED))),
        lines("Uploads to validate, by state", ("max by (state) (graphveil_uploads)", "{{state}}"), width=12),
        lines("Shards to draw, by state", ("max by (state) (graphveil_shards)", "{{state}}"), width=12),
        lines("Jobs under way, by state",
              ('max by (state) (graphveil_jobs{state!~"published|failed|cancelled|rejected"})', "{{state}}"),
              width=12),
        lines("Running, by method", ("max by (method) (graphveil_jobs_running) > 0", "{{method}}"), width=12,
              empty="none runs", custom={"stacking": {"mode": "normal", "group": "A"}}),
        lines("Ended in an hour, by outcome",
              ("sum by (outcome) (increase(graphveil_jobs_finished_total[1h]))", "{{outcome}}"), width=12,
              custom={"stacking": {"mode": "normal", "group": "A"}}),
        lines("Share that is published, by method, of a day",
              ('sum by (method) (increase(graphveil_jobs_finished_total{outcome="published"}[1d])) '
               "/ (sum by (method) (increase(graphveil_jobs_finished_total[1d])) > 0)", "{{method}}"),
              unit="percentunit", width=12, empty="none has ended"),
        table("Failures of a day, by reason",
              f"{FAILED} - ({FAILED_BEFORE} or 0 * {FAILED}) > 0",
              width=12, empty="none"),
        lines("Attempts lost in an hour",
              ("max(increase(graphveil_job_lost_attempts_total[1h]))", "attempts"), width=12,
              about="A worker was gone, or was told to stop, in the middle of a job."),
        lines("Wait for a worker", (_quantile(0.5, WAITS), "half"), (_quantile(0.95, WAITS), "95 %"),
              (_quantile(0.99, WAITS), "99 %"), unit="s", width=12, empty="none has begun"),
        lines("Run time, 95 % of each method", (_quantile(0.95, RUNS, "method, le"), "{{method}}"), unit="s",
              width=12, empty="none has ended"),
        lines("Last sign of life of hosts at work",
              ("min by (worker) (time() - graphveil_worker_heartbeat_timestamp_seconds)", "{{worker}}"),
              unit="s", width=12, empty="no host is at work"),
        lines("GPU memory in use",
              ("max by (worker, gpu) (graphveil_worker_gpu_memory_used_bytes) "
               "/ max by (worker, gpu) (graphveil_worker_gpu_memory_capacity_bytes)", "{{worker}} {{gpu}}"),
              unit="percentunit", width=12, empty="no host has a GPU",
              about="In sixteenths, rounded up. Who uses it is not told."),
        lines("Jobs that wait for a GPU",
              ("max(graphveil_jobs_waiting_for_gpu)", "jobs"), ("max(graphveil_gpus_held)", "GPUs held"),
              width=12,
              about="A GPU is held by one worker, idle or not. Other workers do not take these jobs."),
        lines("Messages that wait", ("max(graphveil_outbox_unsent)", "messages"),
              ("graphveil:outbox_waiting:seconds", "age of the oldest"), width=12,
              overrides=({"matcher": {"id": "byName", "options": "age of the oldest"},
                          "properties": [{"id": "unit", "value": "s"}]},)),
    ],
)  # fmt: skip
