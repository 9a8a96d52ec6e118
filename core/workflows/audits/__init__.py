"""Audits of methods: planned, run, read."""
