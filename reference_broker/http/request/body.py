"""A request's body: a JSON object, counted while it arrives, and read in portions if it is large.

``Content-Length`` is only what the client says, and a chunked body says nothing: the bound holds
for the bytes that came (RabbitMQ's CVE-2023-46118).
"""

from __future__ import annotations

import asyncio
import json
import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

from starlette.requests import ClientDisconnect, Request

from reference_broker.core.base.limits import MIB
from reference_broker.http.request.answer import ApiError, bad_request
from reference_broker.http.request.json_reader import (
    AT_ONCE_BYTES,
    VALUES_MAX,
    JsonReader,
    TooManyValues,
)
from reference_broker.http.request.turn_share import next_turn

BESIDE_THE_MESSAGE_BYTES = 1 * MIB
"""Bytes for the JSON around a message in a body: properties, headers, the JSON itself."""

BODY_TIMEOUT_S = 60.0
"""Seconds from a request's headers to the end of its body: 16 MiB over a slow line, and no longer,
since an unfinished body holds memory."""

_TERM_COLUMNS = 80


_KEPT = "mqkit.body"


def body_bytes_max(message_size_max: int) -> int:
    """Bytes that a body may have: a message of the largest size in base64, and some more."""
    return -(-message_size_max // 3) * 4 + BESIDE_THE_MESSAGE_BYTES


async def read_object(
    request: Request, required: Sequence[str], *, bytes_max: int
) -> dict[str, Any]:
    """The body, which must be a JSON object that has the ``required`` keys. No body at all is an
    empty object; ``null`` and ``true`` are as well, as in RabbitMQ.

    Raises :exc:`ApiError`: 400 in RabbitMQ's words, 408 for one that takes too long, 413 for one
    above ``bytes_max``, as soon as that is known, or of more than :data:`VALUES_MAX` values.
    """
    value = await parsed_object(request, await read_bytes(request, bytes_max))
    missing = [f"{{key_missing,{key}}}" for key in required if key not in value]
    if missing:
        raise bad_request(_term(missing))
    return value


async def parsed_object(
    request: Request, body: bytes, values_max: int = VALUES_MAX
) -> dict[str, Any]:
    """The JSON object of a body, as :func:`read_object` has it; a large one is read in portions, in
    the request's places in the loop. Raises :exc:`ApiError` 400, and 413 for a large body of more
    values."""
    if len(body) <= AT_ONCE_BYTES:
        return decoded(body)
    reader = JsonReader(body, values_max)
    try:
        while not reader.portion():
            await next_turn(request)
    except TooManyValues as error:
        raise payload_too_large(f"a request's body has at most {values_max} values") from error
    except ValueError:
        raise bad_request("not_json") from None
    return object_of(reader.value)


def payload_too_large(reason: str) -> ApiError:
    """The answer to a body beyond a bound. The socket is of no more use: the rest may be on its
    way."""
    status = HTTPStatus.REQUEST_ENTITY_TOO_LARGE
    return ApiError(status, "payload_too_large", reason, {"connection": "close"})


def decoded(body: bytes) -> dict[str, Any]:
    """A whole body, as :func:`read_object` has it. Raises :exc:`ApiError` 400."""
    try:
        value = _parsed(body.decode("utf-8-sig")) if body else {}
    except (ValueError, RecursionError):
        raise bad_request("not_json") from None
    return object_of(value)


def object_of(value: Any) -> dict[str, Any]:
    """The object that a body's JSON value stands for. Raises :exc:`ApiError` 400."""
    if isinstance(value, str):
        raise bad_request(
            "invalid payload: the request body JSON-decoded to a string."
            " Is the input doubly-JSON-encoded?"
        )
    if value is None or value is True:
        return {}
    if not isinstance(value, dict):
        raise bad_request("not_json")
    return value


def _parsed(text: str) -> Any:
    """The JSON value of ``text``. Raises :exc:`ValueError` for a text that is no JSON, half of a
    surrogate pair included: no answer that shows it could be written, and none that lists others
    beside it."""
    value = json.loads(text, parse_constant=_finite, parse_float=_finite)
    if "\\ud" in text.lower():
        json.dumps(value, ensure_ascii=False).encode()
    return value


def _finite(text: str) -> float:
    """A float of JSON, which has no ``NaN``, no ``Infinity``, and no number that large: whoever
    lists them later could not read the answer. Raises :exc:`ValueError`."""
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text} is no number of JSON")
    return number


def _term(items: Sequence[str]) -> str:
    """A list as Erlang prints it: on one line while it fits."""
    line = f"[{','.join(items)}]"
    return line if len(line) <= _TERM_COLUMNS else f"[{f',{chr(10)} '.join(items)}]"


async def read_bytes(request: Request, bytes_max: int) -> bytes:
    """The body as it is. It is kept, for a request that is handled once more (:exc:`NotYet`).
    Raises :exc:`ApiError` 408 and 413, as :func:`read_object` does."""
    kept: bytes | None = request.scope.get(_KEPT)
    if kept is not None:
        return kept
    too_large = payload_too_large(f"a request's body is at most {bytes_max} bytes")
    announced = request.headers.get("content-length", "0")
    if announced.isdecimal() and int(announced) > bytes_max:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(BODY_TIMEOUT_S):
            async for piece in request.stream():
                body += piece
                if len(body) > bytes_max:
                    raise too_large
    except TimeoutError:
        raise ApiError(
            HTTPStatus.REQUEST_TIMEOUT,
            "request_timeout",
            f"the body did not arrive within {BODY_TIMEOUT_S:g} s",
            {"connection": "close"},
        ) from None
    except ClientDisconnect:
        raise bad_request("the body was cut short") from None
    whole = request.scope[_KEPT] = bytes(body)
    return whole
