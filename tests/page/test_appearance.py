"""The page on a small screen, in the dark, and by keyboard."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Literal
from urllib.parse import quote

import pytest
from pika.adapters.blocking_connection import BlockingChannel
from playwright.sync_api import BrowserContext, Page, expect

pytestmark = pytest.mark.slow

VIEWS = ("overview", "queues", "connections", "dead-letters")
CONTRAST_MIN = 4.5
"""WCAG 2, 1.4.3."""
PAIRS = (
    ("text", "ground"), ("text", "panel"), ("quiet", "ground"), ("quiet", "panel"),
    ("accent", "ground"), ("accent", "panel"), ("accent-text", "accent"), ("danger", "panel"),
    ("text", "warn-ground"), ("two", "panel"),
)  # fmt: skip


@pytest.fixture
def long_name(
    channel: BlockingChannel, declared: Callable[..., str], unique: Callable[[str], str]
) -> str:
    """A queue whose name has no place to break, with a message like that."""
    name = declared(unique("q" * 120), message_ttl=3_600_000)
    channel.basic_publish("", name, b"x" * 300)
    return name


@pytest.mark.parametrize("width", [390, 1280])
def test_nothing_sticks_out(page: Page, long_name: str, width: int) -> None:
    page.set_viewport_size({"width": width, "height": 844})
    for view in (*VIEWS, f"queues/%2F/{quote(long_name, safe='')}"):
        page.goto(f"/#/{view}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        if view.startswith("queues/"):
            page.get_by_role("button", name="Look").click()
            expect(page.locator("pre")).to_be_visible()
        elif view == "queues":
            page.get_by_label("Name contains").fill(long_name)  # others' queues fill pages
            expect(page.get_by_text(long_name)).to_be_visible()
        assert page.evaluate("document.documentElement.scrollWidth") <= width, view


def luminance(colour: str) -> float:
    """WCAG 2's relative luminance of ``#rrggbb``."""
    channels = [int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_text_can_be_read_in_both_schemes(
    context: BrowserContext, scheme: Literal["light", "dark"]
) -> None:
    page = context.new_page()
    page.emulate_media(color_scheme=scheme)
    page.goto("/")
    colours: dict[str, str] = page.evaluate(
        """(names) => Object.fromEntries(names.map((name) => [
            name, getComputedStyle(document.documentElement).getPropertyValue(`--${name}`)]))""",
        sorted({name for pair in PAIRS for name in pair}),
    )
    low = {}
    for pair in PAIRS:
        dark, light = sorted(luminance(colours[name].strip()) for name in pair)
        if (ratio := (light + 0.05) / (dark + 0.05)) < CONTRAST_MIN:
            low[pair] = ratio
    assert low == {}
    body = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (luminance("#" + "".join(f"{int(c):02x}" for c in re.findall(r"\d+", body))) < 0.2) == (
        scheme == "dark"
    )


def test_every_control_has_a_name(page: Page, long_name: str) -> None:
    for view in (*VIEWS, f"queues/%2F/{quote(long_name, safe='')}"):
        page.goto(f"/#/{view}")
        expect(page.get_by_role("heading", level=1)).to_be_visible()
        nameless: Any = page.evaluate(
            """() => [...document.querySelectorAll("input, select, textarea, button, a, summary")]
                .filter((each) => !(each.labels?.length || each.ariaLabel || each.textContent))
                .map((each) => each.outerHTML)"""
        )
        assert nameless == []


def test_by_keyboard_alone(context: BrowserContext) -> None:
    page = context.new_page()
    page.goto("/")
    expect(page.get_by_label("User")).to_be_focused()
    page.keyboard.type("guest")
    page.keyboard.press("Tab")
    page.keyboard.type("guest")
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.reload()
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.keyboard.press("Tab")
    expect(page.get_by_role("link", name="Skip to the content")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("main")).to_be_focused()
    assert page.url.endswith("/")
    for _ in range(3):
        page.keyboard.press("Shift+Tab")
    page.keyboard.press("Shift+Tab")
    expect(page.get_by_role("link", name="Queues")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_role("heading", name="Queues")).to_be_visible()
    expect(page.get_by_role("link", name="Queues")).to_have_attribute("aria-current", "page")
