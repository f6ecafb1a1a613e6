"""Takes the pictures of the management page for docs/images, of a shop that is busy.

    python tests/page/take_screenshots.py [FOLDER]

It starts a broker of its own on free ports, has a shop publish and consume for a while, and looks
at it with Debian's chromium. Nothing is left running.
"""

from __future__ import annotations

import contextlib
import json
import math
import random
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pika
from playwright.sync_api import Page, sync_playwright

CHROMIUM = "/usr/bin/chromium"
IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
WATCH_MS = 50_000
"""Most of a chart's minute."""
PACE_S = 0.02
ARGUMENTS: dict[str, dict[str, Any]] = {
    "orders": {"x-dead-letter-exchange": "shop.dead"},
    "audit": {"x-max-length": 2_000},
}
QUEUES = {"orders": "order.*", "invoices": "order.paid", "mail": "#", "audit": "#"}


@contextlib.contextmanager
def broker(data_dir: str) -> Iterator[tuple[str, str]]:
    """The addresses of a broker that is ready: AMQP and HTTP."""
    command = [sys.executable, "-m", "mqkit_cli", "broker", "run", "--listen", "127.0.0.1:0"]
    command += ["--http", "127.0.0.1:0", "--data-dir", data_dir]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        places = dict(part.split("=") for part in process.stdout.readline().split()[1:])
        yield f"amqp://guest:guest@{places['amqp']}/", f"http://{places['http']}"
    finally:
        process.terminate()
        process.wait(15)


def connect(url: str, name: str) -> pika.BlockingConnection:
    parameters = pika.URLParameters(url)
    parameters.client_properties = {"connection_name": name}
    return pika.BlockingConnection(parameters)


def declare(url: str) -> None:
    with contextlib.closing(connect(url, "setup")) as connection:
        channel = connection.channel()
        channel.exchange_declare("shop", "topic", durable=True)
        channel.exchange_declare("shop.dead", "fanout", durable=True)
        channel.queue_declare("orders.dead", durable=True)
        channel.queue_bind("orders.dead", "shop.dead")
        for queue, key in QUEUES.items():
            channel.queue_declare(queue, durable=True, arguments=ARGUMENTS.get(queue))
            channel.queue_bind(queue, "shop", key)


def publish(url: str, stop: threading.Event) -> None:
    """Orders in waves."""
    chance = random.Random(7)
    with contextlib.closing(connect(url, "web shop")) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        beat = 0
        while not stop.wait(PACE_S):
            beat += 1
            for _ in range(round(5 + 4 * math.sin(beat / 90) + chance.random() * 3)):
                key = chance.choice(["order.new", "order.new", "order.paid", "order.sent"])
                order = {"order": chance.randrange(10_000, 99_999), "total": "18.40", "cur": "EUR"}
                channel.basic_publish(
                    "shop",
                    key,
                    json.dumps(order).encode(),
                    pika.BasicProperties(
                        content_type="application/json",
                        delivery_mode=2,
                        headers={"tenant": chance.choice(["north", "south"])},
                    ),
                )


def consume(url: str, queue: str, name: str, pace_s: float, stop: threading.Event) -> None:
    """Take one message after the other; every fortieth is rejected."""
    with contextlib.closing(connect(url, name)) as connection:
        channel = connection.channel()
        channel.basic_qos(prefetch_count=20)
        seen = 0
        for method, _, _ in channel.consume(queue, inactivity_timeout=0.2):
            if stop.is_set():
                break
            if method is None or stop.wait(pace_s):
                continue
            seen += 1
            if seen % 40 == 0:
                channel.basic_reject(method.delivery_tag, requeue=False)
            else:
                channel.basic_ack(method.delivery_tag)


def log_in(page: Page, http: str) -> None:
    page.goto(http)
    page.get_by_label("User").fill("guest")
    page.get_by_label("Password").fill("guest")
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("heading", name="Overview").wait_for()


def look(http: str, folder: Path) -> None:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        wide = browser.new_page(viewport={"width": 1280, "height": 800})
        queue = browser.new_page(viewport={"width": 1280, "height": 800})
        for page in (wide, queue):
            log_in(page, http)
        queue.goto(f"{http}/#/queues/%2F/orders")
        wide.wait_for_timeout(WATCH_MS)
        wide.screenshot(path=folder / "overview.png")
        queue.get_by_label("How many").first.fill("1")
        queue.get_by_role("button", name="Look").click()
        queue.get_by_role("heading", name="Message 1").wait_for()
        queue.screenshot(path=folder / "queue.png", full_page=True)
        wide.goto(f"{http}/#/dead-letters")
        wide.get_by_role("button", name="Look into orders.dead").click()
        wide.get_by_role("heading", name="Why it is here").first.wait_for()
        wide.screenshot(path=folder / "dead_letters.png")
        browser.close()


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    stop = threading.Event()
    with tempfile.TemporaryDirectory() as data_dir, broker(data_dir) as (amqp, http):
        declare(amqp)
        threads = [threading.Thread(target=publish, args=(amqp, stop))]
        for queue, name, pace_s in (
            ("orders", "warehouse 1", 0.02),
            ("orders", "warehouse 2", 0.02),
            ("invoices", "billing", 0.01),
            ("mail", "mailer", 0.003),
        ):
            threads.append(threading.Thread(target=consume, args=(amqp, queue, name, pace_s, stop)))
        for thread in threads:
            thread.start()
        try:
            look(http, folder)
        finally:
            stop.set()
            for thread in threads:
                thread.join(10)


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else IMAGES)
