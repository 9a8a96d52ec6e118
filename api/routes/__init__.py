"""One module per noun. A route translates; the rules live in the workflows."""
