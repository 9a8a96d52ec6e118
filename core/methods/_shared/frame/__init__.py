"""What a method is built in: the division of epsilon, the loop over cells, the stored model."""
