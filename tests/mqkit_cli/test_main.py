"""The process: that the module and the installed script both end in the guarded main."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.mark.parametrize(
    "command",
    [[sys.executable, "-m", "mqkit_cli"], [str(Path(sys.executable).with_name("mqkit"))]],
    ids=["module", "script"],
)
def test_exit_codes_of_the_process(command: list[str], clean_environment: dict[str, str]) -> None:
    answer = subprocess.run(
        [*command, "topology", "plan", "--fiel", "x"],
        capture_output=True,
        text=True,
        env=clean_environment,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 1
    assert answer.stderr.count("\n") == 1


HEAVY = {
    *("aio_pika", "pika", "pydantic", "ruamel", "starlette", "uvicorn", "mqkit.topology"),
    "reference_broker.runtime.server",
}


@pytest.mark.parametrize(("program", "words"), [("main", "ctl help"), ("rabbitmqctl", "help")])
def test_ctl_loads_nothing_that_it_does_not_need(
    program: str, words: str, clean_environment: dict[str, str]
) -> None:
    """Other people's suites start it hundreds of times."""
    code = (
        f"import sys\nfrom mqkit_cli.__main__ import {program}\nsys.argv[1:] = {words.split()}\n"
        f"try:\n    {program}()\nfinally:\n    print(*sys.modules, file=sys.stderr)\n"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=clean_environment,
        timeout=60,
        check=False,
    )
    assert answer.stdout.startswith("Usage: mqkit ctl")
    loaded = set(answer.stderr.split())
    assert "mqkit_cli.ctl.main" in loaded
    assert not HEAVY & loaded


NOT_A_BROKERS = {
    *("aio_pika", "pika", "httpx", "rich", "ruamel", "tenacity"),
    *("cryptography", "mqkit.topology", "mqkit.app", "mqkit_cli.app", "mqkit_cli.store.command"),
    "reference_broker.service.command_line",
    *("aiohttp", "reference_broker.cluster", "reference_broker.runtime.etcd"),
    *("reference_broker.runtime.cluster", "reference_broker.runtime.node_process"),
}


def test_a_running_broker_keeps_nothing_in_memory_that_it_does_not_need(
    tmp_path: Path, clean_environment: dict[str, str]
) -> None:
    """It is in a container with a limit, for months; without TLS it reads no certificates."""
    words = ["broker", "run", "--data-dir", str(tmp_path / "data")]
    for option in ("--listen", "--http", "--prometheus"):
        words += [option, "127.0.0.1:0"]
    code = (
        f"import sys\nfrom mqkit_cli.__main__ import main\nsys.argv[1:] = {words}\n"
        "try:\n    main()\nfinally:\n    print(*sys.modules)\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, env=clean_environment
    ) as broker:
        assert broker.stdout is not None
        assert broker.stdout.readline().startswith("ready amqp=")
        broker.terminate()
        loaded = set(broker.stdout.read().split())
    assert broker.returncode == 0
    assert "reference_broker.http.metrics.metrics" in loaded
    assert not NOT_A_BROKERS & loaded


def test_broker_run_says_the_same_as_in_the_whole_tree(clean_environment: dict[str, str]) -> None:
    whole = "from mqkit_cli.app import app; app(sys.argv[1:], prog_name='mqkit')"
    own = "from mqkit_cli.__main__ import main; main()"
    helps = [
        subprocess.run(
            [sys.executable, "-c", f"import sys; {code}", "broker", "run", "--help"],
            capture_output=True,
            text=True,
            env=clean_environment,
            timeout=60,
            check=True,
        ).stdout
        for code in (whole, own)
    ]
    assert helps[0] == helps[1]
    assert helps[0].startswith("Usage: mqkit broker run [OPTIONS]")


CLI = "run: pip install 'mqkit[cli]'"
BROKER = "run: pip install 'mqkit[broker]'"


@pytest.mark.parametrize(
    ("missing", "program", "words", "line"),
    [
        # `pip install mqkit` brings the scripts, but neither typer nor the broker's web server.
        ("typer", "main", [], f"mqkit: typer is not installed; {CLI}"),
        ("typer", "main", ["broker", "run"], f"mqkit: typer is not installed; {CLI}"),
        ("rich", "main", ["dlq", "ls"], f"mqkit: rich is not installed; {CLI}"),
        ("typer", "rabbitmqctl", ["status"], f"mqkit: typer is not installed; {CLI}"),
        ("uvicorn", "main", ["broker", "run"], f"mqkit: uvicorn is not installed; {BROKER}"),
        # The wheel has no benchmarks.
        ("mqkit_bench", "main", ["bench"], "mqkit: the benchmarks are no part of an installed mq"),
    ],
)
def test_what_is_not_installed_is_said_in_a_line(
    missing: str,
    program: str,
    words: list[str],
    line: str,
    without: Callable[..., dict[str, str]],
) -> None:
    code = f"import sys; sys.argv[1:] = {words}; import mqkit_cli.__main__ as m; m.{program}()"
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=without(missing),
        timeout=60,
        check=False,
    )
    assert (answer.returncode, answer.stdout) == (1, "")
    assert answer.stderr.startswith(line)
    assert answer.stderr.count("\n") == 1


@pytest.mark.parametrize("module", ["mqkit_cli.app", "reference_broker.errors", "mqkit_bench.main"])
def test_a_missing_module_of_ours_is_a_defect(
    module: str, clean_environment: dict[str, str]
) -> None:
    words = ["bench"] if "bench" in module else ["version"]
    code = (
        f"import sys; sys.modules[{module!r}] = None; sys.argv[1:] = {words};"
        "import mqkit_cli.__main__ as m; m.main()"
    )
    answer = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        env=clean_environment,
        timeout=60,
        check=False,
    )
    assert answer.returncode == 1
    assert answer.stderr.startswith("Traceback")
    assert "pip install" not in answer.stderr


def test_a_reader_that_has_seen_enough(tmp_path: Path, clean_environment: dict[str, str]) -> None:
    """Python's own complaint at the end would be exit code 120 and two lines."""
    queues = "".join(f"  {'q' * 200}{number}: {{}}\n" for number in range(1_000))
    (tmp_path / "topology.yaml").write_text(f"queues:\n{queues}")
    process = subprocess.Popen(
        [sys.executable, "-m", "mqkit_cli", "topology", "plan", "--json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=clean_environment,
        cwd=tmp_path,
    )
    assert process.stdout is not None
    process.stdout.readline()
    process.stdout.close()
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1
    assert "Broken pipe" not in errors
    assert "Traceback" not in errors


def test_a_reader_that_was_never_there(tmp_path: Path, clean_environment: dict[str, str]) -> None:
    """Little output stays in Python's buffer until the end."""
    (tmp_path / "topology.yaml").write_text("queues:\n  q: {}\n")
    reader, writer = os.pipe()
    os.close(reader)
    try:
        answer = subprocess.run(
            [sys.executable, "-m", "mqkit_cli", "topology", "validate"],
            stdout=writer,
            stderr=subprocess.PIPE,
            text=True,
            env=clean_environment,
            cwd=tmp_path,
            timeout=60,
            check=False,
        )
    finally:
        os.close(writer)
    assert (answer.returncode, answer.stderr) == (1, "")


def test_streams_that_are_closed_are_empty(clean_environment: dict[str, str]) -> None:
    command = f"{sys.executable} -m mqkit_cli publish '' q --url amqp://127.0.0.1:1/"
    for closed, told in (("<&-", True), (">&-", True), ("2>&-", False)):
        answer = subprocess.run(
            ["sh", "-c", f"{command} {closed}"],
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            env=clean_environment,
            timeout=60,
            check=False,
        )
        assert answer.returncode == 1
        assert ("Connection refused" in answer.stderr) is told, answer.stderr
        assert "defect" not in answer.stderr
