"""Names that would run a script, were one of them ever taken for markup."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any
from urllib.parse import quote

import pika
import pytest
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow

EVIL = "<img src=x onerror=\"document.title='hacked'\"><script>document.title='hacked'</script>"


@pytest.fixture
def queue(reference_broker: Any, unique: Callable[[str], str]) -> Iterator[str]:
    """Everything that can have a name has that name; one message, which died."""
    parameters = pika.URLParameters(reference_broker.url)
    parameters.client_properties = {
        "connection_name": EVIL, "product": EVIL, "version": EVIL, "platform": EVIL,
    }  # fmt: skip
    name, exchange = unique(EVIL), unique(f"x.{EVIL}")[:127]
    work = unique(f"w.{EVIL}")
    dead = {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": name}
    with closing(pika.BlockingConnection(parameters)) as connection:
        channel = connection.channel()
        channel.exchange_declare(exchange, "direct")
        channel.queue_declare(name, durable=True)
        channel.queue_declare(work, arguments=dead)
        channel.queue_bind(work, exchange, EVIL)
        channel.queue_bind(name, exchange, EVIL)
        channel.queue_unbind(name, exchange, EVIL)
        channel.queue_bind(name, "amq.headers", EVIL, {EVIL: EVIL})
        properties = pika.BasicProperties(headers={EVIL: EVIL}, message_id=EVIL, content_type=EVIL)
        channel.basic_publish(exchange, EVIL, EVIL.encode(), properties)
        method, _, _ = channel.basic_get(work)
        channel.basic_reject(method.delivery_tag, requeue=False)
        channel.basic_qos(prefetch_count=1)
        other = connection.channel()
        other.basic_consume(work, lambda *_: None, consumer_tag=EVIL)
        yield name
        channel.queue_delete(name)
        other.queue_delete(work)
        channel.exchange_delete(exchange)


def check(page: Page) -> None:
    """The name is read, and no element came of it."""
    expect(page.get_by_text(EVIL).first).to_be_visible()
    assert page.locator("main img, main script").count() == 0
    assert "hacked" not in page.title().split(EVIL)[-1]


def test_no_name_runs(page: Page, queue: str) -> None:
    page.get_by_role("link", name="Queues").click()
    page.get_by_label("Name contains").fill(EVIL)
    check(page)
    page.get_by_role("link", name="Connections").click()
    expect(page.get_by_role("row").filter(has_text=EVIL)).to_have_count(1)  # queues are gone
    check(page)
    page.get_by_role("button", name=f"Close {EVIL}").first.click()
    expect(page.get_by_role("dialog")).to_contain_text(EVIL)
    assert page.locator("dialog img, dialog script").count() == 0
    page.keyboard.press("Escape")

    page.get_by_role("link", name="Dead letters").click()
    page.get_by_role("button", name=f"Look into {queue}").click()
    expect(page.locator(".deaths li")).to_contain_text(EVIL)
    check(page)

    page.goto(f"/#/queues/%2F/{quote(queue, safe='')}")
    expect(page.get_by_role("heading", name=queue, level=1)).to_be_visible()
    page.get_by_role("button", name="Look").click()
    expect(page.locator("pre")).to_have_text(EVIL)
    expect(page.get_by_role("table", name="Headers")).to_contain_text(EVIL)
    check(page)
    page.get_by_label("To queue").fill(EVIL)
    page.get_by_role("button", name="Move").click()
    expect(page.get_by_text(f"no queue '{EVIL}'")).to_be_visible()
    check(page)


def test_a_script_that_got_into_the_page_would_not_run(page: Page, mistakes: list[str]) -> None:
    """The policy is the second wall: it holds even where the first has a hole."""
    refused = page.evaluate(
        """() => new Promise((resolve) => {
            document.addEventListener("securitypolicyviolation",
                (event) => resolve([event.effectiveDirective, event.blockedURI]));
            const script = document.createElement("script");
            script.textContent = "document.title = 'hacked'";
            document.body.append(script);
            setTimeout(() => resolve("it was not refused"), 3000);
        })"""
    )
    assert refused == ["script-src-elem", "inline"]
    assert "hacked" not in page.title()
    assert "Content Security Policy" in mistakes.pop()
