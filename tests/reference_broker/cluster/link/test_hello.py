"""HELLO: what a node says of itself comes out as it went in, and nothing else is read for one."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reference_broker.cluster.link.frame_decoder import GREETING_PAYLOAD_MAX
from reference_broker.cluster.link.hello import NONCE_BYTES, TEXT_BYTES_MAX, Hello, decode_hello
from reference_broker.errors import LinkError

NONCE = bytes(range(NONCE_BYTES))

texts = st.text(max_size=60)
hellos = st.builds(
    Hello,
    cluster=texts,
    node=texts,
    number=st.integers(0, 0xFFFF),
    disk=texts,
    run=st.integers(0, 0xFFFFFFFF),
    connection=st.integers(0, (1 << 64) - 1),
    address=texts,
    lowest=st.integers(0, 0xFFFF),
    highest=st.integers(0, 0xFFFF),
    purpose=st.integers(0, 0xFF),
    wall_ms=st.integers(0, (1 << 64) - 1),
)

HELLO = Hello("cluster-1", "mqkit@a", 1, "disk-a", 3, 7, "10.0.0.1:25672")


@given(hellos)
def test_a_hello_is_what_was_encoded(hello: Hello) -> None:
    assert decode_hello(hello.encode(NONCE)) == hello


def test_what_a_later_version_appends_is_ignored() -> None:
    assert decode_hello(HELLO.encode(NONCE) + b"more") == HELLO


def test_the_longest_one_fits_a_frame_of_a_handshake() -> None:
    text = "x" * TEXT_BYTES_MAX
    assert len(Hello(text, text, 1, text, 1, 1, text).encode(NONCE)) < GREETING_PAYLOAD_MAX


@pytest.mark.parametrize("cut", range(len(HELLO.encode(NONCE))))
def test_a_hello_that_is_cut_off(cut: int) -> None:
    with pytest.raises(LinkError):
        decode_hello(HELLO.encode(NONCE)[:cut])


def test_a_hello_of_something_else() -> None:
    with pytest.raises(LinkError, match="speaks another protocol than mqkit's nodes"):
        decode_hello(b"AMQP" + HELLO.encode(NONCE)[4:])
    with pytest.raises(LinkError, match="can't be read"):
        decode_hello(HELLO.encode(NONCE).replace(b"mqkit@a", b"mqkit@\xff"))


@given(st.binary(max_size=120))
def test_any_octets_are_a_hello_or_a_fault(octets: bytes) -> None:
    for data in (octets, HELLO.encode(NONCE)[:60] + octets):
        try:
            decode_hello(data)
        except LinkError:
            continue


@pytest.mark.parametrize(
    "hello",
    [HELLO._replace(node="n" * 256), HELLO._replace(number=1 << 16), HELLO._replace(run=-1)],
    ids=["text", "number", "run"],
)
def test_what_has_no_room_is_a_mistake(hello: Hello) -> None:
    with pytest.raises(ValueError, match=r"has no room|at most"):
        hello.encode(NONCE)


def test_a_nonce_of_another_length_is_a_mistake() -> None:
    with pytest.raises(ValueError, match="a nonce has 32 octets"):
        HELLO.encode(b"short")
