"""What a cluster runs, as manifests; and what of them is written by code."""
