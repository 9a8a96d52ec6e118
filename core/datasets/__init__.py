"""Datasets, their versions and uploaded parts."""
