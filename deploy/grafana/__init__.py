"""Grafana as code: what it reads (provisioning), and what it shows (dashboards, written by ``build``)."""
