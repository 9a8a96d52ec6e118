"""All relations of a snapshot seen as one typed graph, and what is measured of it over time."""
