"""admission: slots and places, for each request."""

from __future__ import annotations

import asyncio
from itertools import pairwise
from typing import Any

import pytest
from starlette.responses import PlainTextResponse
from starlette.types import Message, Receive, Scope, Send

from reference_broker.http.request.turn_share import TurnShare
from reference_broker.http.serving.admission import Admission
from reference_broker.http.serving.request_slots import REQUESTS_MAX, REQUESTS_PER_ADDRESS_MAX

pytestmark = pytest.mark.anyio


class Slow:
    """Answers when it may."""

    def __init__(self) -> None:
        self.may_answer = asyncio.Event()
        self.begun = 0

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        self.begun += 1
        if not scope["path"].startswith("/api/health/"):
            await self.may_answer.wait()
        await PlainTextResponse("hello")(scope, receive, send)


class Client:
    """Asks an application as a server does."""

    def __init__(self, app: Admission) -> None:
        self.app = app
        self.statuses: list[int] = []

    async def ask(self, host: str, path: str = "/api/queues") -> int:
        answers: list[Message] = []

        async def send(message: Message) -> None:
            answers.append(message)

        async def receive() -> Message:
            return {"type": "http.request", "body": b"", "more_body": False}

        scope: dict[str, Any] = {
            "type": "http", "method": "GET", "path": path, "headers": [], "client": (host, 1),
        }  # fmt: skip
        await self.app(scope, receive, send)
        self.statuses.append(answers[0]["status"])
        return self.statuses[-1]


async def test_health_checks_are_answered_while_every_slot_is_taken() -> None:
    share, slow = TurnShare(), Slow()
    client = Client(Admission(slow, share))
    asked = [
        asyncio.create_task(client.ask(f"10.0.0.{number // REQUESTS_PER_ADDRESS_MAX}"))
        for number in range(REQUESTS_MAX)
    ]
    asked += [asyncio.create_task(client.ask("10.0.0.0"))]
    await asyncio.wait_for(asked[-1], 10)
    assert await client.ask("127.0.0.1") == 503
    assert await client.ask("127.0.0.1", "/api/health/checks/alarms") == 200
    slow.may_answer.set()
    await asyncio.gather(*asked)
    assert client.statuses.count(503) == 2
    assert client.statuses.count(200) == REQUESTS_MAX + 1
    assert await client.ask("10.0.0.0") == 200


async def test_a_request_begins_in_its_place() -> None:
    share, slow = TurnShare(), Slow()
    client = Client(Admission(slow, share))
    asked = [asyncio.create_task(client.ask("10.0.0.1")) for _ in range(10)]
    begun = []
    for _ in range(40):
        begun.append(slow.begun)
        await asyncio.sleep(0)
    assert max(after - before for before, after in pairwise(begun)) == 1
    assert begun[-1] == 10
    slow.may_answer.set()
    await asyncio.gather(*asked)


async def test_a_health_check_is_not_behind_the_requests_of_its_address() -> None:
    share, slow = TurnShare(), Slow()
    slow.may_answer.set()
    client = Client(Admission(slow, share))
    asked = [asyncio.create_task(client.ask("127.0.0.1")) for _ in range(40)]
    await asyncio.sleep(0)  # they have asked for their places
    await client.ask("127.0.0.1", "/api/health/checks/alarms")
    assert len(client.statuses) < 5
    await asyncio.gather(*asked)
