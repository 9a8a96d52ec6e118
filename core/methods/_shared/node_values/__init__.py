"""Protected attributes of nodes, drawn together with edges: what both pay, labels, and who meets whom."""
