"""The options and arguments that take a name, completed by typer in this process."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Iterator
from threading import Thread
from typing import Any

import pytest

Offered = Callable[..., list[str]]
BODY = json.dumps([{"name": name} for name in ("delays", "delays.parked", "dark matter")]).encode()


class Api:
    """A management API that has the same names for everything, and remembers what it was asked."""

    def __init__(self) -> None:
        self.heads: list[str] = []
        self._listening = socket.create_server(("127.0.0.1", 0))
        self.place = f"127.0.0.1:{self._listening.getsockname()[1]}"
        Thread(target=self._serve, daemon=True).start()

    def close(self) -> None:
        self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._listening.accept()
            except OSError:
                return
            with connection:
                self.heads.append(connection.recv(65536).decode())
                head = b"HTTP/1.1 200 OK\r\ncontent-length: %d\r\n\r\n" % len(BODY)
                connection.sendall(head + BODY)


@pytest.fixture
def api() -> Iterator[Api]:
    found = Api()
    yield found
    found.close()


@pytest.fixture
def offered(
    mqkit: Any, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Offered:
    """The words that bash would be given for the last word of a line, which may be empty."""
    monkeypatch.setattr("mqkit_cli.completion.parameters.ANSWER_S", 60.0)

    def offered(line: str, **variables: str) -> list[str]:
        with pytest.raises(SystemExit):
            mqkit(
                _MQKIT_COMPLETE="complete_bash",
                COMP_WORDS=line,
                COMP_CWORD=str(len(line.split(" ")) - 1),
                **variables,
            )
        out, err = capsys.readouterr()
        assert err == ""
        return [word for word in out.splitlines() if word]

    return offered


QUEUE, LOT = ["delays", "delays.parked"], ["delays.parked"]


@pytest.mark.parametrize(
    ("line", "listed", "words"),
    [
        ("mqkit consume d", "/api/queues/%2F?", QUEUE),
        ("mqkit consume --json d", "/api/queues/%2F?", QUEUE),
        ("mqkit publish d", "/api/exchanges/%2F?", QUEUE),
        ("mqkit publish '' d", "/api/queues/%2F?", QUEUE),
        ("mqkit dlq peek d", "/api/queues/%2F?", LOT),
        ("mqkit dlq purge d", "/api/queues/%2F?", LOT),
        ("mqkit dlq replay d", "/api/queues/%2F?", LOT),
        ("mqkit dlq replay delays.parked --to d", "/api/queues/%2F?", QUEUE),
        ("mqkit broker store dump folder --queue d", "/api/queues/%2F?", QUEUE),
        ("mqkit ctl -p d", "/api/vhosts?", QUEUE),
        ("mqkit ctl purge_queue -p a/b d", "/api/queues/a%2Fb?", QUEUE),
    ],
)
def test_a_name_comes_from_the_broker(
    api: Api, offered: Offered, line: str, listed: str, words: list[str]
) -> None:
    found = offered(line, MQKIT_MANAGEMENT_URL=f"http://{api.place}")
    assert found == words
    assert api.heads[0].startswith(f"GET {listed}")
    assert len(api.heads) == 1


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ("mqkit con", "consume"),
        ("mqkit broker r", "run"),
        ("mqkit broker run --tls-v", "--tls-verify"),
        ("mqkit broker run --tls-verify r", "required"),
        ("mqkit ctl list_q", "list_queues"),
        ("mqkit dlq replay --dry", "--dry-run"),
        ("mqkit --ins", "--install-completion"),
    ],
)
def test_words_that_need_no_broker(api: Api, offered: Offered, line: str, word: str) -> None:
    assert word in offered(line, MQKIT_MANAGEMENT_URL=f"http://{api.place}")
    assert api.heads == []


@pytest.mark.parametrize(
    "line", ["mqkit publish logs d", "mqkit consume $(d", "mqkit ctl add_user d"]
)
def test_nobody_is_asked_where_a_broker_would_not_know(
    api: Api, offered: Offered, line: str
) -> None:
    assert offered(line, MQKIT_MANAGEMENT_URL=f"http://{api.place}") == []
    assert api.heads == []


def test_no_broker_is_guessed(offered: Offered) -> None:
    assert offered("mqkit consume d", MQKIT_URL="amqp://127.0.0.1/") == []


def test_vhost_and_login_are_those_of_the_amqp_url(api: Api, offered: Offered) -> None:
    variables = {
        "MQKIT_MANAGEMENT_URL": f"http://{api.place}",
        "MQKIT_URL": "amqp://me:secret@127.0.0.1/shop",
    }
    assert offered("mqkit consume d", **variables) == QUEUE
    assert api.heads[0].startswith("GET /api/queues/shop?")
    assert "authorization: basic bwu6c2vjcmv0" in api.heads[0].lower()
    offered("mqkit consume --url amqp://127.0.0.1/other d", **variables)
    assert api.heads[1].startswith("GET /api/queues/other?")
