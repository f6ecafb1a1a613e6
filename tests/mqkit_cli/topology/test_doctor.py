"""`mqkit topology doctor` over a file: what it says, and its exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

SOUND = "exchanges:\n  x: {type: topic}\nqueues:\n  q: {bind: [{from: x, key: a}]}\n"
BAD = SOUND + "  p:\n    bind: [{from: x, key: b}]\n    dead_letter: {exchange: gone}\n"


def write(folder: Path, text: str) -> None:
    (folder / "topology.yaml").write_text(text)


def test_a_sound_file_is_0(mqkit: Any, tmp_path: Path) -> None:
    write(tmp_path, SOUND)
    answer = mqkit("topology", "doctor")
    assert (answer.returncode, answer.stdout) == (0, "no dead ends found\n")
    assert answer.stderr == ""  # and no embedded broker


def test_a_dead_end_is_2_with_its_line_and_its_command(mqkit: Any, tmp_path: Path) -> None:
    write(tmp_path, BAD)
    answer = mqkit("topology", "doctor")
    assert answer.returncode == 2
    assert answer.stdout == (
        "error: queue p (dead-letter-exchange-missing)\n"
        "  topology.yaml:7: its dead-letter exchange 'gone' does not exist: dead letters are"
        " dropped\n"
        "  first: add 'bind: [{from: gone}]' to a queue, and 'gone: {type: fanout}' under"
        " exchanges:\n"
        "  run:   mqkit topology apply -f topology.yaml\n"
        "1 error\n"
    )
    mended = BAD.replace("  x: {", "  gone: {type: fanout}\n  x: {")
    write(tmp_path, mended + "  lot: {bind: [{from: gone}]}\n")
    assert mqkit("topology", "doctor").returncode == 0


def test_json(mqkit: Any, tmp_path: Path) -> None:
    write(tmp_path, BAD)
    answer = mqkit("topology", "doctor", "--json")
    assert answer.returncode == 2
    found = json.loads(answer.stdout)
    assert {name: found[name] for name in ("file", "vhost", "summary")} == {
        "file": "topology.yaml",
        "vhost": None,
        "summary": {"error": 1, "warning": 0, "remark": 0},
    }
    (finding,) = found["findings"]
    assert set(finding) == {
        *("check", "severity", "kind", "name", "why", "messages", "file", "line", "first"),
        "command",
    }
    assert (finding["line"], finding["check"]) == (7, "dead-letter-exchange-missing")
    write(tmp_path, SOUND)
    answer = mqkit("topology", "doctor", "--json")
    assert answer.returncode == 0
    assert json.loads(answer.stdout)["findings"] == []


def test_what_is_less_grave_can_be_left_out(mqkit: Any, tmp_path: Path) -> None:
    write(tmp_path, "queues:\n  q:\n")
    assert mqkit("topology", "doctor").returncode == 2
    answer = mqkit("topology", "doctor", "--least", "warning")
    assert (answer.returncode, answer.stdout) == (0, "no dead ends found\n")


@pytest.mark.parametrize("text", ["queues: 5\n", "queues:\n  q: {retry: 5}\n", "a: [\n"])
def test_a_file_that_cannot_be_read_is_1(mqkit: Any, tmp_path: Path, text: str) -> None:
    write(tmp_path, text)
    answer = mqkit("topology", "doctor")
    assert answer.returncode == 1
    assert "topology.yaml:" in answer.stderr


def test_no_file_is_1(mqkit: Any, tmp_path: Path) -> None:
    answer = mqkit("topology", "doctor")
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1
    assert "--file" in answer.stderr
    assert mqkit("topology", "doctor", "-f", str(tmp_path)).returncode == 1
    assert mqkit("topology", "doctor", "--leats").returncode == 1
    assert mqkit("topology", "doctor", "--url", "amqp://u:sesame@127.0.0.1:1/").returncode == 1


def test_a_ring_is_a_finding_and_no_error(mqkit: Any, tmp_path: Path) -> None:
    ring = '{message_ttl: 1s, dead_letter: {exchange: "", key: %s}}'
    write(tmp_path, f"queues:\n  a: {ring % 'b'}\n  b: {ring % 'a'}\n")
    answer = mqkit("topology", "doctor")
    assert answer.returncode == 2
    assert "topology.yaml:2: a ring of TTLs or limits (a -> b -> a)" in answer.stdout


def test_a_name_is_shown_as_text(mqkit: Any, tmp_path: Path) -> None:
    write(tmp_path, 'exchanges:\n  "\\e[31m[bold]": {}\n')
    answer = mqkit("topology", "doctor")
    assert "\x1b" not in answer.stdout
    assert "[bold]" in answer.stdout
