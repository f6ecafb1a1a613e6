from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from ruamel.yaml import YAML

import mqkit
from mqkit.metrics import prometheus as families
from mqkit.topology import loads
from mqkit_cli.new.rendering import rendered
from mqkit_cli.new.service import Service

APP_BOARD = Path(__file__).resolve().parents[3] / "docs" / "grafana" / "app.json"
FILES = rendered(Service.of("order-mails", "shop.mails"))


def test_the_files_of_a_service() -> None:
    assert sorted(FILES) == [
        ".gitignore",
        "Containerfile",
        "README.md",
        "dashboard.json",
        "deployment.yaml",
        "pyproject.toml",
        "service.py",
        "settings.py",
        "tests/conftest.py",
        "tests/test_service.py",
        "topology.yaml",
    ]
    assert not [path for path, text in FILES.items() if "§" in text]
    assert 'env_prefix="ORDER_MAILS_"' in FILES["settings.py"]


def test_what_is_not_python_can_be_read() -> None:
    topology = loads(FILES["topology.yaml"])
    assert [each.name for each in topology.queues] == ["shop.mails"]
    assert tomllib.loads(FILES["pyproject.toml"])["project"]["name"] == "order-mails"
    deployment = YAML(typ="safe").load(FILES["deployment.yaml"])
    [container] = deployment["spec"]["template"]["spec"]["containers"]
    probes = [container[probe]["httpGet"]["path"] for probe in ("livenessProbe", "readinessProbe")]
    assert probes == ["/live", "/ready"]


def test_the_dashboard_asks_for_what_an_app_has() -> None:
    dashboard = json.loads(FILES["dashboard.json"])
    expressions = [each["expr"] for panel in dashboard["panels"] for each in panel["targets"]]
    asked = {name for text in expressions for name in re.findall(r"mqkit_\w+", text)}
    assert len(asked) == 15
    assert asked <= names_of(mqkit.App("amqp://127.0.0.1/", metrics=True))


def test_the_dashboard_is_that_of_any_app_under_the_name_of_the_service() -> None:
    board, of_any_app = json.loads(FILES["dashboard.json"]), json.loads(APP_BOARD.read_text())
    for own in ("uid", "title", "description"):
        assert board.pop(own) != of_any_app.pop(own)
    assert board == of_any_app


def names_of(app: mqkit.App) -> set[str]:
    """The names of samples and of families, histograms with their suffix."""
    found: set[str] = set()
    for family in families.Collector(app).collect():
        found |= {sample.name for sample in family.samples}
        found.add(family.name + {"counter": "_total", "histogram": "_bucket"}.get(family.type, ""))
    return found
