"""A binding: from an exchange to a queue or another exchange, with a key and arguments.

Two bindings are the same when all five are; binding twice changes nothing.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from typing import Any, TypeAlias
from urllib.parse import quote_plus

from mqkit.wire import EncodeError, encode_shortstr, encode_table
from reference_broker.errors import ChannelException, ReplyCode

BindingIdentity: TypeAlias = tuple[str, bool, str, str, bytes]
"""Source, whether the destination is a queue, destination, key, and the arguments encoded in order
of their names: what a client means by "the same binding" in unbind."""

_NO_ARGUMENTS = encode_table({})
_HASH_BYTES = 4


class Binding:
    """Never changed after creation, but for ``held_bytes``.

    ``number`` rises from binding to binding and is kept over a restart, which keeps their order;
    0 for the implicit ones of the default exchange. A ``durable`` one is in the journal: both its
    ends survive a restart. ``held_bytes`` is what the topology that it is in accounts for it.
    """

    __slots__ = (
        "arguments",
        "destination",
        "destination_is_queue",
        "durable",
        "held_bytes",
        "identity",
        "key",
        "number",
        "source",
    )

    def __init__(
        self,
        source: str,
        destination: str,
        key: str = "",
        arguments: Mapping[str, Any] | None = None,
        *,
        destination_is_queue: bool = True,
        durable: bool = False,
        number: int = 0,
    ) -> None:
        """Raises :exc:`ChannelException` 406 for a key that no shortstr or arguments that no
        field table can hold (which only a management client can send)."""
        self.source = source
        self.destination = destination
        self.key = key
        self.arguments = dict(arguments or {})
        self.destination_is_queue = destination_is_queue
        self.durable = durable
        self.number = number
        self.held_bytes = 0
        self.identity = identity_of(
            source, destination, key, self.arguments, destination_is_queue=destination_is_queue
        )

    def __repr__(self) -> str:
        kind = "queue" if self.destination_is_queue else "exchange"
        return f"<Binding {self.source!r} -> {kind} {self.destination!r} {self.key!r}>"

    @property
    def properties_key(self) -> str:
        """The part of a management URL that tells bindings between the same two objects apart.

        The key as in a query string, or ``~`` for an empty one; with arguments, ``~`` and a hash of
        them follow (rabbit_mgmt_format:pack_binding_props). The hash differs from RabbitMQ's,
        which is Erlang's own; clients take it from a listing and hand it back.
        """
        quoted_key = quote_plus(self.key).replace("~", "%7E")
        encoded = self.identity[4]
        if encoded == _NO_ARGUMENTS:
            return quoted_key or "~"
        digest = hashlib.blake2b(encoded, digest_size=_HASH_BYTES).digest()
        return f"{quoted_key}~{base64.urlsafe_b64encode(digest).decode().rstrip('=')}"


def identity_of(
    source: str,
    destination: str,
    key: str,
    arguments: Mapping[str, Any],
    *,
    destination_is_queue: bool,
) -> BindingIdentity:
    """The identity of such a binding. Raises as :class:`Binding` does."""
    try:
        encode_shortstr(key)
        encoded = encode_table(dict(sorted(arguments.items()))) if arguments else _NO_ARGUMENTS
    except EncodeError as error:
        raise ChannelException(
            ReplyCode.PRECONDITION_FAILED, f"invalid binding: {error}"
        ) from error
    return (source, destination_is_queue, destination, key, encoded)
