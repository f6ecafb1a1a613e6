"""The app: publishing with outcomes, starting and failing to, and what it refuses."""

from __future__ import annotations

import asyncio
import logging
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel, field_serializer

import mqkit
from mqkit import (
    App,
    Closed,
    ConfigurationError,
    Confirmed,
    ConnectionRefused,
    DeadlineExceeded,
    Delivery,
    Rejected,
    RejectReason,
    Settings,
    TopologyError,
    Unknown,
)
from mqkit.testing.proxy import FaultyProxy
from mqkit.topology import Topology, loads
from mqkit.transport.choice import TRANSPORTS

pytestmark = pytest.mark.anyio

WAIT_S = 20.0


def fast(url: str, **options: Any) -> Settings:
    return Settings.load(urls=url, reconnect_first_s=0.01, reconnect_max_s=0.05, **options)


def own_queue(name: str) -> Topology:
    """A queue that goes away when nobody has used it for a minute."""
    return loads(f"queues:\n  {name}: {{expires: 1m}}\n")


def deliveries(app: App, queue: str) -> asyncio.Queue[Delivery]:
    """All that arrives in ``queue``."""
    arrived: asyncio.Queue[Delivery] = asyncio.Queue()

    @app.consumer(queue)
    async def note(delivery: Delivery) -> None:
        arrived.put_nowait(delivery)

    return arrived


# -- publishing ------------------------------------------------------------------------------


async def test_a_publish_says_what_came_of_it(broker: Any, unique: Callable[[str], str]) -> None:
    queue = unique("queue")
    settings = fast(broker.url, max_message_bytes=1000)
    async with App(topology=own_queue(queue), settings=settings) as app:
        assert await app.publish("", queue, {"a": 1}, message_id="m") == Confirmed("m")
        unroutable = await app.publish("", unique("nowhere"), "text", message_id="m")
        assert isinstance(unroutable, Rejected)
        assert (unroutable.reason, unroutable.message_id) == (RejectReason.UNROUTABLE, "m")
        no_exchange = await app.publish(unique("nowhere"), queue, b"")
        assert isinstance(no_exchange, Rejected)
        assert no_exchange.reason is RejectReason.NO_EXCHANGE
        too_large = await app.publish("", queue, b"x" * 1001)
        assert isinstance(too_large, Rejected)
        assert too_large.reason is RejectReason.TOO_LARGE
        refused = await app.publish("", "k" * 256, b"")
        assert isinstance(refused, Rejected)
        assert refused.reason is RejectReason.REFUSED
        assert "255 bytes" in refused.detail


async def test_a_batch_has_its_outcomes_in_order(broker: Any, unique: Callable[[str], str]) -> None:
    queue = unique("queue")
    async with App(topology=own_queue(queue), settings=fast(broker.url)) as app:
        messages = [
            app.message("", queue if number % 3 else unique("nowhere"), b"", message_id=str(number))
            for number in range(30)
        ]
        outcomes = await app.publish_batch(messages, deadline=WAIT_S)
    assert [outcome.message_id for outcome in outcomes] == [str(number) for number in range(30)]
    assert [bool(outcome) for outcome in outcomes] == [bool(n % 3) for n in range(30)]


async def test_a_publish_whose_confirm_never_comes_is_unknown(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("queue")
    async with FaultyProxy.before(broker.url) as proxy, App(proxy.url, own_queue(queue)) as app:
        assert await app.publish("", queue, b"")
        proxy.refuse()
        proxy.cut_before_confirm()
        outcome = await app.publish("", queue, b"", message_id="m", deadline="200ms")
    assert isinstance(outcome, Unknown)
    assert outcome.message_id == "m"
    assert "not confirmed" in outcome.detail


async def test_a_publish_waits_for_the_connection_within_its_deadline(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("queue")
    async with FaultyProxy.before(broker.url) as proxy, App(proxy.url, own_queue(queue)) as app:
        await app.wait_ready(WAIT_S)
        proxy.cut()
        assert await app.publish("", queue, b"", deadline=WAIT_S)


@pytest.mark.parametrize("transport", TRANSPORTS)
async def test_every_property_arrives(
    broker: Any, unique: Callable[[str], str], transport: str
) -> None:
    queue = unique("queue")
    app = App(topology=own_queue(queue), settings=fast(broker.url), transport=transport)
    arrived = deliveries(app, queue)
    moment = datetime(2026, 1, 2, tzinfo=UTC)
    async with asyncio.timeout(WAIT_S), app:
        assert await app.publish(
            "",
            queue,
            "text",
            message_id="m",
            headers={"h": 1},
            priority=7,
            expiration="10m",
            correlation_id="c",
            reply_to="r",
            type="t",
            timestamp=moment,
            app_id="a",
            persistent=False,
            idempotency_key="i",
        )
        delivery = await arrived.get()
        assert delivery.idempotency_key == "i"
        assert delivery.properties == mqkit.Properties(
            content_type="text/plain; charset=utf-8",
            headers={"h": 1, "x-mqkit-idempotency-key": "i"},
            persistent=False,
            priority=7,
            correlation_id="c",
            reply_to="r",
            expiration_ms=600_000,
            message_id="m",
            timestamp=moment,
            type="t",
            app_id="a",
        )
        nobody_has_to_take_it = await app.publish("", unique("nowhere"), b"", mandatory=False)
        assert isinstance(nobody_has_to_take_it, Confirmed)


async def test_a_message_that_is_made_already_is_sent(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("queue")
    async with App(topology=own_queue(queue), settings=fast(broker.url)) as app:
        message = app.message("", queue, b"", message_id="m")
        assert await app.send(message, deadline=WAIT_S) == Confirmed("m")
        unroutable = await app.send(app.message("", unique("nowhere"), b""), resend=False)
        assert isinstance(unroutable, Rejected)
        with pytest.raises(ConfigurationError, match="deadline="):
            await app.send(message, deadline=-1)


async def test_a_target_is_made_before_the_app_runs_or_while_it_does(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("queue")
    app = App(topology=own_queue(queue), settings=fast(broker.url))
    arrived = deliveries(app, queue)
    before = app.to("", queue, model=Recorded)
    with pytest.raises(Closed, match="async with app"):
        await before.publish(Recorded())
    async with asyncio.timeout(WAIT_S), app:
        inside = app.to("", queue)
        assert await before.publish(Recorded(), message_id="1")
        assert await inside.publish({"any": "thing"}, message_id="2")
        assert await app.publish_batch([before.message(Recorded(), message_id="3")])
        found = [await arrived.get() for _ in range(3)]
    types = [(each.message_id, each.properties.type) for each in found]
    assert types == [("1", "Recorded"), ("2", None), ("3", "Recorded")]


async def test_while_the_broker_blocks_a_publish_waits_or_fails_as_the_settings_say(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue = unique("queue")
    async with FaultyProxy.before(broker.url) as proxy:
        settings = fast(proxy.url, on_blocked="fail")
        async with App(topology=own_queue(queue), settings=settings) as app:
            await app.wait_ready(WAIT_S)
            proxy.block("low on memory")
            message = app.message("", queue, b"", message_id="m")
            while outcome := await app.publish("", queue, b"", message_id="m"):
                pass
            blocked = Rejected(RejectReason.BLOCKED, "low on memory", "m")
            assert outcome == blocked
            assert await app.send(message) == blocked
            assert await app.publish_batch([message]) == [blocked]
            waiting = asyncio.create_task(app.send(message, on_blocked="wait"))
            proxy.unblock()
            assert await waiting == Confirmed("m")
            with pytest.raises(ConfigurationError, match="on_blocked='maybe'"):
                await app.publish("", queue, b"", on_blocked="maybe")  # type: ignore[arg-type]


async def test_a_retry_waits_for_a_broker_that_blocks_whatever_the_settings_say(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue, failed, again = unique("queue"), asyncio.Event(), asyncio.Event()
    retry = f"queues: {{{queue}: {{retry: {{after: [20ms], then: drop}}}}}}\n"
    unique("queue.retry.20ms")
    async with FaultyProxy.before(broker.url) as proxy:
        app = App(topology=loads(retry), settings=fast(proxy.url, on_blocked="fail"))

        @app.consumer(queue)
        async def handle(delivery: Delivery) -> None:
            if failed.is_set():
                again.set()
                return
            proxy.block("low on memory")
            while await app.publish("", "nowhere", b"", mandatory=False):
                pass
            failed.set()
            raise ValueError("not yet")

        async with asyncio.timeout(WAIT_S), app:
            assert await app.publish("", queue, b"")
            await failed.wait()
            for _ in range(100):
                await asyncio.sleep(0)  # every chance to publish it all the same
            assert not again.is_set()
            proxy.unblock()
            await again.wait()
        assert (app.stats.unconfirmed_republishes, app.stats.retried) == (0, 1)


class Recorded(BaseModel):
    """A body that tells when it is encoded."""

    number: int = 0

    @field_serializer("number")
    def _encoded(self, number: int) -> int:
        encoded.append(number)
        return number


encoded: list[int] = []


async def test_a_call_that_finds_the_bound_reached_waits_before_its_body_is_encoded(
    unused_port: int,
) -> None:
    encoded.clear()
    away = fast(f"amqp://127.0.0.1:{unused_port}/", publish_waiting_bytes_max=10)
    async with App(settings=away, drain_timeout=0) as app:
        first = asyncio.create_task(app.publish("", "q", b"x" * 10, deadline=WAIT_S))
        await asyncio.sleep(0)
        orders = app.to("", "q", model=Recorded)
        for late in (
            await orders.publish(Recorded(), deadline=0.05, message_id="m"),
            await app.publish("", "q", Recorded(), deadline=0.05, message_id="m"),
        ):
            assert isinstance(late, Unknown)
            assert "was never sent within 0.05 s (client: connecting" in late.detail
            assert (late.message_id, late.sent) == ("m", False)
        with pytest.raises(ConfigurationError, match="priority=256"):
            await app.publish("", "q", Recorded(), priority=256)
        assert encoded == []
        first.cancel()
    assert isinstance(orders.message(Recorded(number=7)).body, bytes)
    assert encoded == [7]


# -- starting, and failing to ----------------------------------------------------------------


async def test_a_wrong_password_ends_the_app_and_is_not_shown(
    broker: Any, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    wrong = broker.url.replace("guest:guest@", "guest:hunter2@")
    with pytest.raises(ConnectionRefused, match="403") as refused:
        async with asyncio.timeout(WAIT_S), App(wrong):
            await asyncio.Event().wait()  # it is cancelled
    assert "hunter2" not in str(refused.value) + caplog.text


async def test_waiting_and_publishing_raise_the_same_error_as_the_app(broker: Any) -> None:
    wrong = broker.url.replace("guest:guest@", "guest:hunter2@")
    with pytest.raises(ConnectionRefused, match="403"):
        async with App(wrong) as app:
            await app.wait_ready(WAIT_S)
    with pytest.raises(ConnectionRefused, match="403"):
        async with App(wrong) as app:
            await app.publish("", "q", b"", deadline=WAIT_S)


async def test_a_vhost_that_is_not_there_ends_the_app(broker: Any) -> None:
    with pytest.raises(ConnectionRefused):
        async with App(broker.url.rstrip("/") + "/no-such-vhost") as app:
            await app.wait_ready(WAIT_S)


async def test_a_broker_that_does_not_answer_is_named_at_the_deadline(unused_port: int) -> None:
    async with App(settings=fast(f"amqp://guest:hunter2@127.0.0.1:{unused_port}/")) as app:
        with pytest.raises(DeadlineExceeded, match=str(unused_port)) as late:
            await app.wait_ready("200ms")
        assert "hunter2" not in str(late.value)
        assert isinstance(await app.publish("", "q", b"", deadline=0.05), Unknown)


async def test_a_consumer_of_a_queue_that_is_not_there_ends_the_first_start(
    broker: Any, unique: Callable[[str], str]
) -> None:
    app, queue = App(broker.url), unique("nowhere")

    @app.consumer(queue)
    async def handle(body: bytes) -> None: ...

    with pytest.raises(mqkit.ChannelError, match=f"404.*{queue}"):
        async with app:
            await asyncio.Event().wait()


async def test_a_refused_object_is_logged_and_the_rest_goes_on(
    broker: Any, unique: Callable[[str], str], caplog: pytest.LogCaptureFixture
) -> None:
    other, mine = unique("other"), unique("mine")
    first = own_queue(other)
    second = loads(f"queues:\n  {other}: {{expires: 2m}}\n  {mine}: {{expires: 1m}}\n")
    async with App(topology=first, settings=fast(broker.url)) as holder:
        await holder.wait_ready(WAIT_S)
        async with App(topology=second, settings=fast(broker.url)) as app:
            assert await app.publish("", mine, b"")
    assert f"{other} is not declared" in caplog.text
    assert "x-expires" in caplog.text


async def test_the_apps_end_is_not_a_group_of_errors(broker: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        async with App(broker.url) as app:
            await app.wait_ready(WAIT_S)
            raise ZeroDivisionError


async def test_an_app_may_run_again_and_only_once_at_a_time(broker: Any) -> None:
    app, before = App(broker.url), asyncio.all_tasks()
    for _ in range(2):
        async with app:
            await app.wait_ready(WAIT_S)
            assert app.state == "ready"
            with pytest.raises(ConfigurationError, match="running already"):
                await app.__aenter__()
        assert app.state == "closed"
    assert asyncio.all_tasks() == before


async def test_being_cancelled_closes_everything_at_once(
    broker: Any, unique: Callable[[str], str]
) -> None:
    queue, begun, before = unique("queue"), asyncio.Event(), asyncio.all_tasks()
    app = App(topology=own_queue(queue), settings=fast(broker.url), drain_timeout="10m")

    @app.consumer(queue)
    async def handle(body: bytes) -> None:
        begun.set()
        await asyncio.Event().wait()

    async def run() -> None:
        async with app:
            assert await app.publish("", queue, b"")
            await asyncio.Event().wait()

    task = asyncio.create_task(run())
    async with asyncio.timeout(WAIT_S):
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    assert asyncio.all_tasks() == before


# -- what is refused ---------------------------------------------------------------------------


async def test_nothing_is_published_outside_of_the_app() -> None:
    app = App("amqp://127.0.0.1/")
    with pytest.raises(Closed, match="async with app"):
        await app.publish("", "q", b"")
    with pytest.raises(Closed):
        await app.wait_ready()


def test_a_topology_file_is_read_at_once(tmp_path: Path) -> None:
    good, bad = tmp_path / "good.yaml", tmp_path / "bad.yaml"
    good.write_text("queues:\n  q: {}\n")
    bad.write_text("queues:\n  q: {ttl: 3}\n")
    app = App("amqp://127.0.0.1/", good)
    assert app.topology is not None
    assert app.topology.queue("q") is not None
    with pytest.raises(TopologyError, match=r"bad\.yaml:2"):
        App("amqp://127.0.0.1/", bad)
    with pytest.raises(TopologyError, match="can't be read"):
        App("amqp://127.0.0.1/", tmp_path / "none.yaml")


def test_several_topology_files_are_laid_over_each_other(tmp_path: Path) -> None:
    base, over = tmp_path / "base.yaml", tmp_path / "over.yaml"
    base.write_text("queues:\n  q: {}\n")
    over.write_text("queues:\n  r:\n")
    app = App("amqp://127.0.0.1/", [base, str(over)])
    assert app.topology is not None
    assert [queue.name for queue in app.topology.queues] == ["q", "r"]
    with pytest.raises(ConfigurationError, match="empty list"):
        App("amqp://127.0.0.1/", [])


def test_a_topology_may_be_made_in_python() -> None:
    app = App("amqp://127.0.0.1/", Topology.of(queues={"q": {"retry": {"after": ["1s"]}}}))
    assert app.topology is not None
    assert app.topology.queue("q") is not None


async def test_a_topology_for_another_vhost_is_refused() -> None:
    topology = loads("vhost: /shop\nqueues:\n  q: {}\n")
    with pytest.raises(ConfigurationError, match="vhost '/shop'"):
        async with App("amqp://127.0.0.1/", topology):
            pass


def test_urls_come_from_arguments_or_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQKIT_URL", "amqp://one/")
    assert [end.host for end in App().settings.endpoints] == ["one"]
    assert [end.host for end in App(["amqp://a/", "amqp://b/"]).settings.endpoints] == ["a", "b"]
    with pytest.raises(ConfigurationError):
        App("http://a/")
    with pytest.raises(ConfigurationError, match="in the settings"):
        App("amqp://a/", settings=Settings.load())


@pytest.mark.parametrize(
    "options",
    [
        {"concurrency": 0},
        {"concurrency": True},
        {"concurrency": 70_000},
        {"prefetch": 0},
        {"prefetch": 65_536},
        {"prefetch": 3, "concurrency": 4},
        {"timeout": -1},
        {"timeout": "soon"},
    ],
)
def test_options_of_a_consumer_that_make_no_sense_are_refused(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigurationError):
        App("amqp://127.0.0.1/").consumer("q", **options)


@pytest.mark.parametrize("options", [{"size": 0}, {"size": 32_768}, {"size": 5, "within": -1}])
def test_options_of_a_batch_consumer_that_make_no_sense_are_refused(
    options: dict[str, Any],
) -> None:
    with pytest.raises(ConfigurationError):
        App("amqp://127.0.0.1/").batch_consumer("q", **options)


def test_the_decorated_function_stays_as_it_is() -> None:
    app = App("amqp://127.0.0.1/")

    def handle(body: bytes) -> None: ...

    assert app.consumer("q")(handle) is handle


# -- the package -------------------------------------------------------------------------------


def test_every_public_name_is_there() -> None:
    for name in mqkit.__all__:
        assert getattr(mqkit, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = mqkit.nothing


def test_the_codec_loads_nothing_of_the_client() -> None:
    program = (
        "import sys, mqkit.wire;"
        "print(*[m for m in ('aio_pika', 'pydantic', 'anyio', 'pika') if m in sys.modules])"
    )
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert ran.stdout.strip() == ""


# -- mistakes, and handlers that end the program -----------------------------------------------


@pytest.mark.parametrize("queue", [print, "", None])
def test_a_decorator_without_its_queue_is_refused(queue: Any) -> None:
    app = App("amqp://127.0.0.1/")
    with pytest.raises(ConfigurationError, match=r'@app\.consumer\("name"\)'):
        app.consumer(queue)
    with pytest.raises(ConfigurationError, match=r'@app\.batch_consumer\("name"\)'):
        app.batch_consumer(queue, size=5)


def test_a_timeout_of_nothing_is_refused() -> None:
    app = App("amqp://127.0.0.1/")
    with pytest.raises(ConfigurationError, match="timeout=0"):
        app.consumer("q", timeout=0)
    with pytest.raises(ConfigurationError, match="timeout=0"):
        app.batch_consumer("q", size=5, timeout="0s")


def test_a_handler_that_exits_ends_the_program_in_order(broker: Any, tmp_path: Path) -> None:
    script = tmp_path / "exits.py"
    script.write_text(
        "import asyncio, sys, mqkit\n"
        "from mqkit.topology import loads\n"
        "app = mqkit.App(topology=loads('queues: {NAME: {expires: 1m}}'))\n"
        "@app.consumer('NAME')\n"
        "def leave(body: bytes) -> None:\n"
        "    sys.exit(7)\n"
        "async def main() -> None:\n"
        "    async with app:\n"
        "        await app.publish('', 'NAME', b'x')\n"
        "        await asyncio.Event().wait()\n"
        "asyncio.run(main())\n".replace("NAME", f"exits-{id(script)}")
    )
    ended = subprocess.run(
        [sys.executable, str(script)],
        env={"MQKIT_URL": broker.url, "PYTHONPATH": str(Path(mqkit.__file__).parents[1])},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (7, "")
