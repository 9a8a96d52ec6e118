"""The embedded stack: PostgreSQL 18, Redis, api, worker and their helpers on one machine, no Docker, no root.

Same code paths as production; only the addresses differ. Where an address is set from outside
(``GRAPHVEIL_DATABASE_URL``, ``GRAPHVEIL_REDIS_URL``, ``GRAPHVEIL_STORAGE_URL``), that server is used instead.
"""
