"""The notification of a commit, on PostgreSQL. Pure."""

from __future__ import annotations

CHANNEL = "mqkit_outbox"
"""The channel of NOTIFY."""
NOTIFY = f"SELECT pg_notify('{CHANNEL}', '')"
"""PostgreSQL tells at the commit, and once for equal notifications of a transaction."""
