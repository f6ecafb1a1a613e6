"""The seam to the network, and the adapters behind it.

Adapters are imported by name (:mod:`mqkit.transport.over_aio_pika.adapter`,
:mod:`mqkit.transport.over_pika.adapter`): who needs one should not load the other.
"""

from __future__ import annotations

from mqkit.transport.seam import Channel, Connection, Credentials, Endpoint, Transport

__all__ = ["Channel", "Connection", "Credentials", "Endpoint", "Transport"]
