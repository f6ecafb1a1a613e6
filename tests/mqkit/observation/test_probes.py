"""The answers to probes, by path."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from http import HTTPStatus

import pytest

from mqkit import App
from mqkit.health import Fault, Health, Reason
from mqkit.health.request import Answer, Request
from mqkit.metrics import Metrics
from mqkit.observation.probes import Probes

SLOW = Reason(Fault.NO_PROGRESS, "pay has messages, and has settled none", "orders")


class Probed:
    """An app of some health."""

    def __init__(self, health: Health) -> None:
        self._health = health

    def health(self) -> Health:
        return self._health

    @property
    def metrics(self) -> Metrics:
        return App().metrics


def probed(health: Health, path: str) -> Answer:
    return Probes(Probed(health))(Request(path, True))


@pytest.mark.parametrize(
    ("health", "live", "ready"),
    [
        (Health(True), 200, 200),
        (Health(True, (SLOW,)), 200, 503),
        (Health(False, (SLOW,)), 503, 503),
    ],
    ids=["well", "not ready", "not live"],
)
def test_live_and_ready_are_told_apart(health: Health, live: int, ready: int) -> None:
    assert probed(health, "/live").status == live
    answer = probed(health, "/ready")
    assert answer.status == ready
    assert json.loads(answer.body) == health.to_dict()
    assert answer.content_type == "application/json"


def test_metrics_are_prometheus_text() -> None:
    answer = probed(Health(True), "/metrics")
    assert answer.status == HTTPStatus.OK
    assert answer.content_type.startswith("text/plain; version=0.0.4")
    assert "mqkit_connects_total 0.0\n" in answer.body


@pytest.mark.parametrize("path", ["/", "/Ready", "/ready/", "/metrics/per-object", "/../live"])
def test_any_other_path_is_not_found(path: str) -> None:
    answer = probed(Health(True), path)
    assert answer.status == HTTPStatus.NOT_FOUND
    assert answer.body == "there is /live, /ready, /metrics, and nothing else\n"


def test_without_the_extra_metrics_name_it_and_the_others_are_there(
    without: Callable[..., dict[str, str]],
) -> None:
    program = """
from mqkit import App
from mqkit.health.request import Request
from mqkit.observation.probes import Probes
app = App()
for path in ("/metrics", "/live"):
    answer = Probes(app)(Request(path, True))
    print(int(answer.status), answer.body, end="")
"""
    ran = subprocess.run(
        [sys.executable, "-c", program],
        env=without("prometheus_client"),
        capture_output=True,
        text=True,
        check=True,
    )
    assert ran.stdout.splitlines() == [
        "501 prometheus_client is not installed; run: pip install 'mqkit[metrics]'",
        '503 {"live": false}',
    ]
