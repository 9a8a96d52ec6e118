"""What a method is built in. The division of epsilon, the loop over cells, the stored model."""
