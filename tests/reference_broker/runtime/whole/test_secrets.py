"""A canary password goes through every door of a broker, and is seen in none of its traces."""

from __future__ import annotations

import base64
import logging
import traceback
from typing import Any

import aio_pika
import httpx
import pytest

from reference_broker.core.access.passwords import hash_password
from reference_broker.http.access import user_request
from reference_broker.http.access.user_request import UserRequest
from reference_broker.runtime.config import Address, ServerConfig, UserConfig
from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

CANARY = "canary-in-the-mine"
FREE = Address("127.0.0.1", 0)
ADMIN = ("admin", f"{CANARY}-admin")
FORMS = (CANARY, base64.b64encode(CANARY.encode()).decode()[:20], CANARY.encode().hex())


def seen_in(text: str) -> list[str]:
    return [form for form in FORMS if form in text]


@pytest.fixture
async def server(anyio_backend: str, tmp_path: Any) -> Any:
    users = (UserConfig(ADMIN[0], ADMIN[1], ("administrator",)),)
    server = Server(ServerConfig(amqp=FREE, http=FREE, data_dir=tmp_path, users=users))
    await server.start()
    yield server
    await server.stop()


async def amqp_login(server: Server, name: str, password: str) -> None:
    connection = await aio_pika.connect(
        host="127.0.0.1", port=server.amqp_port, login=name, password=password
    )
    await connection.close()


async def test_a_canary_is_seen_nowhere(
    server: Server, caplog: pytest.LogCaptureFixture, tmp_path: Any
) -> None:
    caplog.set_level(logging.DEBUG, "reference_broker")
    answers: list[httpx.Response] = []
    place = f"http://127.0.0.1:{server.http_port}"
    async with httpx.AsyncClient(base_url=place, auth=ADMIN, trust_env=False) as api:
        bodies: list[dict[str, Any]] = [
            {"password": CANARY, "tags": "management"},
            {"password": CANARY},
            {"password": CANARY, "password_hash": CANARY, "tags": ""},
            {"password": [CANARY], "tags": ""},
            {"password": CANARY * 100, "tags": ""},
            {"password": CANARY, "tags": "management", "limits": {"max-foo": 1}},
        ]
        answers += [await api.put("/api/users/app", json=body) for body in bodies]
        users = [{"name": "app", "password": CANARY, "tags": 5}]
        answers.append(await api.post("/api/definitions", json={"users": users}))
        everything = {"configure": ".*", "write": ".*", "read": ".*"}
        answers.append(await api.put("/api/permissions/%2F/app", json=everything))
        paths = ("users", "users/app", "definitions", "whoami", "overview", "connections")
        answers += [await api.get(f"/api/{path}") for path in paths]
        logins = ((CANARY, CANARY), ("app", CANARY + "x"), ("app", CANARY))
        answers += [await api.get("/api/whoami", auth=login) for login in logins]
    assert [answer.status_code for answer in answers[:2]] == [201, 400]
    assert answers[-1].json()["name"] == "app"
    await amqp_login(server, "app", CANARY)
    with pytest.raises(aio_pika.exceptions.AMQPError):
        await amqp_login(server, "app", CANARY + "x")
    for answer in answers:
        assert seen_in(answer.text) == [], answer.request.url
    assert seen_in(caplog.text) == []
    broker = server.broker
    for thing in (server.config, broker.users.all(), vars(broker.access), vars(broker.users)):
        assert seen_in(repr(thing)) == []
    for file in tmp_path.rglob("*"):
        if file.is_file():
            assert CANARY.encode() not in file.read_bytes(), file


def test_a_request_has_no_repr_with_the_password() -> None:
    assert seen_in(repr(UserRequest.parse({"password": CANARY, "tags": ""}))) == []
    assert seen_in(repr(hash_password(CANARY.encode(), b"salt"))) == []


def test_a_traceback_does_not_show_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_request, "PASSWORD_BYTES_MAX", 1)
    try:
        UserRequest.parse({"password": CANARY, "tags": ""})
    except Exception:  # noqa: BLE001 - whatever it is, it is printed
        assert seen_in(traceback.format_exc()) == []
    else:
        pytest.fail("a password above the bound was taken")


async def test_a_mistake_of_the_broker_in_the_middle_of_a_login(
    server: Server, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    def crash(*arguments: object) -> None:
        raise RuntimeError("planted")

    monkeypatch.setattr(server.broker.users, "authenticate", crash)
    caplog.set_level(logging.DEBUG)
    with pytest.raises(aio_pika.exceptions.AMQPError):
        await amqp_login(server, "app", CANARY)
    place = f"http://127.0.0.1:{server.http_port}"
    async with httpx.AsyncClient(base_url=place, auth=("app", CANARY), trust_env=False) as api:
        answer = await api.get("/api/whoami")
    assert (answer.status_code, seen_in(answer.text)) == (500, [])
    assert caplog.text.count("RuntimeError: planted") >= 2
    assert seen_in(caplog.text) == []
