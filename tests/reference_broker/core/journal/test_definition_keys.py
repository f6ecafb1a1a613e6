"""Keys of definitions: every virtual host and every kind has a prefix of its own."""

from __future__ import annotations

from itertools import product

from reference_broker.core.exchange.definitions import queue_key
from reference_broker.core.journal.definition_keys import (
    BINDING,
    COUNT,
    COUNTS,
    DELAYED,
    DELAYS,
    EXCHANGE,
    QUEUE,
    QUEUE_SEEN,
    SEEN,
    key_prefix,
)

KINDS = (EXCHANGE, QUEUE, DELAYED, SEEN, QUEUE_SEEN, BINDING, COUNTS, COUNT, DELAYS)


def test_no_prefix_is_that_of_another_virtual_host() -> None:
    prefix = key_prefix(QUEUE, "a")
    assert not queue_key("a/b", "q").startswith(prefix)
    assert not queue_key("ab", "q").startswith(prefix)
    assert queue_key("a", "b/q").startswith(prefix)


def test_no_prefix_begins_with_another() -> None:
    prefixes = [key_prefix(kind, vhost) for kind, vhost in product(KINDS, ("/", "a", "a/", ""))]
    for one, other in product(prefixes, prefixes):
        assert one == other or not one.startswith(other), (one, other)


def test_the_keys_that_data_folders_have() -> None:
    assert key_prefix(QUEUE, "/") == "queue/%2F/"
    assert key_prefix(QUEUE_SEEN, "/") == "queue-seen/%2F/"
    assert key_prefix(DELAYS, "v h") == "~delays/v%20h/"
