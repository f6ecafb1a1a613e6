"""Dead letters: which queues they come to, and why each message is there."""

from __future__ import annotations

import re
from collections.abc import Callable

import pytest
from pika.adapters.blocking_connection import BlockingChannel
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


def test_each_death_is_told(
    page: Page,
    channel: BlockingChannel,
    declared: Callable[..., str],
    unique: Callable[[str], str],
) -> None:
    grave = declared(unique("grave"))
    work = declared(unique("work"), dead_letter_exchange="", dead_letter_routing_key=grave)
    channel.queue_bind(work, "amq.topic", f"{work}.new")
    channel.basic_publish("amq.topic", f"{work}.new", b"bad order")
    method, _, _ = channel.basic_get(work)
    channel.basic_reject(method.delivery_tag, requeue=False)

    page.get_by_role("link", name="Dead letters").click()
    row = page.get_by_role("row").filter(has=page.get_by_role("link", name=grave, exact=True))
    expect(row).to_contain_text(work)
    expect(row.get_by_role("cell").nth(2)).to_have_text("1")
    row.get_by_role("button", name=f"Look into {grave}").click()
    expect(page.get_by_role("heading", name="Why it is here")).to_be_visible()
    sentence = (
        rf"Rejected by a consumer of {re.escape(work)} once on \d{{4}}-\d\d-\d\d \d\d:\d\d UTC;"
        rf" it was published to exchange amq\.topic with key {re.escape(work)}\.new\."
    )
    expect(page.locator(".deaths li")).to_have_text(re.compile(sentence))
    expect(page.locator("pre")).to_have_text("bad order")
    headers = page.get_by_role("table", name="Headers")
    expect(headers).to_contain_text("x-first-death-reason")
    expect(headers).not_to_contain_text("routing-keys")
