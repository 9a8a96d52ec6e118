"""All relations of a snapshot seen as one typed graph. Also what is measured of it over time."""
