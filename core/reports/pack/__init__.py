"""The files of an evidence pack for people. With them stands the manifest of them all.

Functions of what is public in a release and its dataset; of the ledger where the edition says so.
"""
