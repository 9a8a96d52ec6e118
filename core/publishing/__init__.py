"""One job's pure pipeline: a stored graph and a spec in, a release bundle out.

Both entry points run in a child process without credentials: they read and write folders, and report through
the recorder and the progress callback they are given.
"""

from core.publishing.evaluate import run_evaluation
from core.publishing.release import run_release
from core.publishing.spec import ReleaseSpec

__all__ = ["ReleaseSpec", "run_evaluation", "run_release"]
