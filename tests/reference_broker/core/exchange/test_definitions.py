"""Definitions of exchanges, queues and bindings: decoding reverses encoding, garbage is Corrupt."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mqkit.wire import SizedInt, table_type_name
from reference_broker.core.exchange import definitions
from reference_broker.core.exchange.binding import Binding
from reference_broker.core.exchange.definitions import QueueDefinition
from reference_broker.core.exchange.exchange import Exchange, ExchangeType
from reference_broker.errors import ChannelException, Corrupt

NAMES = st.text(
    st.characters(codec="utf-8", exclude_characters="\r\n"), min_size=1, max_size=60
).filter(lambda name: len(name.encode()) <= 255)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(codec="utf-8"), max_size=10)
    | st.binary(max_size=10)
    | st.just(Decimal("1.50"))
    | st.just(datetime(2020, 1, 1, tzinfo=UTC))
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=5,
)
ARGUMENTS = st.dictionaries(NAMES, VALUES, max_size=4)


def typed(value: Any) -> Any:
    """The value with the types of everything in it, since ``True == 1``."""
    if isinstance(value, dict):
        return {name: typed(inner) for name, inner in value.items()}
    if isinstance(value, list):
        return [typed(inner) for inner in value]
    return type(value), value


@given(NAMES, st.sampled_from(ExchangeType), st.booleans(), st.booleans(), st.booleans(), ARGUMENTS)
def test_exchanges(
    name: str,
    type: ExchangeType,
    durable: bool,
    auto_delete: bool,
    internal: bool,
    arguments: dict[str, Any],
) -> None:
    written = Exchange(
        name,
        type,
        durable=durable,
        auto_delete=auto_delete,
        internal=internal,
        arguments=arguments,
    )
    read = definitions.decode_exchange(definitions.encode_exchange(written))
    assert (read.name, read.type, read.durable) == (name, type, durable)
    assert (read.auto_delete, read.internal) == (auto_delete, internal)
    assert typed(read.arguments) == typed(arguments)


@given(st.integers(0, 2**64 - 1), NAMES, st.booleans(), ARGUMENTS, st.booleans(), st.booleans())
def test_queues(
    id: int,
    name: str,
    auto_delete: bool,
    arguments: dict[str, Any],
    durable: bool,
    exclusive: bool,
) -> None:
    written = QueueDefinition(id, name, auto_delete, arguments, durable, exclusive)
    read = definitions.decode_queue(definitions.encode_queue(written))
    assert read[:3] == written[:3]
    assert (read.durable, read.exclusive) == (durable, exclusive)
    assert typed(read.arguments) == typed(arguments)


@given(NAMES, NAMES, NAMES, ARGUMENTS, st.booleans(), st.booleans(), st.integers(0, 2**64 - 1))
def test_bindings(
    source: str,
    destination: str,
    key: str,
    arguments: dict[str, Any],
    queue: bool,
    durable: bool,
    number: int,
) -> None:
    written = Binding(
        source,
        destination,
        key,
        arguments,
        destination_is_queue=queue,
        durable=durable,
        number=number,
    )
    read = definitions.decode_binding(definitions.encode_binding(written))
    assert read.identity == written.identity
    assert (read.number, read.durable) == (number, durable)
    assert definitions.binding_key("/", read) == definitions.binding_key("/", written)


def test_keys_differ_where_objects_differ() -> None:
    keys = [
        definitions.exchange_key("/", "a"),
        definitions.queue_key("/", "a"),
        definitions.queue_key("/a", "a"),
        definitions.queue_key("", "a/a"),
        definitions.binding_key("/", Binding("a", "b", "c")),
        definitions.binding_key("/", Binding("ab", "", "c")),
        definitions.binding_key("/", Binding("a", "b", "c", destination_is_queue=False)),
        definitions.binding_key("/", Binding("a", "b", "c", {"d": 1})),
        definitions.binding_key("/a", Binding("a", "b", "c")),
    ]
    assert len(dict.fromkeys(keys)) == len(keys)


DECODERS = [
    definitions.decode_exchange,
    definitions.decode_queue,
    definitions.decode_binding,
]


@pytest.mark.parametrize("decode", DECODERS)
def test_another_layout_is_not_guessed_at(decode: Any) -> None:
    with pytest.raises(Corrupt, match="layout 2"):
        decode(b"\x02" + b"\x00" * 40)


@pytest.mark.parametrize("decode", DECODERS)
@given(octets=st.binary(max_size=40))
def test_garbage_is_corrupt_or_readable_and_nothing_else(decode: Any, octets: bytes) -> None:
    for value in (octets, b"\x01" + octets):
        try:
            decode(value)
        except Corrupt:
            pass


def test_arguments_that_no_table_holds_are_refused() -> None:
    arguments = {"a": 2**70}
    with pytest.raises(ChannelException):
        definitions.encode_queue(QueueDefinition(1, "q", False, arguments))
    with pytest.raises(ChannelException):
        definitions.encode_exchange(Exchange("x", ExchangeType.FANOUT, arguments=arguments))


def test_a_declaration_keeps_the_sizes_of_its_integers() -> None:
    arguments = {"x": SizedInt("l", 5)}
    queue = definitions.decode_queue(
        definitions.encode_queue(QueueDefinition(1, "q", False, arguments))
    )
    exchange = definitions.decode_exchange(
        definitions.encode_exchange(Exchange("x", ExchangeType.DIRECT, arguments=arguments))
    )
    for found in (queue.arguments, exchange.arguments):
        assert found == {"x": 5}
        assert table_type_name(found["x"]) == "long"
