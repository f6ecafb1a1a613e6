"""One queue's page: its numbers live, and everything that can be done to its messages."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable
from urllib.parse import quote

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow

Declare = Callable[..., str]


@pytest.fixture
def name(declared: Declare, unique: Callable[[str], str]) -> str:
    return declared(unique("q"), max_length=100)


@pytest.fixture
def queue_page(page: Page, name: str) -> Page:
    page.goto(f"/#/queues/%2F/{quote(name, safe='')}")
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()
    return page


def fact(page: Page, name: str) -> Locator:
    """The value below a name."""
    return page.locator("dl div").filter(has=page.get_by_text(name, exact=True)).locator("dd")


def ready(channel: BlockingChannel, name: str) -> int:
    count = channel.queue_declare(name, passive=True).method.message_count
    assert isinstance(count, int)
    return count


def test_numbers_and_charts_are_live(queue_page: Page, channel: BlockingChannel, name: str) -> None:
    expect(fact(queue_page, "Ready")).to_have_text("0")
    for _ in range(20):
        channel.basic_publish("", name, b"x")
    expect(fact(queue_page, "Ready")).to_have_text("20")
    expect(fact(queue_page, "Published")).to_have_text("20")
    depth = queue_page.get_by_role("img", name="Messages: ready 20, unacked 0")
    expect(depth.locator("polyline").first).to_have_attribute("points", re.compile(r"\S+ \S+"))
    rates = queue_page.get_by_role("img", name=re.compile(r"Rates: published [\d.]+.s"))
    expect(rates).to_be_visible()


def test_what_it_is_and_who_is_there(queue_page: Page, channel: BlockingChannel, name: str) -> None:
    channel.basic_qos(prefetch_count=7)
    channel.basic_consume(name, lambda *_: None, consumer_tag="me")
    channel.queue_bind(name, "amq.topic", "order.*")
    expect(queue_page.get_by_text("durable, at most 100 ready")).to_be_visible()
    consumers = queue_page.get_by_role("table", name="Consumers of this queue")
    expect(consumers.get_by_role("row").last).to_contain_text(re.compile("me.*needed7active"))
    bindings = queue_page.get_by_role("table", name="Bindings of this queue")
    expect(bindings.get_by_role("row").last).to_have_text("amq.topicorder.*")
    arguments = queue_page.get_by_role("table", name="Arguments")
    expect(arguments).to_contain_text("x-max-length100")


def test_looking_shows_messages_and_says_that_it_marks_them(
    queue_page: Page, channel: BlockingChannel, name: str
) -> None:
    properties = pika.BasicProperties(
        delivery_mode=2, message_id="m-1", headers={"tenant": "north", "n": [1, {"a": None}]}
    )
    channel.basic_publish("", name, "grün".encode(), properties)
    channel.basic_publish("", name, b"\xff\x00")
    panel = queue_page.get_by_role("region", name="Look at messages")
    expect(panel).to_contain_text("They are marked as redelivered by that")
    panel.get_by_role("button", name="Look").click()
    expect(panel.get_by_text("2 messages shown, 0 more ready.")).to_be_visible()
    first, second = panel.get_by_role("article").all()
    expect(first).to_contain_text(f"Came from the default exchange with key {name}.")
    expect(first.get_by_role("table", name="Properties")).to_contain_text(
        "delivery_mode2 (persistent)message_idm-1"
    )
    expect(first.get_by_role("table", name="Headers")).to_contain_text('tenantnorthn[1,{"a":null}]')
    expect(first.locator("pre")).to_have_text("grün")
    expect(second.locator("pre")).to_have_text(base64.b64encode(b"\xff\x00").decode())
    expect(second).to_contain_text("2 B, shown in base64")
    expect(first.get_by_text("redelivered")).to_be_hidden()
    panel.get_by_role("button", name="Look").click()
    expect(panel.get_by_text("redelivered", exact=True)).to_have_count(2)
    assert ready(channel, name) == 2


def test_only_the_beginning_of_a_large_payload_is_fetched(
    queue_page: Page, channel: BlockingChannel, name: str
) -> None:
    channel.basic_publish("", name, b"x" * 100_000)
    queue_page.get_by_role("button", name="Look").click()
    expect(queue_page.get_by_text("97.7 KiB; the first 64 KiB are shown")).to_be_visible()


def test_purging_asks_first(queue_page: Page, channel: BlockingChannel, name: str) -> None:
    channel.basic_publish("", name, b"x")
    purge = queue_page.get_by_role("button", name="Purge …")
    purge.click()
    dialog = queue_page.get_by_role("dialog", name="Purge this queue?")
    expect(dialog).to_contain_text(f"Every ready message of {name} will be thrown away")
    queue_page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    purge.click()
    dialog.get_by_role("button", name="Cancel").click()
    assert ready(channel, name) == 1
    purge.click()
    dialog.get_by_role("button", name="Purge").click()
    expect(queue_page.get_by_text("Purged.")).to_be_visible()
    assert ready(channel, name) == 0


def test_publishing(queue_page: Page, channel: BlockingChannel, name: str) -> None:
    queue_page.get_by_text("Publish a message").click()
    queue_page.get_by_label("Payload", exact=True).fill("aGk=")
    queue_page.get_by_label("Payload is").select_option("base64")
    queue_page.get_by_label("Content type").fill("text/plain")
    queue_page.get_by_label("Headers").fill("a: 1\nnonsense")
    button = queue_page.get_by_role("button", name="Publish")
    button.click()
    expect(queue_page.get_by_text("“nonsense” is not a header")).to_be_visible()
    queue_page.get_by_label("Headers").fill("a: 1")
    button.click()
    expect(queue_page.get_by_text("Published: the message is in the queue.")).to_be_visible()
    _, properties, body = channel.basic_get(name, auto_ack=True)
    assert (body, properties.content_type, properties.delivery_mode) == (b"hi", "text/plain", 2)
    assert properties.headers == {"a": "1"}


def test_moving(
    queue_page: Page,
    channel: BlockingChannel,
    name: str,
    declared: Declare,
    unique: Callable[[str], str],
) -> None:
    other = declared(unique("other"), max_length=4, overflow="reject-publish")
    for number in range(6):
        channel.basic_publish("", name, b"%d" % number)
    panel = queue_page.get_by_role("region", name="Move messages")
    move = panel.get_by_role("button", name="Move")
    panel.get_by_label("To queue").fill(other)
    panel.get_by_label("How many").fill("2")
    move.click()
    expect(panel.get_by_text(f"2 messages moved to {other}.")).to_be_visible()
    panel.get_by_label("How many").fill("")
    move.click()
    expect(panel.get_by_text("2 messages moved to")).to_contain_text("; the other queue is full.")
    assert (ready(channel, name), ready(channel, other)) == (2, 4)
    panel.get_by_label("To queue").fill("no.such")
    move.click()
    expect(panel.get_by_text("no queue 'no.such' in vhost '/'")).to_be_visible()


def test_a_queue_that_is_gone(queue_page: Page, channel: BlockingChannel, name: str) -> None:
    channel.queue_delete(name)
    expect(queue_page.get_by_role("alert").filter(has_text="This is gone.")).to_be_visible()
