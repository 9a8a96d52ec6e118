"""Published systems and what they compare with: a folder a paper, each with its tables and tests."""
