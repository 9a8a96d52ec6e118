"""A release in the forms that catalogues read.

Every form is a pure function of the *public* part of the report and of what its publisher says. None reads
the curator part, the charge or a clock: everyone who may see the release is given the same bytes.
"""
