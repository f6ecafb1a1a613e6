"""The alerts for apps: Prometheus takes them, they fire for what they are named after, and ask for
nothing that an app does not say."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from mqkit import App
from mqkit.metrics.prometheus import Collector

ALERTS = Path(__file__).resolve().parents[4] / "docs" / "grafana" / "app_alerts.yaml"
HANDLER = 'instance="a", queue="orders", handler="pay"'
FIRES = {
    "AppNotConnected": {'mqkit_connection_state{instance="a", state="connecting"}': "1x30"},
    "AppBlocked": {'mqkit_connection_state{instance="a", state="blocked"}': "1x30"},
    "ConsumerNotConsuming": {
        f"mqkit_consumers{{{HANDLER}}}": "2x30",
        f"mqkit_consumers_consuming{{{HANDLER}}}": "1x30",
    },
    "ConsumerStandsStill": {
        f"mqkit_messages_in_flight{{{HANDLER}}}": "3x30",
        f'mqkit_settled_total{{{HANDLER}, settlement="acked"}}': "7x30",
    },
    "HandlerParks": {f'mqkit_settled_total{{{HANDLER}, settlement="parked"}}': "0+1x30"},
    "PublishesNotConfirmed": {
        'mqkit_publishes_total{instance="a", exchange="x", outcome="rejected", reason="nacked"}': (
            "0+1x30"
        )
    },
}
WELL = {
    'mqkit_connection_state{instance="a", state="ready"}': "1x30",
    'mqkit_connection_state{instance="a", state="blocked"}': "0x30",
    'mqkit_connection_state{instance="a", state="connecting"}': "0x30",
    f"mqkit_consumers{{{HANDLER}}}": "2x30",
    f"mqkit_consumers_consuming{{{HANDLER}}}": "2x30",
    f"mqkit_messages_in_flight{{{HANDLER}}}": "3x30",
    f'mqkit_settled_total{{{HANDLER}, settlement="acked"}}': "0+9x30",
    f'mqkit_settled_total{{{HANDLER}, settlement="parked"}}': "2x30",
    'mqkit_publishes_total{instance="a", exchange="x", outcome="confirmed", reason=""}': "0+9x30",
}


def rules() -> list[dict[str, Any]]:
    return [rule for group in YAML(typ="safe").load(ALERTS)["groups"] for rule in group["rules"]]


def fired(series: dict[str, str], tmp_path: Path) -> set[str]:
    """The alerts that fire after 25 minutes of these series, one value a minute."""
    tool = shutil.which("promtool")
    if tool is None:
        pytest.skip("no promtool here: apt-get install prometheus")
    names = [rule["alert"] for rule in rules()]
    silent = [{"eval_time": "25m", "alertname": name, "exp_alerts": []} for name in names]
    given = [{"series": name, "values": values} for name, values in series.items()]
    tests = [
        {"interval": "1m", "input_series": given, "alert_rule_test": [each]} for each in silent
    ]
    document = tmp_path / "test.yaml"
    with document.open("w") as out:
        YAML().dump({"rule_files": [str(ALERTS)], "tests": tests}, out)
    ran = subprocess.run(
        [tool, "test", "rules", str(document)], capture_output=True, text=True, check=False
    )
    said = ran.stdout + ran.stderr
    found = set(re.findall(r"alertname: ?(\w+), time", said))
    assert bool(found) is bool(ran.returncode), said
    return found


def test_each_alert_has_its_case() -> None:
    assert {rule["alert"] for rule in rules()} == set(FIRES)


@pytest.mark.parametrize("alert", FIRES)
def test_it_fires_for_what_it_is_named_after(alert: str, tmp_path: Path) -> None:
    assert fired(FIRES[alert], tmp_path) == {alert}


def test_nothing_fires_when_all_is_well(tmp_path: Path) -> None:
    assert fired(WELL, tmp_path) == set()


def test_an_app_has_every_series_that_is_asked_for() -> None:
    names = {
        family.name + ("_total" if family.type == "counter" else "")
        for family in Collector(App(metrics=True)).collect()
    }
    asked = {name for rule in rules() for name in re.findall(r"mqkit_\w+", rule["expr"])}
    assert asked
    assert asked <= names
