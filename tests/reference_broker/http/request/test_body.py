"""Bodies: JSON objects, bounded by the bytes that come."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from starlette.requests import Request

from reference_broker.http.request import body
from reference_broker.http.request.answer import ApiError
from reference_broker.http.request.body import body_bytes_max, read_object
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

BYTES_MAX = 100


def request_of(*pieces: bytes, announced: int | None = None, ends: bool = True) -> Request:
    """A request whose body arrives in these pieces; without ``ends`` the rest never comes."""
    waiting = list(pieces)

    async def receive() -> dict[str, Any]:
        if not waiting:
            if not ends:
                await asyncio.Event().wait()
            return {"type": "http.request", "body": b"", "more_body": False}
        return {"type": "http.request", "body": waiting.pop(0), "more_body": True}

    headers = [] if announced is None else [(b"content-length", str(announced).encode())]
    return Request({"type": "http", "method": "POST", "path": "/", "headers": headers}, receive)


async def test_pieces_make_one_object() -> None:
    request = request_of(b'{"a"', b": [1, ", b"2]}")
    assert await read_object(request, ("a",), bytes_max=BYTES_MAX) == {"a": [1, 2]}


async def test_an_empty_body_is_an_empty_object() -> None:
    assert await read_object(request_of(), (), bytes_max=BYTES_MAX) == {}
    with pytest.raises(ApiError) as refused:
        await read_object(request_of(), ("a", "b"), bytes_max=BYTES_MAX)
    assert refused.value.reason == "[{key_missing,a},{key_missing,b}]"


@pytest.mark.parametrize("text", [b"null", b"true"])
async def test_what_stands_for_nothing(text: bytes) -> None:
    assert await read_object(request_of(text), (), bytes_max=BYTES_MAX) == {}


async def test_json_in_json() -> None:
    with pytest.raises(ApiError) as refused:
        await read_object(request_of(b'"{}"'), (), bytes_max=BYTES_MAX)
    assert str(refused.value.reason).endswith("Is the input doubly-JSON-encoded?")


async def test_a_long_list_of_missing_keys_is_broken_as_erlang_does() -> None:
    keys = ("routing_key", "properties", "payload", "payload_encoding")
    with pytest.raises(ApiError) as refused:
        await read_object(request_of(), keys, bytes_max=BYTES_MAX)
    assert refused.value.reason == (
        "[{key_missing,routing_key},\n {key_missing,properties},\n {key_missing,payload},\n"
        " {key_missing,payload_encoding}]"
    )


@pytest.mark.parametrize("text", [b"x", b"[]", b"1", b"\xff", b"[" * 99, b"1" * 99, b'{"a":1'])
async def test_what_is_no_object(text: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        await read_object(request_of(text), (), bytes_max=BYTES_MAX)
    assert (refused.value.status, refused.value.reason) == (400, "not_json")


@pytest.mark.parametrize(
    "text",
    [
        b'{"a":NaN}',
        b'{"a":[-Infinity]}',
        b'{"a":1e400}',
        b'{"a":"\\ud800"}',
        b'{"a":{"\\uDFFF":1}}',
        b'{"a":"\xed\xa0\x80"}',
        '{"a":1}'.encode("utf-16"),
    ],
)
async def test_what_no_answer_could_show_again(text: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        await read_object(request_of(text), (), bytes_max=BYTES_MAX)
    assert refused.value.reason == "not_json"


async def test_a_surrogate_pair_and_a_mark_in_front_are_fine() -> None:
    text = b'\xef\xbb\xbf{"a":"\\ud83d\\ude00","b":1.5e3}'
    assert await read_object(request_of(text), (), bytes_max=BYTES_MAX) == {
        "a": "\U0001f600",
        "b": 1500,
    }


@pytest.mark.parametrize(
    "text", [b"[" * 200_000, b'{"a":' * 200_000, b'{"a":' + b"9" * 5_000 + b"}"]
)
async def test_what_python_would_choke_on(text: bytes) -> None:
    with pytest.raises(ApiError) as refused:
        await read_object(request_of(text), (), bytes_max=len(text))
    assert refused.value.reason == "not_json"


async def test_the_bound_holds_for_what_comes() -> None:
    fits = b'{"a":"' + b"x" * (BYTES_MAX - 8) + b'"}'
    assert len(fits) == BYTES_MAX
    assert await read_object(request_of(fits), (), bytes_max=BYTES_MAX)
    for request in (
        request_of(fits[:50], fits[50:] + b" "),
        request_of(fits, b" ", ends=False),
        request_of(fits, b" ", announced=5),
        request_of(announced=BYTES_MAX + 1, ends=False),
    ):
        with pytest.raises(ApiError) as refused:
            await read_object(request, (), bytes_max=BYTES_MAX)
        assert refused.value.status == 413


async def test_a_body_that_never_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(body, "BODY_TIMEOUT_S", 0.0)
    with pytest.raises(ApiError) as refused:
        await read_object(request_of(b"{", ends=False), (), bytes_max=BYTES_MAX)
    assert refused.value.status == 408


async def test_a_chunked_body_is_counted_too(server: Server, api: httpx.AsyncClient) -> None:
    async def endless() -> AsyncIterator[bytes]:
        yield b'{"payload":"'
        while True:
            yield b"x" * 1_000_000

    path = "/api/exchanges/%2F/amq.default/publish"
    try:
        answer = await api.post(path, content=endless())
    except (httpx.WriteError, httpx.ReadError):
        return  # the socket was closed while the client was still sending
    assert answer.status_code == 413


@pytest.mark.parametrize("size", [0, 1, 2, 3, 1_000_001])
def test_room_for_a_message_of_the_largest_size(size: int) -> None:
    base64_bytes = (size + 2) // 3 * 4
    assert body_bytes_max(size) == base64_bytes + body.BESIDE_THE_MESSAGE_BYTES
