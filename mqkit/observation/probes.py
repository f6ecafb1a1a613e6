"""The answers to probes: ``/live``, ``/ready`` and ``/metrics``."""

from __future__ import annotations

import json
from collections.abc import Callable
from http import HTTPStatus
from typing import Protocol

from mqkit.health import Health
from mqkit.health.request import JSON, Answer, Request, refusal
from mqkit.metrics import Metrics

PATHS = ("/live", "/ready", "/metrics")


class Probed(Protocol):
    """The app, as its probes see it. Called on their thread."""

    def health(self) -> Health:
        """Its health as it is now."""
        ...

    @property
    def metrics(self) -> Metrics:
        """Its metrics as they are now."""
        ...


class Probes:
    """Answers the requests for one app."""

    def __init__(self, app: Probed) -> None:
        self._app = app
        self._prometheus = _prometheus()

    def __call__(self, request: Request) -> Answer:
        match request.path:
            case "/live":
                health = self._app.health()
                return _json(health.is_live, {"live": health.is_live})
            case "/ready":
                health = self._app.health()
                return _json(health.is_ready, health.to_dict())
            case "/metrics":
                return self._prometheus(self._app)
        return refusal(HTTPStatus.NOT_FOUND, f"there is {', '.join(PATHS)}, and nothing else")


def _json(is_well: bool, body: dict[str, object]) -> Answer:
    status = HTTPStatus.OK if is_well else HTTPStatus.SERVICE_UNAVAILABLE
    return Answer(status, json.dumps(body) + "\n", JSON)


def _prometheus() -> Callable[[Probed], Answer]:
    """Makes the answer to ``/metrics``. The packages for it are loaded here, before any probe."""
    try:
        from mqkit.metrics.prometheus import CONTENT_TYPE, text
    except ModuleNotFoundError as missing:
        line = str(missing)
        return lambda app: refusal(HTTPStatus.NOT_IMPLEMENTED, line)
    return lambda app: Answer(HTTPStatus.OK, text(app), CONTENT_TYPE)
