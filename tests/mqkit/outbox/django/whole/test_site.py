"""A site, and a relay in another process or thread: from a commit of Django's to a consumer."""

from __future__ import annotations

import asyncio
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import pytest
from django.db import transaction

import mqkit
from mqkit.message import IDEMPOTENCY_KEY
from mqkit.outbox.django import publish
from mqkit.outbox.django.models import OutboxRow, SentRow
from mqkit.outbox.relay import Relay
from mqkit.topology.file.read import loads

DEADLINE_S = 60.0


def relayed(url: str, queue: str, number: int, relay_of: Callable[[mqkit.App], Relay]) -> Any:
    """The relay's report, and so many deliveries."""
    app = mqkit.App(url, topology=loads(f"queues: {{{queue}: {{}}}}"))
    came: list[mqkit.Delivery] = []
    all_came = asyncio.Event()

    @app.consumer(queue)
    async def note(delivery: mqkit.Delivery) -> None:
        came.append(delivery)
        if len(came) == number:
            all_came.set()

    async def once() -> Any:
        async with app:
            await app.wait_ready()
            report = await relay_of(app).once()
            await asyncio.wait_for(all_came.wait(), DEADLINE_S)
            await app.queue(queue).remove()
            return report

    return asyncio.run(once()), came


def test_what_django_commits_a_relay_publishes(site: Any, broker_url: str, name: str) -> None:
    with pytest.raises(ZeroDivisionError), transaction.atomic():
        publish("", name, {"id": 6}, ordering_key="ann")
        raise ZeroDivisionError
    headers = {"octets": b"\xff\x00", "nul": "a\0b"}
    with transaction.atomic():
        publish("", name, {"id": 7}, ordering_key="ann", idempotency_key="o-7", headers=headers)
        publish("", name, {"id": 8}, ordering_key="ann", priority=3)
        publish("", f"{name}.nowhere", {"id": 9}, ordering_key="bob")
        publish("", name, {"id": 10}, ordering_key="bob")
    report, came = relayed(broker_url, name, 2, lambda app: Relay(app, site.engine, after="move"))
    assert (report.sent, report.stopped, report.unsettled) == (2, 1, 0)
    assert [delivery.body for delivery in came] == [b'{"id":7}', b'{"id":8}']
    assert came[0].idempotency_key == "o-7"
    assert dict(came[0].headers) == {**headers, IDEMPOTENCY_KEY: "o-7"}
    assert came[1].idempotency_key == came[1].message_id
    moved = list(SentRow.objects.order_by("id"))
    assert [row.ordering_key for row in moved] == ["ann", "ann"]
    assert [row.message_id for row in moved] == [delivery.message_id for delivery in came]
    assert all(row.sent_at >= row.created_at for row in moved)
    left = OutboxRow.objects.order_by("id").values_list("ordering_key", "state")
    assert list(left) == [("bob", "stopped"), ("bob", "held")]


WRITER = """
import sys

import django
from django.conf import settings

settings.configure(
    INSTALLED_APPS=["mqkit.outbox.django"],
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}},
)
from mqkit.outbox.django import publish  # before the apps are loaded

django.setup()
from django.core.management import call_command
from django.db import transaction

call_command("migrate", verbosity=0)
with transaction.atomic():
    print(publish("", "orders", {"id": 7}).id, "sqlalchemy" in sys.modules)
"""


def test_a_site_needs_no_sqlalchemy(without: Any, tmp_path: Any) -> None:
    done = subprocess.run(
        [sys.executable, "-c", WRITER, str(tmp_path / "site.db")],
        env=without("sqlalchemy"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.returncode) == ("1 False\n", 0), done.stderr


def test_an_outbox_needs_no_django(without: Any) -> None:
    code = "import mqkit.outbox as o; print(o.publish, o.Relay, o.metadata, o.State)"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=without("django"),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
