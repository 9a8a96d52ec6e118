"""Published systems, and what they compare with. A folder a paper, each with its tables and tests."""
