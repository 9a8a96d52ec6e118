"""What edges carry, given to the edges that a method draws: its share of epsilon, paid tables, values."""
