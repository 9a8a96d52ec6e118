"""A structure for each relation: its parameters, its part of a plan, and the models of all parts."""
