"""What the methods that perturb single cells share: sizes, the pass over the cells, the stored edges."""
