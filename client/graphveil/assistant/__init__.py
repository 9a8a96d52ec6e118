"""The service for assistants, by the Model Context Protocol.

There are fewer calls than a key may make. An assistant passes on what it reads, to its maker's servers among
others. So it gets what anybody may know of a release, and never what only curators may know, whatever the
key's roles are.
"""
