"""A newcomer's mistakes: each is told in three lines at most, which name what to do, and have no
password and no body of a message in them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from mqkit import App, Delivery, MqkitError, Settings
from mqkit.supervision.final_error import TRACEBACK_VARIABLE

SECRET = "hunter2"
BODY = "a-body-that-is-nobodys-business"
URL = f"amqp://guest:{SECRET}@127.0.0.1:1/"
LINES_MAX = 3


def app(**options: Any) -> Any:
    """Untyped, as type checkers would have told a newcomer of half of this."""
    return App(URL, **options)


def with_topology(tmp_path: Path, text: str, **options: Any) -> App:
    file = tmp_path / "topology.yaml"
    file.write_text(text)
    return App(URL, topology=file, **options)


async def three(a: Any, b: Delivery, c: Any) -> None: ...
async def none() -> None: ...
async def unresolved(order: "Order") -> None: ...  # type: ignore[name-defined]  # noqa: F821, UP037
async def by_keyword(order: bytes, *, delivery: Delivery) -> None: ...
async def second(order: bytes, other: bytes) -> None: ...
async def no_batch(orders: bytes) -> None: ...
async def yields(order: bytes) -> Any:
    yield order


async def publish_outside(body: object) -> None:
    await app().publish("", "q", body)


async def twice() -> None:
    running = app()
    async with running, running:
        pass


async def impatient() -> None:
    async with app() as running:
        await running.wait_ready("50ms")


def is_async(mistake: Callable[..., Any], *arguments: Any) -> Callable[[Path], object]:
    return lambda _: asyncio.run(mistake(*arguments))


MISTAKES: dict[str, tuple[Callable[[Path], object], str]] = {
    "a URL of another scheme": (lambda _: App(f"http://guest:{SECRET}@h/"), "amqp://"),
    "a URL without scheme": (lambda _: App(f"guest:{SECRET}@h:5672"), "amqp://"),
    "a port that is none": (lambda _: App(f"amqp://guest:{SECRET}@h:rabbit/"), "port"),
    "no URL at all": (lambda _: App([]), "URL"),
    "a transport that there is not": (lambda _: app(transport="kombu"), "aio-pika"),
    "URL and settings": (lambda _: App(URL, settings=Settings.load()), "settings"),
    "a setting that is no number": (lambda _: Settings.load(heartbeat_s="soon"), "heartbeat_s"),
    "a decorator without its queue": (lambda _: app().consumer(none), r'@app.consumer\("name"\)'),
    "an empty queue": (lambda _: app().consumer(""), "name of a queue"),
    "no handlers at once": (lambda _: app().consumer("q", concurrency=0), "1 to 65535"),
    "less prefetch than handlers": (
        lambda _: app().consumer("q", concurrency=9, prefetch=3),
        "prefetch=3.*9 to 65535",
    ),
    "a time limit in words": (lambda _: app().consumer("q", timeout="soon"), "200ms, 5s"),
    "a time limit of nothing": (lambda _: app().consumer("q", timeout=0), "None is no timeout"),
    "a handler of three arguments": (lambda _: app().consumer("q")(three), "the Delivery"),
    "a handler of no argument": (lambda _: app().consumer("q")(none), "takes the message"),
    "a type that is not defined": (lambda _: app().consumer("q")(unresolved), "Order"),
    "an argument by keyword": (lambda _: app().consumer("q")(by_keyword), "positions only"),
    "a second argument of any type": (lambda _: app().consumer("q")(second), "annotated Delivery"),
    "a handler that yields": (lambda _: app().consumer("q")(yields), "yield"),
    "a batch handler without Batch": (
        lambda _: app().batch_consumer("q", size=10)(no_batch),
        r"Batch\[...\]",
    ),
    "a body that JSON has not": (lambda _: app().message("", "q", object()), "pydantic model"),
    "a number that JSON has not": (
        lambda _: app().message("", "q", {BODY: float("nan")}),
        "NaN",
    ),
    "publishing before the app runs": (is_async(publish_outside, BODY), "async with app"),
    "the app entered twice": (is_async(twice), "running already"),
    "a port where nobody listens": (is_async(impatient), "127.0.0.1:1"),
    "a file that is not there": (lambda tmp: app(topology=tmp / "topolgy.yaml"), "topolgy.yaml"),
    "a folder for a file": (lambda tmp: app(topology=tmp), "directory"),
    "a file that is no YAML": (lambda tmp: with_topology(tmp, "queues: [}"), "topology.yaml:1"),
    "a misspelled key": (lambda tmp: with_topology(tmp, "queue: {q: {}}"), "queues"),
    "a duration in words": (
        lambda tmp: with_topology(tmp, "queues: {q: {retry: {after: [soon]}}}"),
        "200ms, 5s",
    ),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_an_error_in_few_words(name: str, tmp_path: Path) -> None:
    mistake, advice = MISTAKES[name]
    with pytest.raises(MqkitError, match=advice) as raised:
        mistake(tmp_path)
    told = str(raised.value)
    assert len(told.splitlines()) <= LINES_MAX
    assert SECRET not in told
    assert BODY not in told


# -- at a broker, in app.run() ---------------------------------------------------------------


def wrong_password(url: str) -> App:
    return App(url.replace("guest:guest", f"guest:{SECRET}"))


def wrong_vhost(url: str) -> App:
    return App(url.rstrip("/") + "/typo")


def wrong_queue(url: str) -> App:
    made = App(url)
    made.consumer("mqkit-test-typo")(no_batch)
    return made


REFUSED = [
    (wrong_password, "user name and the password"),
    (wrong_vhost, "virtual host"),
    (wrong_queue, "mqkit-test-typo.*topology"),
]


@pytest.mark.parametrize(("make", "advice"), REFUSED)
@pytest.mark.parametrize("transport", ["native", "aio-pika"])
def test_run_ends_with_one_line_and_code_1(
    broker: Any,
    make: Callable[[str], App],
    advice: str,
    transport: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    monkeypatch.delenv(TRACEBACK_VARIABLE, raising=False)
    monkeypatch.setenv("MQKIT_TRANSPORT", transport)
    with pytest.raises(SystemExit) as ended:
        make(broker.url).run()
    assert ended.value.code == 1
    assert isinstance(ended.value.__cause__, MqkitError)
    (line,) = capsys.readouterr().err.splitlines()
    assert re.search(advice, line)
    assert SECRET not in line
    assert [record for record in caplog.records if record.levelname == "WARNING"] == []


@pytest.mark.parametrize(("make", "advice"), REFUSED)
def test_entering_raises_the_error_itself(
    broker: Any, make: Callable[[str], App], advice: str
) -> None:
    async def enter() -> None:
        async with make(broker.url):
            await asyncio.Event().wait()

    with pytest.raises(MqkitError) as raised:
        asyncio.run(enter())
    assert raised.value.__cause__ is None
    assert raised.value.__suppress_context__ or raised.value.__context__ is None


def test_the_traceback_is_there_for_who_asks(broker: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(TRACEBACK_VARIABLE, "1")
    with pytest.raises(MqkitError):
        wrong_queue(broker.url).run()
