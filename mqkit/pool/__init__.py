"""Confirm channels: the pool that lends them, the ledger of their confirms, and the publisher."""

from __future__ import annotations

from mqkit.pool.channel_pool import ChannelPool, Loan, OpenChannel
from mqkit.pool.confirms import ConfirmLedger
from mqkit.pool.publisher import Fill, Publisher
from mqkit.pool.terms import WhenBlocked

__all__ = [
    "ChannelPool",
    "ConfirmLedger",
    "Fill",
    "Loan",
    "OpenChannel",
    "Publisher",
    "WhenBlocked",
]
