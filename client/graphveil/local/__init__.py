"""Releases made on this machine, without a service.

It is the engine's face. The engine is the service's own (``pip install 'graphveil[engine]'``); nothing here
loads it before it is used.
"""
