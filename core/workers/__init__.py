"""What hosts of workers tell of themselves, for operators."""
