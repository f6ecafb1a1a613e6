"""A definitions file in a form: as RabbitMQ takes it, a piece at a time, and bounded."""

from __future__ import annotations

from typing import Any

import httpx
import pytest

from reference_broker.http.definitions.upload import (
    FIELD_BYTES_MAX,
    FIELDS_MAX,
    PIECE_BYTES,
    Upload,
)
from reference_broker.http.request.answer import ApiError

ALL = "/api/definitions"
FORM = "multipart/form-data; boundary=x"
FILE = ('form-data; name="file"; filename="a.json"', b"{}")
REDIRECT = ('form-data; name="redirect"', b"../#/import-succeeded")


def form(*fields: tuple[str, bytes], end: bytes = b"--x--\r\n") -> bytes:
    parts = [
        b"--x\r\nContent-Disposition: %b\r\nContent-Type: application/json\r\n\r\n%b\r\n"
        % (disposition.encode(), content)
        for disposition, content in fields
    ]
    return b"".join(parts) + end


def read(body: bytes, content_type: str = FORM) -> Upload:
    upload = Upload(content_type)
    list(upload.read(body))
    return upload


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("content_type", "body", "status"),
    [
        (FORM, form(FILE), 204),
        (FORM, form(('form-data; name="file"', b"")), 204),
        ('multipart/form-data; boundary="x"', form(("FORM-DATA; NAME=file", b"{}")), 204),
        (FORM, form(REDIRECT, FILE), 303),
        (FORM, form(FILE, ('form-data; name="auth"', b"x")), 204),
        (FORM, form(FILE, ('form-data; name="file"', b"{")), 400),
        (FORM, form(('form-data; name="file"', b"{"), FILE), 204),
        (FORM, form(('form-data; name="file"', b"{"), REDIRECT), 400),
        (FORM, form(REDIRECT), 400),
        (FORM, form(FILE, end=b""), 400),
        ("multipart/form-data", form(FILE), 400),
        ("multipart/form-data; boundary=other", form(FILE), 400),
        ("multipart/mixed; boundary=x", form(FILE), 415),
    ],
)
async def test_both_brokers_take_a_form(
    place: Any, content_type: str, body: bytes, status: int
) -> None:
    answer = await place.api.post(ALL, content=body, headers={"content-type": content_type})
    assert answer.status_code == status, answer.text
    if status == 303:
        assert answer.headers["location"] == REDIRECT[1].decode()


@pytest.mark.anyio
async def test_what_a_form_declares(api: httpx.AsyncClient) -> None:
    row = b'{"queues":[{"name":"q","vhost":"/","durable":true,"auto_delete":false}]}'
    answer = await api.post(ALL, files={"file": row}, data={"redirect": "/#/done"})
    assert (answer.status_code, answer.headers["location"]) == (303, "/#/done")
    assert (await api.get("/api/queues/%2F/q")).status_code == 200


def test_a_piece_a_step() -> None:
    content = b"\r\n--" * 100_000
    upload, body = Upload(FORM), form((FILE[0], content))
    assert len(list(upload.read(body))) == -(-len(body) // PIECE_BYTES) > 20
    assert upload.file == content


@pytest.mark.parametrize(
    "place",
    ["https://evil.example", "//evil.example", "\\\\evil.example", "/\\evil.example",
     "javascript:x", "a b", "a\r\nset-cookie: x"],
)  # fmt: skip
def test_the_browser_is_not_sent_elsewhere(place: str) -> None:
    field = ('form-data; name="redirect"', place.encode())
    assert read(form(FILE, field)).redirect is None


def test_a_form_has_bounds() -> None:
    large = ('form-data; name="redirect"', b"x" * (FIELD_BYTES_MAX + 1))
    other = ('form-data; name="other"', b"x" * 100_000)
    assert read(form(*[other] * (FIELDS_MAX - 1), FILE)).file == b"{}"
    for body in (form(*[other] * FIELDS_MAX, FILE), form(large, FILE)):
        with pytest.raises(ApiError):
            read(body)
    with pytest.raises(ApiError):
        read(form(FILE), "multipart/form-data; boundary=" + "x" * 1_000)
