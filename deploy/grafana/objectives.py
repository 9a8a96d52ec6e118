"""Whether the service does what it is meant to: shares against targets, burn rates, time of requests."""

from __future__ import annotations

from deploy.grafana.panels import GREEN, ORANGE, RED, dashboard, figure, lines, table

WINDOWS = ("5m", "1h", "6h", "3d")
SUBMIT = 'graphveil_http_requests_total{route="/jobs",method="POST"'


def _burn(rate: str, slo: str) -> list[tuple[str, str]]:
    allowed = f'(1 - scalar(max(graphveil_slo_target_ratio{{slo="{slo}"}})))'
    return [(f"graphveil:{rate}:ratio_rate{window} / {allowed}", window) for window in WINDOWS]


def _threshold(slo: str) -> tuple[str, str]:
    return f'max(graphveil_slo_threshold_seconds{{slo="{slo}"}})', "objective"


OBJECTIVES = dashboard(
    "graphveil-objectives",
    "Graphveil: objectives",
    "What the service is meant to reach, and how fast it uses up what may go wrong.",
    [
        table("Targets", "max by (slo) (graphveil_slo_target_ratio)", unit="percentunit", width=8, height=6),
        figure("Requests for jobs without a failure, 3 days", "1 - graphveil:submit_errors:ratio_rate3d",
               unit="percentunit", width=8, height=6, steps=((None, RED), (0.999, GREEN)),
               empty="no requests"),
        figure("Jobs that began within ten minutes, 3 days", "1 - graphveil:late_starts:ratio_rate3d",
               unit="percentunit", width=8, height=6, steps=((None, RED), (0.99, GREEN)), empty="none began"),
        lines("Burn rate: requests for jobs", *_burn("submit_errors", "submit"), width=12,
              empty="no requests",
              about="1: exactly what the objective allows. 14.4 for an hour, or 6 for six, pages."),
        lines("Burn rate: jobs that begin late", *_burn("late_starts", "queue_wait"), width=12,
              empty="none began", about="1: exactly what the objective allows."),
        lines("Charged releases that wait to be readable", ("graphveil:publish_lag:seconds", "oldest"),
              _threshold("publish"), unit="s", width=12),
        lines("Promises: longest without a check", ("max(graphveil:checks_age:seconds)", "oldest"),
              _threshold("checks"), unit="s", width=12),
        lines("Requests a second, by status",
              ("sum by (code) (rate(graphveil_http_requests_total[$__rate_interval]))", "{{code}}"),
              unit="reqps", width=12),
        lines("Requests for jobs a second, by status",
              (f"sum by (code) (rate({SUBMIT}}}[$__rate_interval]))", "{{code}}"), unit="reqps", width=12),
        lines("99 % of requests, by route",
              ("histogram_quantile(0.99, sum by (route, method, le) "
               "(rate(graphveil_http_request_duration_seconds_bucket[$__rate_interval])))",
               "{{method}} {{route}}"), unit="s", width=12),
        lines("Problems in an hour, by kind",
              ("sum by (problem) (increase(graphveil_http_problems_total[1h]))", "{{problem}}"), width=12,
              empty="none"),
        figure("Alerts that fire", 'count(ALERTS{alertstate="firing",alertname!=""}) or vector(0)', width=8,
               steps=((None, GREEN), (1, ORANGE))),
        table("Which", 'ALERTS{alertstate="firing"}', width=16, height=6, empty="none"),
    ],
)  # fmt: skip
