"""docs/grafana asks for nothing that the broker does not say: names of metrics, and their labels.

tests/acceptance/test_prometheus.py runs the same expressions in a Prometheus, where there is one.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import httpx
import pytest
from prometheus_client.parser import text_string_to_metric_families
from ruamel.yaml import YAML

from reference_broker.runtime.server import Server

pytestmark = pytest.mark.anyio

FOLDER = Path(__file__).resolve().parents[4] / "docs" / "grafana"
DASHBOARDS = [FOLDER / "broker.json", FOLDER / "queues.json"]
SELECTOR = re.compile(r"\b((?:rabbitmq|mqkit|process)_\w+)(?:\{([^}]*)\})?")
LABEL = re.compile(r"(\w+)\s*(?:=~|!~|!=|=)")
GIVEN_BY_PROMETHEUS = {"job", "instance"}
OF_CLUSTER = "mqkit_cluster_"
"""Of nodes of a cluster: tests/acceptance/test_prometheus.py has some."""


def expressions() -> list[str]:
    """Of every panel, every variable and every alert."""
    found = [target["expr"] for board in boards() for target in targets(board)]
    variables = [each for board in boards() for each in board["templating"]["list"]]
    found += [each["query"]["query"] for each in variables if each["type"] == "query"]
    return found + [rule["expr"] for rule in rules() if OF_CLUSTER not in rule["expr"]]


def boards() -> list[dict[str, Any]]:
    return [json.loads(path.read_text()) for path in DASHBOARDS]


def targets(board: dict[str, Any]) -> list[dict[str, Any]]:
    return [target for panel in board["panels"] for target in panel.get("targets", ())]


def rules() -> list[dict[str, Any]]:
    alerts = YAML(typ="safe").load(FOLDER / "alerts.yaml")
    return [rule for group in alerts["groups"] for rule in group["rules"]]


async def scraped(api: httpx.AsyncClient) -> dict[str, set[str]]:
    """The labels of every sample, by its name, in the two scrapes of prometheus.yaml."""
    labels: dict[str, set[str]] = {}
    jobs = YAML(typ="safe").load(FOLDER / "prometheus.yaml")["scrape_configs"]
    for job in jobs:
        answer = await api.get(job["metrics_path"], params=job.get("params", {}))
        assert answer.status_code == 200
        for family in text_string_to_metric_families(answer.text):
            for sample in family.samples:
                labels.setdefault(sample.name, set()).update(sample.labels)
    return labels


async def test_every_metric_and_label_is_there(server: Server, api: httpx.AsyncClient) -> None:
    server.broker.vhosts["/"].declare_queue("q")
    labels = await scraped(api)
    asked = [found for text in expressions() for found in SELECTOR.findall(text)]
    assert len(asked) > 60
    for name, selector in asked:
        assert name in labels, name
        assert set(LABEL.findall(selector)) - GIVEN_BY_PROMETHEUS <= labels[name], (name, selector)


def test_panels_have_ids_and_places_of_their_own() -> None:
    for board in boards():
        panels = [each for panel in board["panels"] for each in (panel, *panel.get("panels", ()))]
        ids = [panel["id"] for panel in panels]
        assert len(set(ids)) == len(ids)
        taken: set[tuple[int, int]] = set()
        for panel in panels:
            at = panel["gridPos"]
            assert at["x"] + at["w"] <= 24
            cells = {
                (x, y)
                for x in range(at["x"], at["x"] + at["w"])
                for y in range(at["y"], at["y"] + at["h"])
            }
            assert not cells & taken, panel["title"]
            taken |= cells


def test_every_alert_says_what_it_is_and_what_to_look_at() -> None:
    names = [rule["alert"] for rule in rules()]
    assert len(set(names)) == len(names)
    for rule in rules():
        assert rule["labels"]["severity"] in {"warning", "critical"}
        assert set(rule["annotations"]) == {"summary", "description"}
