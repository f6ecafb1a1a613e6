"""The notification service: e-mails from a queue, five retries, a parking lot, a depth alert."""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel

import mqkit
from mqkit.lots import Alert, Lots


class Email(BaseModel):
    to: str
    subject: str = ""


app = mqkit.App(topology=Path(__file__).with_name("topology.yaml"))
lots = Lots(app.topology, settings=app.settings)


@app.consumer(os.environ.get("EMAIL_QUEUE_NAME", "email-queue"), prefetch=1)
async def send(email: Email) -> None:
    if "@" not in email.to:
        raise ValueError(f"no address: {email.to}")
    print(f"sent {email.subject!r} to {email.to}", flush=True)


@lots.on_alert
async def page_somebody(alert: Alert) -> None:
    print(f"to on-call: {alert}", flush=True)


if __name__ == "__main__":
    app.run(lots)
