"""The Helm chart of what a cluster runs; all of it is written by code."""
