"""The overview: totals and charts that move, the node, and what alarms mean."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pika.adapters.blocking_connection import BlockingChannel
from playwright.sync_api import Browser, Locator, Page, expect

pytestmark = pytest.mark.slow


def total(page: Page, name: str) -> Locator:
    return page.locator(".totals div").filter(has_text=name).locator("dd")


def number(of: Locator) -> int:
    return int(of.inner_text().replace(",", ""))


def test_totals_and_charts_are_live(
    page: Page,
    channel: BlockingChannel,
    declared: Callable[..., str],
    unique: Callable[[str], str],
) -> None:
    before = number(total(page, "Ready"))
    queue = declared(unique("q"))
    for _ in range(30):
        channel.basic_publish("", queue, b"x")
    expect(total(page, "Ready")).to_have_text(str(before + 30))
    expect(total(page, "Connections")).to_have_text(re.compile(r"[1-9]\d*"))
    chart = page.get_by_role("img", name=re.compile(rf"Messages in queues: ready {before + 30},"))
    points = chart.locator("polyline").first
    expect(points).to_have_attribute("points", re.compile(r"\S+ \S+ \S+"))
    drawn = points.get_attribute("points")
    expect(points).not_to_have_attribute("points", drawn or "")


def test_the_node(page: Page) -> None:
    node = page.get_by_role("region", name="Node")
    expect(node).to_contain_text("mqkit reference broker")
    expect(node).to_contain_text(re.compile(r"Memory[\d.]+ MiB of at most "))
    expect(node).to_contain_text(re.compile(r"Disk free[\d.]+ .iB, alarm below"))
    expect(page.locator(".alarm")).to_have_count(0)


def test_an_alarm_is_told_in_words(browser: Browser, tmp_path: Path) -> None:
    # It wants more free disk than there is.
    command = [sys.executable, "-m", "mqkit_cli", "broker", "run", "--disk-free-limit", "900TB"]
    command += ["--listen", "127.0.0.1:0", "--http", "127.0.0.1:0"]
    command += ["--data-dir", str(tmp_path / "data")]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        http = process.stdout.readline().split("http=")[1].strip()
        page = browser.new_page()
        page.goto(f"http://{http}/")
        page.get_by_label("User").fill("guest")
        page.get_by_label("Password").fill("guest")
        page.get_by_role("button", name="Log in").click()
        alarm = page.get_by_text("The disk is nearly full: publishers are held back.")
        expect(alarm).to_be_visible(timeout=30_000)
        page.close()
    finally:
        process.terminate()
        process.wait(15)
