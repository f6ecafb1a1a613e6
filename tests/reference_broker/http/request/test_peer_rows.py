"""Lists of all nodes: what the others are asked for, and what they can get wrong."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from reference_broker.http.request import peer_rows, peers
from reference_broker.http.request.peers import KIND
from reference_broker.testing.apis.peer_apis import PeerApis

pytestmark = pytest.mark.anyio

Reply = Callable[[dict[str, Any], bytes], None]


class Asked:
    """Two nodes, of which ``b`` answers what it is told to, and notes what it is asked. A queue
    ``q0`` to ``q9`` is on each of them in turn."""

    def __init__(self, body: bytes = b"", status: int = 200) -> None:
        self.head: dict[str, Any] = {"status": status, "cut": False}
        self.body = body
        self.questions: list[dict[str, Any]] = []
        self.apis = PeerApis("a", "b")
        for number in range(10):
            self.apis.declare("ab"[number % 2], f"q{number}")
        self.apis["b"].peers.answer_with(KIND, self._answer)

    def _answer(self, node: str, arguments: dict[str, Any], reply: Reply) -> None:
        self.questions.append(arguments)
        reply(self.head, self.body)


async def test_the_question_is_the_request_without_what_is_about_the_whole_list() -> None:
    asked = Asked()
    await asked.apis.get(
        "a",
        "/api/queues?page=1&page_size=9&name=q&use_regex=true&sort=memory&sort_reverse=true"
        "&columns=messages,type&msg_rates_age=60&msg_rates_incr=5",
        headers={"x-vhost": "/", "x-other": "x"},
    )
    assert asked.questions == [
        {
            "method": "GET",
            "path": "/api/queues",
            "query": [
                ["msg_rates_age", "60"],
                ["msg_rates_incr", "5"],
                ["columns", "messages,type,vhost,name,memory"],
            ],
            "user": "guest",
            "headers": {"x-vhost": "/"},
        }
    ]


async def test_a_page_in_the_own_order_asks_for_its_rows_alone() -> None:
    asked = Asked()
    await asked.apis.get("a", "/api/queues?page=2&page_size=4")
    assert asked.questions[0]["only"] == [["/", "q5"], ["/", "q7"]]
    answer = await asked.apis.get("a", "/api/queues?page=1&page_size=1")
    assert len(asked.questions) == 1  # q0 is at home here
    assert answer.json()["total_count"] == 10
    assert (await asked.apis.get("a", "/api/queues?page=9")).status_code == 400


async def test_names_that_fill_a_question_are_not_in_it(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = Asked()
    monkeypatch.setattr(peers, "ONLY_BYTES_MAX", 10)
    monkeypatch.setattr(peer_rows, "PASSED_COLUMNS_MAX", 3)
    await asked.apis.get("a", "/api/queues?page=1&columns=name,node")
    assert "only" not in asked.questions[0]
    assert asked.questions[0]["query"] == []


@pytest.mark.parametrize(
    "body",
    [b"no JSON", b"[1]", b'{"name": "q1"}', b'{"vhost": "/", "name": "q1"}\nx', b"[" * 99_999],
)  # fmt: skip
async def test_a_node_that_nobody_understands_is_unreachable(body: bytes) -> None:
    asked = Asked(body)
    answer = await asked.apis.get("a", "/api/queues")
    assert answer.headers[peers.UNREACHABLE] == "mqkit@b"
    assert ["messages" in row for row in answer.json()] == [True, False] * 5


async def test_a_row_for_what_is_not_asked_is_not_shown() -> None:
    asked = Asked(b'{"vhost": "/", "name": "other"}')
    answer = await asked.apis.get("a", "/api/queues?columns=name")
    assert [row["name"] for row in answer.json()] == [f"q{number}" for number in range(10)]


@pytest.mark.parametrize(("status", "is_missing"), [(401, True), (500, True), (404, False)])
async def test_a_refusal_is_a_missing_part(status: int, is_missing: bool) -> None:
    asked = Asked(b'{"error": "not_authorised"}', status)
    answer = await asked.apis.get("a", "/api/connections")
    assert (answer.json(), peers.UNREACHABLE in answer.headers) == ([], is_missing)
