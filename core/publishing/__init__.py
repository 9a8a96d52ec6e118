"""One job's pure pipeline. It takes a stored graph and a spec in, a release bundle out.

``release.run_release``, ``evaluate.run_evaluation`` and ``audit.run_audit`` run in a child process without
credentials: they read and write folders, and report through the callbacks they are given. ``spec`` holds what
they are asked to do, without any of their imports.
"""
