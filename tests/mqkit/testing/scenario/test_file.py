"""mqkit.testing.scenario.file: steps as text, back again, and one line for each mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from mqkit.errors import ConfigurationError
from mqkit.testing.scenario.file import read, text_of, write
from mqkit.testing.scenario.step import STEPS_MAX, Step

STEPS = [
    Step(0, "nack", {"publish": 2}, struck=True),
    Step(0, "hold_answers"),
    Step(10_000, "cancel_consumers", {"queue": 'a "b": \N{PILE OF POO}\n'}, found=1),
    Step(10_001, "advance", {"holding": 3}),
]


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "outage.yaml"
    write(path, STEPS)
    assert read(path) == STEPS
    assert path.read_text().splitlines()[-2:] == [
        '- {at: 10s, do: cancel_consumers, queue: "a \\"b\\": \N{PILE OF POO}\\n", found: 1}',
        "- {at: 10001ms, do: advance, holding: 3}",
    ]


def test_nothing_is_a_scenario_too(tmp_path: Path) -> None:
    path = tmp_path / "quiet.yaml"
    write(path, [])
    assert read(path) == []


def test_no_file_is_replaced(tmp_path: Path) -> None:
    path = tmp_path / "outage.yaml"
    write(path, STEPS)
    with pytest.raises(ConfigurationError, match=r"outage\.yaml is there already"):
        write(path, [])
    assert read(path) == STEPS


def test_where_nothing_can_be_read_or_written(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="can't be read: No such file"):
        read(tmp_path / "typo.yaml")
    with pytest.raises(ConfigurationError, match="can't be written: No such file"):
        write(tmp_path / "typo" / "outage.yaml", [])
    (tmp_path / "binary.yaml").write_bytes(b"\xff")
    with pytest.raises(ConfigurationError, match="is no text in UTF-8"):
        read(tmp_path / "binary.yaml")


def test_what_has_a_default_may_be_left_out(tmp_path: Path) -> None:
    path = tmp_path / "outage.yaml"
    path.write_text("format: 1\nsteps: [{at: 1s, do: nack}, {at: 1s, do: advance}]")
    assert read(path) == [Step(1000, "nack", {"publish": 1}), Step(1000, "advance")]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("", "1: no scenario: it has no format (expected format: 1)"),
        ("[]", "1: a scenario is a mapping"),
        ("a: [", "1: not YAML: "),
        ("steps: []", "1: no scenario: it has no format (expected format: 1)"),
        ("format: one", "1: format: expected a whole number from 1 on"),
        ("steps: []\nformat: 2", "2: format 2 is newer than this mqkit, which reads 1"),
        ("format: 1", "1: expected a list of steps: after the format"),
        ("format: 1\nsteps: {}", "1: expected a list of steps: after the format"),
        ("format: 1\nsteps: []\nseed: 7", "3: 'seed' is no part of a scenario (format, steps)"),
        ("[block]", "3: a step is a mapping"),
        ("{at: 1s}", "3: expected do: and a text"),
        ("{do: block}", "3: expected at: and a text"),
        ("{at: soon, do: block}", "3: at: 'soon' is not a duration"),
        ("{at: 7, do: block}", "3: at: '7' is not a duration"),
        ("{at: 1s, do: blok}", "3: there is no verb 'blok' (there are advance, drop_connections, "),
        ("{at: 1s, do: block, queue: q}", "3: block takes no 'queue' (it takes at)"),
        ("{at: 1s, do: nack, found: 1}", "3: nack takes no 'found' (it takes at, publish, struck)"),
        ("{at: 1s, do: nack, publish: 0}", "3: publish: expected a whole number from 1 on"),
        ("{at: 1s, do: nack, publish: true}", "3: publish: expected a whole number from 1 on"),
        ("{at: 1s, do: nack, struck: 1}", "3: struck: expected true or false"),
        ("{at: 1s, do: refuse_queue}", "3: expected queue: and a text"),
        ("{at: 1s, do: refuse_queue, queue: [q]}", "3: expected queue: and a text"),
        ("{at: 1s, at: 2s, do: block}", "3: the key 'at' is here twice"),
        ("{at: 1s, do: block}\n- {at: 0s, do: block}", "4: it is before the step above it, which"),
    ],
    ids=str,
)
def test_a_mistake_is_one_line(tmp_path: Path, text: str, told: str) -> None:
    path = tmp_path / "outage.yaml"
    is_step = text.startswith(("{", "[b"))
    path.write_text(f"format: 1\nsteps:\n- {text}\n" if is_step else text)
    with pytest.raises(ConfigurationError) as raised:
        read(path)
    assert str(raised.value).startswith(f"{path}:{told}")
    assert "\n" not in str(raised.value)


def test_there_may_be_so_many_steps_and_no_more(tmp_path: Path) -> None:
    path = tmp_path / "outage.yaml"
    path.write_text(text_of([Step(0, "block")] * (STEPS_MAX + 1), path.name))
    with pytest.raises(ConfigurationError, match=f"at most {STEPS_MAX} steps"):
        read(path)
