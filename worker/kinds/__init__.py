"""The kinds of work that a worker can take. There is one file each; :mod:`worker.work` has their registry."""
