"""The site: ``GET /ID`` publishes a message of that id, and answers with the worker and the
outcome."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable
from typing import Any

import mqkit
import mqkit.sync
from interop.sync.layout import BEFORE_THE_FORK, QUEUE

DEADLINE_S = 40.0
"""Longer than a RabbitMQ takes to start again on a machine at work."""

app = mqkit.sync.App(settings=mqkit.Settings.load(reconnect_max_s=2.0))
if not app.publish("", QUEUE, BEFORE_THE_FORK, message_id=BEFORE_THE_FORK, deadline=DEADLINE_S):
    raise SystemExit("the site could not publish before the fork")


def site(environ: dict[str, Any], start_response: Callable[..., object]) -> Iterable[bytes]:
    """For gunicorn."""
    name = environ["PATH_INFO"].strip("/")
    outcome = app.publish("", QUEUE, name, message_id=name, deadline=DEADLINE_S)
    start_response("200 OK", [("Content-Type", "application/json")])
    return [json.dumps([os.getpid(), type(outcome).__name__, str(outcome)]).encode()]
