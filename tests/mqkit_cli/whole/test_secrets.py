"""A canary password through a broker's process and every command, in ways that work and that don't,
with all logging on: it is seen in no output, no file and no answer."""

from __future__ import annotations

import base64
import hashlib
import json
import logging
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TypeAlias

import httpx
import pika
import pytest

from mqkit_cli.ctl import main as ctl_main

from ..conftest import Completed, Mqkit  # noqa: TID252 - types of the fixtures there

pytestmark = pytest.mark.slow
"""It starts a process."""

CANARY = "canary-in-the-mine"
NEW = "canary-that-is-new"
FORMS = tuple(
    form
    for word in (CANARY, NEW)
    for form in (
        word,
        base64.b64encode(f"app:{word}".encode()).decode()[6:20],
        word.encode().hex(),
        hashlib.sha256(word.encode()).hexdigest(),
    )
)
LOUD = (
    "import logging, sys; logging.basicConfig(level=logging.DEBUG);"
    "from mqkit_cli.__main__ import main; main()"
)
STOP_S = 20

Running: TypeAlias = tuple["subprocess.Popen[str]", int, int]


def seen_in(text: str) -> list[str]:
    return [form for form in FORMS if form in text]


@pytest.fixture
def broker(clean_environment: dict[str, str], tmp_path: Path) -> Iterator[Running]:
    """A process with every logger at DEBUG, and its two ports."""
    config = tmp_path / "broker.yaml"
    config.write_text(
        f"listen: 127.0.0.1:0\nhttp: 127.0.0.1:0\ndata_dir: data\n"
        f"users: {{app: {{password: {CANARY}, tags: [administrator]}}}}\n"
    )
    process = subprocess.Popen(
        [sys.executable, "-c", LOUD, "broker", "run", "--config", str(config)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment,
    )
    assert process.stdout is not None
    amqp, http = (int(word.rpartition(":")[2]) for word in process.stdout.readline().split()[1:3])
    yield process, amqp, http
    if process.poll() is None:
        process.kill()
    process.communicate()


def urls(amqp: int, http: int, password: str = CANARY) -> dict[str, str]:
    return {
        "MQKIT_URL": f"amqp://app:{password}@127.0.0.1:{amqp}/",
        "MQKIT_MANAGEMENT_URL": f"http://app:{password}@127.0.0.1:{http}",
    }


def commands(amqp: int, http: int) -> list[tuple[list[str], dict[str, str]]]:
    """Command lines and environments: right, wrong, and at a port where nobody is."""
    good, wrong, dead = urls(amqp, http), urls(amqp, http, CANARY + "x"), urls(1, 1)
    broken = {name: url.replace("@", "@[") for name, url in good.items()}
    lines = [
        ["publish", "-q", "q", "--body", "x"],
        ["consume", "nope", "--count", "1"],
        ["topology", "plan", "-f", "topology.yaml"],
        ["topology", "export"],
        ["topology", "doctor", "-f", "topology.yaml"],
        ["dlq", "ls"],
        ["dlq", "peek", "nope"],
        ["broker", "export-definitions"],
    ]
    cases = [(line, place) for line in lines for place in (good, wrong, dead, broken)]
    unknown_vhost = {"MQKIT_URL": f"{good['MQKIT_URL']}nope"}
    cases.append((lines[0], unknown_vhost))
    cases.append((["publish", "-q", "q", "--url", good["MQKIT_URL"], "--no-such-option"], {}))
    cases.append((["consume", "nope", "--url", broken["MQKIT_URL"]], {}))
    return cases


def test_commands_and_broker_keep_it_to_themselves(
    broker: Running,
    mqkit: Mqkit,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    process, amqp, http = broker
    caplog.set_level(logging.DEBUG)
    (tmp_path / "topology.yaml").write_text("queues: {q: {}}\n")
    codes: list[int] = []
    for line, variables in commands(amqp, http):
        done: Completed = mqkit(*line, **variables)
        codes.append(done.returncode)
        assert seen_in(done.stdout + done.stderr) == [], (line, done)
    assert 0 in codes
    assert 1 in codes
    assert seen_in(_ctl(http, monkeypatch, capsys)) == []
    for answer in _answers(http):
        assert seen_in(answer.text) == [], answer.request.url
        assert seen_in(str(answer.headers)) == []
    _wrong_logins(amqp)
    process.send_signal(signal.SIGTERM)
    out, errors = process.communicate(timeout=STOP_S)
    assert process.returncode == 0
    assert "INFO:reference_broker" in errors  # it was loud
    assert seen_in(out + errors) == []
    assert seen_in(caplog.text) == []
    files = [path for path in (tmp_path / "data").rglob("*") if path.is_file()]
    assert files
    for path in files:
        assert not any(form.encode() in path.read_bytes() for form in FORMS), path


def _ctl(http: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> str:
    """The output of rabbitmqctl's commands, with the password as an argument and in the
    environment."""
    capsys.readouterr()
    for password in (CANARY, CANARY + "x"):
        place = f"http://app:{password}@127.0.0.1:{http}"
        monkeypatch.setenv("MQKIT_MANAGEMENT_URL", place)
        for words in (
            ["add_user", "new", NEW],
            ["add_user", "new", NEW],
            ["change_password", "new", NEW + "2"],
            ["change_password", "nobody", NEW],
            ["authenticate_user", "new", NEW],
            ["list_users"],
            ["list_connections"],
            ["export_definitions", "-"],
            ["status"],
        ):
            _code_of(ctl_main.run, words)
    captured = capsys.readouterr()
    assert "new" in captured.out
    return captured.out + captured.err


def _code_of(run: Callable[[list[str]], int], words: list[str]) -> None:
    """A refusal may be raised, for ``run_guarded`` to say."""
    try:
        run(words)
    except Exception as refusal:  # noqa: BLE001 - whatever it is, its text is printed
        print(refusal)


def _answers(http: int) -> Iterator[httpx.Response]:
    """Every page that could know it, and requests that are refused with it in them."""
    with httpx.Client(base_url=f"http://127.0.0.1:{http}", trust_env=False, timeout=30) as api:
        login, wrong = ("app", CANARY), ("app", CANARY + "x")
        for path in ("users", "users/app", "users/new", "definitions", "whoami", "overview"):
            for auth in (login, wrong, (CANARY, CANARY)):
                yield api.get(f"/api/{path}", auth=auth)
        for path in ("connections", "nodes", "auth", "parameters", "global-parameters"):
            yield api.get(f"/api/{path}", auth=login)
        yield api.get("/metrics")
        for body in (
            {"password": NEW, "tags": 5},
            {"password": [NEW], "tags": ""},
            {"password_hash": NEW, "tags": ""},
            {"password": NEW * 2_000, "tags": ""},
        ):
            yield api.put("/api/users/other", auth=login, json=body)
        yield api.put("/api/users/other", auth=login, content=json.dumps({"password": NEW})[:-1])
        users = [{"name": "other", "password": NEW, "tags": ["x", 5]}]
        yield api.post("/api/definitions", auth=login, json={"users": users})
        yield api.post("/api/definitions", auth=wrong, json={"users": users})


def _wrong_logins(amqp: int) -> None:
    for password, vhost in ((CANARY + "x", "/"), (CANARY, "nope")):
        login = pika.PlainCredentials("app", password)
        parameters = pika.ConnectionParameters("127.0.0.1", amqp, vhost, credentials=login)
        with pytest.raises(pika.exceptions.AMQPConnectionError):
            pika.BlockingConnection(parameters)


@pytest.mark.parametrize(
    "users",
    [f"{{app: {CANARY}}}", f"{{app: {{password: [{CANARY}]}}}}", f"{{app: {{secret: {CANARY}}}}}"],
)
def test_a_configuration_that_can_not_be(mqkit: Mqkit, tmp_path: Path, users: str) -> None:
    config = tmp_path / "broker.yaml"
    config.write_text(f"listen: 127.0.0.1:0\nusers: {users}\n")
    done = mqkit("broker", "run", "--config", str(config))
    assert done.returncode == 1
    assert seen_in(done.stdout + done.stderr) == []
