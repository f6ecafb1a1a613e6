"""The Spark job: whether it can run, what it is given, and what it says when it fails."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from mqkit.message import Message, Properties
from mqkit_cli.demo.scenario import Item
from mqkit_cli.demo.spark_process import java_version, run_job, why_not, write_rows
from mqkit_cli.errors import CommandError

pytestmark = pytest.mark.anyio


@pytest.mark.parametrize(
    ("words", "version"),
    [
        ('openjdk version "17.0.15" 2025-04-15', 17),
        ('java version "1.8.0_392"', 8),
        ('Picked up JAVA_TOOL_OPTIONS: -Xmx1g\nopenjdk version "21" 2023-09-19', 21),
        ("no java here", None),
    ],
)
def test_java_says_its_version(words: str, version: int | None) -> None:
    assert java_version(words) == version


def make_java(folder: Path, version: str) -> None:
    (folder / "bin").mkdir()
    java = folder / "bin" / "java"
    java.write_text(f"#!/bin/sh\necho 'openjdk version \"{version}\"' >&2\n")
    java.chmod(0o755)


@pytest.mark.spark
@pytest.mark.parametrize(
    ("version", "words"),
    [("11.0.2", r"bin/java is Java 11 \(Spark needs 17"), ("17.0.2", None), ("weird", None)],
)
async def test_an_old_java_is_not_tried(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, words: str | None
) -> None:
    make_java(tmp_path, version)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    reason = await why_not()
    assert (reason is None) if words is None else re.search(words, reason or "")


def test_rows_have_the_ids_and_bodies_of_the_messages(tmp_path: Path) -> None:
    message = Message("e", "k", '{"a":"ü"}'.encode(), Properties(message_id="m"))
    write_rows([Item(message, ("q",))], tmp_path / "rows")
    assert json.loads((tmp_path / "rows").read_text()) == {"message_id": "m", "body": '{"a":"ü"}'}


@pytest.mark.slow
@pytest.mark.spark
async def test_a_job_that_fails_gives_its_last_words(tmp_path: Path) -> None:
    if (reason := await why_not()) is not None:
        pytest.skip(reason)
    log = tmp_path / "log"
    with pytest.raises(
        CommandError, match=r"the Spark job failed: .+Path does not exist"
    ) as caught:
        await run_job(tmp_path / "absent", "q", "amqp://127.0.0.1:1/", log)
    assert "\n" not in str(caught.value)
    assert str(caught.value).endswith(f"({log})")
