"""A structure for each relation. Its parameters, its part of a plan, and the models of all parts."""
