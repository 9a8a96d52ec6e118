"""Sources of graphs besides files.

A database, a folder of Parquet parts, a bucket. Each becomes one file on this machine, in a folder that only
its owner can read and that is removed after the upload. Addresses, names and passwords stay here: the service
is sent the rows and nothing else.
"""

from graphveil.sources.opening import Source, of_files, opened, several
from graphveil.sources.query import Query

__all__ = ["Query", "Source", "of_files", "opened", "several"]
