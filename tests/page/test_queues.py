"""The table of queues: what it says, and finding one of many."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from pika.adapters.blocking_connection import BlockingChannel
from playwright.sync_api import Page, expect

pytestmark = pytest.mark.slow


@pytest.fixture
def prefix(unique: Callable[[str], str]) -> str:
    return unique("q")


def filtered(page: Page, text: str) -> Any:
    """The rows of the queues whose name contains ``text``."""
    page.get_by_role("link", name="Queues").click()
    page.get_by_label("Name contains").fill(text)
    return page.get_by_role("row").filter(has=page.get_by_role("cell"))


def test_a_row(
    page: Page, channel: BlockingChannel, declared: Callable[..., str], prefix: str
) -> None:
    name = declared(f"{prefix}.one", max_length=7, message_ttl=60_000_000)
    channel.basic_consume(name, lambda *_: None)
    rows = filtered(page, prefix)
    expect(rows).to_have_count(1)
    expect(rows).to_contain_text("durable, messages live 16 h 40 min, at most 7 ready")
    expect(rows.get_by_role("cell").last).to_have_text("1")
    expect(page.get_by_text("1 queue of")).to_be_visible()
    rows.get_by_role("link", name=name).click()
    expect(page.get_by_role("heading", name=name, level=1)).to_be_visible()


def test_filter_sort_and_pages(
    page: Page, channel: BlockingChannel, declared: Callable[..., str], prefix: str
) -> None:
    names = [declared(f"{prefix}.{number:02}") for number in range(53)]
    for _ in range(3):
        channel.basic_publish("", names[7], b"x")
    rows = filtered(page, prefix)
    expect(rows).to_have_count(50)
    expect(page.get_by_text("53 queues of")).to_contain_text("page 1 of 2")
    page.get_by_role("button", name="Next").click()
    expect(rows).to_have_count(3)
    expect(rows.first).to_contain_text(names[50])
    expect(page.get_by_role("button", name="Next")).to_be_disabled()

    ready = page.get_by_role("columnheader", name="Ready")
    ready.get_by_role("button").click()
    expect(ready).to_have_attribute("aria-sort", "ascending")
    expect(rows).to_have_count(50)
    ready.get_by_role("button").click()
    expect(ready).to_have_attribute("aria-sort", "descending")
    expect(rows.first).to_contain_text(names[7])

    page.get_by_label("Name contains").fill(f"{prefix}.nothing")
    expect(page.get_by_text("No queue, or none with such a name.")).to_be_visible()


def test_a_last_page_that_is_gone_leads_to_the_first(
    page: Page, channel: BlockingChannel, declared: Callable[..., str], prefix: str
) -> None:
    names = [declared(f"{prefix}.{number:02}") for number in range(51)]
    rows = filtered(page, prefix)
    page.get_by_role("button", name="Next").click()
    expect(rows).to_have_count(1)
    channel.queue_delete(names[50])
    expect(rows).to_have_count(50)


def test_a_refresh_keeps_the_keyboards_focus(
    page: Page, channel: BlockingChannel, declared: Callable[..., str], prefix: str
) -> None:
    first, second = declared(f"{prefix}.1"), declared(f"{prefix}.2")
    rows = filtered(page, prefix)
    link = page.get_by_role("link", name=second)
    link.focus()
    channel.basic_publish("", second, b"x")
    expect(rows.last.get_by_role("cell").nth(3)).to_have_text("1")
    expect(link).to_be_focused()
    channel.queue_delete(first)
    expect(rows).to_have_count(1)
    expect(link).to_be_focused()
