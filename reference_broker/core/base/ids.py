"""Numbers and names that are never given twice, not even after a restart.

63             32              0
| epoch        | counter       |
"""

from __future__ import annotations

import base64
import hashlib

from reference_broker.errors import ConnectionException, ReplyCode

MAX_IDS = 1 << 32
"""Of one epoch; the next number would be one of the next epoch. A broker that makes a thousand
queues a second gets there after seven weeks, and is restarted."""

BLOCKS_MAX = (1 << 30) - 1
"""Of a cluster, one for each start of a node. Bit 62 of an id is one of a cluster's, and 0 in those
of a broker on its own: a folder that joins a cluster keeps the queues that it has."""

_OF_A_CLUSTER = 1 << 30

_CLUSTER_BIT = 1 << 62

_TOKEN_BYTES = 16

TOKEN_LENGTH = 22
"""Characters of a token."""


def is_of_cluster(id: int) -> bool:
    """True for an id that no broker on its own gives."""
    return bool(id & _CLUSTER_BIT)


class Ids:
    """One per broker, shared by its virtual hosts: an entry in the log names its queue by number
    alone. Numbers rise, which keeps the order of declarations.

    The core has no randomness of its own (law 1): ``secret``, of up to 64 bytes, is what makes
    tokens hard to guess, and different from those of the same broker before a restart without a
    log. A runtime hands in fresh random bytes, a simulator what its seed gives.
    """

    __slots__ = ("_epoch", "_given", "_secret", "_tokens")

    def __init__(self, epoch: int, secret: bytes = b"", *, given: int = 0) -> None:
        self._epoch = epoch
        self._secret = secret
        self._given = given
        self._tokens = 0

    def take_block(self, block: int) -> None:
        """Give numbers of a ``block`` from now on that nobody else has: of a cluster, whose queues
        have one order of ids. It is from 1 to :data:`BLOCKS_MAX`."""
        assert 0 < block <= BLOCKS_MAX
        self._epoch = _OF_A_CLUSTER | block
        self._given = 0

    def next(self) -> int:
        """A new number, above all that this epoch and earlier ones have given.

        Raises :exc:`ConnectionException` 506 when there is none left.
        """
        if self._given + 1 >= MAX_IDS:
            raise ConnectionException(ReplyCode.RESOURCE_ERROR, "the broker has run out of ids")
        self._given += 1
        return self._epoch << 32 | self._given

    def token(self) -> str:
        """A new text of :data:`TOKEN_LENGTH` characters that are safe in URLs, as RabbitMQ's
        ``amq.gen-`` has it."""
        self._tokens += 1
        digest = hashlib.blake2b(digest_size=_TOKEN_BYTES, key=self._secret)
        digest.update(self._epoch.to_bytes(8, "big"))
        digest.update(self._tokens.to_bytes(8, "big"))
        return base64.urlsafe_b64encode(digest.digest()).decode().rstrip("=")
