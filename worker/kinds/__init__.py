"""The kinds of work that a worker can take, one file each; :mod:`worker.work` has their registry."""
