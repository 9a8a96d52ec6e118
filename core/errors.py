"""The errors that the service raises. They are the tree of :mod:`graphveil.problems`, which its callers have
too."""

from graphveil.problems import *  # noqa: F403  # all of it: a list here would say the tree twice
