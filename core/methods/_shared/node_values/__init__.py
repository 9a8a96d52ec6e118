"""Protected node attributes, sampled together with edges. What both pay, labels, and who meets whom."""
