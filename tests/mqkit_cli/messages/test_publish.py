"""`mqkit publish`: outcomes counted, input checked first."""

from __future__ import annotations

import json
import os
import pty
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Unique = Callable[[str], str]


@pytest.fixture
def queue(mqkit: Any, broker: Any, unique: Unique, tmp_path: Path) -> str:
    name = unique("q")
    (tmp_path / "queue.yaml").write_text(f"queues:\n  {name}: {{}}\n")
    at = ["--url", broker.url, "--management-url", broker.management_url]
    assert mqkit("topology", "apply", "-f", "queue.yaml", *at).returncode == 0
    return name


def taken(mqkit: Any, broker: Any, queue: str, count: int) -> list[dict[str, Any]]:
    answer = mqkit(
        *("consume", queue, "--url", broker.url, "--json"),
        *("--count", str(count), "--timeout", "20"),
    )
    assert answer.returncode == 0, answer.stderr
    return [json.loads(found) for found in answer.stdout.splitlines()]


def test_one_message(mqkit: Any, broker: Any, queue: str) -> None:
    answer = mqkit(
        *("publish", "", queue, "grüezi", "--url", broker.url),
        *("--header", "a=b=c", "--header", "n=", "--message-id", "m1"),
        *("--content-type", "text/plain"),
    )
    assert (answer.returncode, answer.stdout) == (0, "1 of 1 confirmed\n")
    (message,) = taken(mqkit, broker, queue, 1)
    assert message == {
        "exchange": "",
        "routing_key": queue,
        "message_id": "m1",
        "redelivered": False,
        "content_type": "text/plain",
        "headers": {"a": "b=c", "n": ""},
        "body": "grüezi",
    }


def test_a_file_and_stdin_are_a_message_a_line(
    mqkit: Any, broker: Any, queue: str, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text("".join(f'{{"n": {n}}}\n' for n in range(2_500)) + "\n")
    answer = mqkit("publish", "", queue, "--file", "in.jsonl", "--url", broker.url, "--json")
    assert answer.returncode == 0, answer.stderr
    assert json.loads(answer.stdout) == {
        "total": 2_500,
        "confirmed": 2_500,
        "rejected": dict.fromkeys(
            ("unroutable", "nacked", "too_large", "no_exchange", "refused", "blocked"), 0
        ),
        "unknown": 0,
        "failures": [],
    }
    answer = mqkit("publish", "", queue, "--url", broker.url, stdin="a\n\nb\r\nc")
    assert answer.stdout == "3 of 3 confirmed\n"
    messages = taken(mqkit, broker, queue, 2_503)
    assert [json.loads(m["body"])["n"] for m in messages[:2_500]] == list(range(2_500))
    assert messages[0]["content_type"] == "application/json"
    assert [m["body"] for m in messages[2_500:]] == ["a", "b", "c"]
    assert len({m["message_id"] for m in messages}) == 2_503


def test_what_is_not_confirmed_is_counted_and_is_1(mqkit: Any, broker: Any, unique: Unique) -> None:
    answer = mqkit("publish", "", unique("nobody"), "--url", broker.url, stdin="a\nb\n")
    assert answer.returncode == 1
    assert answer.stdout == "0 of 2 confirmed, 2 unroutable\n"
    assert "message 1: rejected, unroutable" in answer.stderr
    assert "2 of 2 messages not confirmed" in answer.stderr
    answer = mqkit("publish", unique("nothing"), "k", "b", "--url", broker.url, "--json")
    assert answer.returncode == 1
    assert json.loads(answer.stdout)["rejected"]["no_exchange"] == 1


def test_a_bad_line_is_found_before_anything_is_published(
    mqkit: Any, broker: Any, queue: str, tmp_path: Path
) -> None:
    (tmp_path / "in.jsonl").write_text('{"n": 1}\n\n{"n": \n')
    answer = mqkit("publish", "", queue, "--file", "in.jsonl", "--url", broker.url)
    assert answer.returncode == 1
    assert "in.jsonl:3: not JSON" in answer.stderr
    answer = mqkit("consume", queue, "--timeout", "0.3", "--url", broker.url)
    assert answer.stdout == ""


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["body", "--file", "f"], "not both"),
        (["--file", "nothing.jsonl"], "nothing.jsonl: No such file"),
        (["body", "--header", "x"], "--header 'x' is not NAME=VALUE"),
        (["--message-id", "m"], "--message-id is for one message"),
        (["body", "--url", "http://127.0.0.1/"], "amqp://"),
        (["body", "--url", "amqp://a:sesame@127.0.0.1:1/"], "no AMQP broker answers"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_what_cannot_be_published(mqkit: Any, arguments: list[str], said: str) -> None:
    answer = mqkit("publish", "x", "k", *arguments, MQKIT_URL="amqp://127.0.0.1:1/")
    assert answer.returncode == 1
    assert said in answer.stderr
    assert "sesame" not in answer.stderr
    assert answer.stderr.count("\n") == 1


def test_a_wrong_password_says_so(mqkit: Any, broker: Any) -> None:
    url = broker.url.replace("guest:guest", "guest:sesame")
    answer = mqkit("publish", "", "q", "b", "--url", url)
    assert answer.returncode == 1
    assert "ACCESS_REFUSED" in answer.stderr
    assert "sesame" not in answer.stderr


def test_a_terminal_is_not_read(clean_environment: dict[str, str]) -> None:
    """Nobody would know that the command waits for lines."""
    terminal, end = pty.openpty()
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "mqkit_cli", "publish", "x", "k"],
            stdin=end,
            capture_output=True,
            text=True,
            env=clean_environment,
            timeout=60,
            check=False,
        )
    finally:
        os.close(terminal)
        os.close(end)
    assert answer.returncode == 1
    assert "nothing to publish" in answer.stderr
