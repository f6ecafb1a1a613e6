"""The page in Debian's chromium, in front of the session's reference broker.

Playwright drives the browser that is installed; it never downloads one of its own. The browser is
a module's, not the session's: the sync API keeps a loop in the thread for as long as it runs, and
other tests start loops of theirs.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from typing import Any

import pika
import pytest
from pika.adapters.blocking_connection import BlockingChannel
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

CHROMIUMS = ("chromium", "chromium-browser", "google-chrome")
WAIT_MS = 30_000
NOT_LOOKED_AT = (
    "WebUIOmniboxPopup", "WebUIOmniboxAimPopup",  # of the address bar: web pages of chromium's own
    "AimEnabled", "HttpsUpgrades", "LensOverlay", "OptimizationHints", "PreconnectToSearch",
)  # fmt: skip
"""Features of a window of chromium that no test looks at: two thirds of the CPU of a new one. These
take the place of Playwright's own list, of which the second line is what concerns a window."""
REFUSED_REQUEST = "Failed to load resource"
"""Chromium's console says that of every 4xx; those are tested by what the page makes of them."""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """Skips, with the reason, where no browser is installed. `.ci/run` installs one."""
    found = next(filter(None, map(shutil.which, CHROMIUMS)), None)
    if found is None:
        pytest.skip("no chromium here: apt-get install chromium")
    # Chromium has no sandbox for root; it sees nothing but our own broker.
    arguments = ["--no-sandbox"] if os.geteuid() == 0 else []
    arguments.append(f"--disable-features={','.join(NOT_LOOKED_AT)}")
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=found, args=arguments)
        yield browser
        browser.close()


@pytest.fixture
def mistakes() -> list[str]:
    """The errors in the browser's console. A test that provokes one takes it out."""
    return []


@pytest.fixture
def context(
    browser: Browser, reference_broker: Any, mistakes: list[str]
) -> Iterator[BrowserContext]:
    """A browser that knows nothing yet. Afterwards: no script failed, nothing was refused by the
    page's policy, and nobody but the broker was asked for anything."""
    with watched(browser, reference_broker.management_url, mistakes) as context:
        yield context
    assert mistakes == []


@contextmanager
def watched(browser: Browser, home: str, mistakes: list[str]) -> Iterator[BrowserContext]:
    """A browser that knows nothing yet, and may ask nobody but ``home``. What its console and its
    scripts complain of is added to ``mistakes``."""
    context = browser.new_context(base_url=home, viewport={"width": 1280, "height": 800})
    context.set_default_timeout(WAIT_MS)
    expect.set_options(timeout=WAIT_MS)

    def heard(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.text.startswith(REFUSED_REQUEST):
            mistakes.append(message.text)

    context.on("console", heard)
    context.on("weberror", lambda error: mistakes.append(str(error.error)))
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    yield context
    context.close()
    assert [url for url in asked if not url.startswith(f"{home}/")] == []


@pytest.fixture
def log_in(context: BrowserContext) -> Callable[[], Page]:
    """A new tab in which guest is logged in."""

    def new_tab() -> Page:
        page = context.new_page()
        page.goto("/")
        page.get_by_label("User").fill("guest")
        page.get_by_label("Password").fill("guest")
        page.get_by_role("button", name="Log in").click()
        page.get_by_role("heading", name="Overview").wait_for()
        return page

    return new_tab


@pytest.fixture
def page(log_in: Callable[[], Page]) -> Page:
    return log_in()


@pytest.fixture(scope="module")
def bare(browser: Browser, reference_broker: Any) -> Iterator[tuple[Page, list[str]]]:
    """A page on which nobody is logged in, and its mistakes."""
    mistakes: list[str] = []
    with watched(browser, reference_broker.management_url, mistakes) as context:
        page = context.new_page()
        page.goto("/")
        yield page, mistakes


@pytest.fixture
def bare_page(bare: tuple[Page, list[str]]) -> Iterator[Page]:
    """For functions and classes that the page's modules export, and that keep nothing: the tests of
    a module have one page, and each its own mistakes."""
    page, mistakes = bare
    mistakes.clear()
    yield page
    assert mistakes == []


@pytest.fixture
def module(bare_page: Page) -> Callable[..., Any]:
    """Calls a function that a module of the page exports: ``module("format", "count", 7)``."""

    def call(name: str, function: str, *arguments: Any) -> Any:
        return bare_page.evaluate(
            "async ([name, f, args]) => (await import(`/page/${name}.js`))[f](...args)",
            [name, function, list(arguments)],
        )

    return call


@pytest.fixture
def channel(reference_broker: Any) -> Iterator[BlockingChannel]:
    """An AMQP channel with confirms, for what the page is to show."""
    parameters = pika.URLParameters(reference_broker.url)
    parameters.client_properties = {"connection_name": "the test's own"}
    with closing(pika.BlockingConnection(parameters)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        yield channel


@pytest.fixture
def declared(channel: BlockingChannel) -> Iterator[Callable[..., str]]:
    """Declares a durable queue, which is deleted afterwards; returns its name."""
    names: list[str] = []

    def declare(name: str, **arguments: Any) -> str:
        table = {f"x-{key.replace('_', '-')}": value for key, value in arguments.items()}
        channel.queue_declare(name, durable=True, arguments=table)
        names.append(name)
        return name

    yield declare
    for name in names:
        channel.queue_delete(name)
