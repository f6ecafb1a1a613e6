"""Connections: who is there, and closing one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any
from urllib.parse import unquote

import pika
import pytest
from playwright.sync_api import Locator, Page, expect

pytestmark = pytest.mark.slow


@pytest.fixture
def client(reference_broker: Any, unique: Callable[[str], str]) -> Iterator[str]:
    """A connection with a name of its own."""
    parameters = pika.URLParameters(reference_broker.url)
    name = unique("client")
    parameters.client_properties = {"connection_name": name, "product": "shop", "version": "1.0"}
    connection = pika.BlockingConnection(parameters)
    yield name
    with suppress(pika.exceptions.AMQPConnectionError):  # a test may have had it closed
        connection.close()


def row_of(page: Page, name: str) -> Locator:
    page.get_by_role("link", name="Connections").click()
    return page.get_by_role("row").filter(has_text=name)


def test_who_is_there(page: Page, client: str) -> None:
    row = row_of(page, client)
    expect(row).to_contain_text("127.0.0.1:")
    expect(row).to_contain_text("shop 1.0 on Python")
    expect(row).to_contain_text("guest/running")


def test_closing_asks_for_a_reason_and_sends_it(page: Page, client: str) -> None:
    row = row_of(page, client)
    row.get_by_role("button", name=f"Close {client}").click()
    dialog = page.get_by_role("dialog", name="Close this connection?")
    expect(dialog).to_contain_text(client)
    dialog.get_by_label("Reason").fill("too busy → out")
    with page.expect_request(lambda request: request.method == "DELETE") as sent:
        dialog.get_by_role("button", name="Close").click()
    assert unquote(sent.value.url).split("/api/connections/")[1].startswith("127.0.0.1:")
    assert sent.value.headers["x-reason"] == "too busy ? out"
    expect(page.get_by_role("status").filter(has_text="Working")).to_be_hidden()


def test_cancelling_closes_nothing(page: Page, client: str) -> None:
    row = row_of(page, client)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.method))
    row.get_by_role("button", name=f"Close {client}").click()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_be_hidden()
    page.get_by_label("Address contains").fill("no such address")
    expect(page.get_by_text("Nobody is connected.")).to_be_visible()
    assert set(asked) == {"GET"}
