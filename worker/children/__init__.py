"""What children of a worker do, by kind of work. :mod:`worker.sandbox` knows them by path."""
