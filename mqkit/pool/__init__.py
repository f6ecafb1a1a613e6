"""Confirm channels: the pool that lends them, and the publisher that shares them among calls."""

from __future__ import annotations

from mqkit.pool.channel_pool import ChannelPool, Loan, OpenChannel
from mqkit.pool.publisher import Publisher
from mqkit.transport.confirms import ConfirmLedger

__all__ = ["ChannelPool", "ConfirmLedger", "Loan", "OpenChannel", "Publisher"]
