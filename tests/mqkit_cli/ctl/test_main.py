"""The commands, run as other people's test suites run them, against both brokers.

What is expected was recorded from RabbitMQ 3.10.8's own rabbitmqctl.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any

import pika
import pytest

from mqkit_cli.ctl.main import COMMANDS, run

Ctl = Callable[..., tuple[int, str, str]]


@pytest.fixture
def ctl(broker: Any, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Ctl:
    """Run a command: its exit code, stdout and stderr."""
    monkeypatch.setenv("MQKIT_MANAGEMENT_URL", broker.management_url)
    monkeypatch.delenv("MQKIT_URL", raising=False)

    def ctl(*words: str) -> tuple[int, str, str]:
        capsys.readouterr()
        code = run(words)
        captured = capsys.readouterr()
        return code, captured.out, captured.err

    return ctl


@pytest.fixture
def vhost(ctl: Ctl) -> Iterator[str]:
    name = f"ctl.{secrets.token_hex(4)}"
    assert ctl("add_vhost", name) == (0, f'Adding vhost "{name}" ...\n', "")
    yield name
    assert ctl("delete_vhost", name)[0] == 0


@pytest.fixture
def user(ctl: Ctl) -> Iterator[str]:
    name = f"ctl.{secrets.token_hex(4)}"
    code, out, err = ctl("add_user", name, "secret")
    assert (code, err) == (0, "")
    assert out.startswith(f'Adding user "{name}" ...\nDone.')
    yield name
    assert ctl("delete_user", name) == (0, f'Deleting user "{name}" ...\n', "")


def test_users_and_their_tags(ctl: Ctl, user: str) -> None:
    assert ctl("add_user", user, "other")[::2] == (70, f'Error:\nUser "{user}" already exists\n')
    code, out, _ = ctl("set_user_tags", user, "management", "x")
    assert (code, out) == (0, f'Setting tags for user "{user}" to [management, x] ...\n')
    assert f"{user}\t[management, x]\n" in ctl("list_users", "-q")[1]
    assert ctl("authenticate_user", user, "secret")[0] == 0
    assert ctl("change_password", user, "changed")[0] == 0
    assert ctl("authenticate_user", user, "secret")[0] == 67
    assert ctl("authenticate_user", user, "changed")[0] == 0
    assert f"{user}\t[management, x]\n" in ctl("list_users", "-q")[1]


def test_attempts_to_log_in(ctl: Ctl) -> None:
    """HTTP's are ours, if there have been no others; the columns may stand in any order in JSON."""
    columns = "protocol\tauth_attempts\tauth_attempts_failed\tauth_attempts_succeeded"
    code, out, err = ctl("list_node_auth_attempt_stats")
    first, second, names, *rows = out.splitlines()
    assert (code, err, first, names) == (0, "", "Listing authentication", columns)
    assert re.fullmatch(r' attempts for node ".+" \.\.\.', second)
    counts = {row.split("\t")[0]: [int(count) for count in row.split("\t")[1:]] for row in rows}
    assert all(total == failed + right for total, failed, right in counts.values())
    assert counts["http"][2] > 0
    told = json.loads(ctl("list_node_auth_attempt_stats", "--formatter", "json")[1])
    assert told["result"] == "ok"
    assert {"http"} <= {row["protocol"] for row in told["attempts"]} <= {"http", "amqp091"}
    by_source = ctl("list_node_auth_attempt_stats", "--by-source", "-s")[1]
    assert by_source == f"Node {told['node']} reported no authentication attempt stats\n"
    assert ctl("list_node_auth_attempt_stats", "x")[0] == 64


def test_a_user_that_is_not_there(ctl: Ctl) -> None:
    missing = 'Error:\nUser "nope" does not exist\n'
    assert ctl("delete_user", "nope")[::2] == (67, missing)
    assert ctl("set_user_tags", "nope", "administrator")[::2] == (67, missing)
    assert ctl("set_permissions", "nope", ".*", ".*", ".*")[::2] == (
        67,
        "Error:\nUser nope does not exist\n",
    )


def test_virtual_hosts(ctl: Ctl, vhost: str) -> None:
    assert ctl("add_vhost", vhost)[::2] == (0, "")
    assert vhost in ctl("list_vhosts", "--silent")[1].splitlines()
    assert ctl("list_vhosts", "name", "default_queue_type")[0] == 0
    for command, told, shown in (
        ("trace_on", "enabled", "true"),
        ("trace_off", "disabled", "false"),
    ):
        assert f"Trace {told} for vhost {vhost}\n" in ctl(command, "-p", vhost)[1]
        assert f"{vhost}\t{shown}\n" in ctl("list_vhosts", "name", "tracing")[1]
    assert ctl("delete_vhost", "nope")[::2] == (65, "Virtual host 'nope' does not exist\n")


def test_permissions(ctl: Ctl, vhost: str, user: str) -> None:
    code, out, _ = ctl("set_permissions", "-p", vhost, user, "^a", "", ".*")
    assert (code, out) == (0, f'Setting permissions for user "{user}" in vhost "{vhost}" ...\n')
    assert f"{user}\t^a\t\t.*\n" in ctl("list_permissions", "-p", vhost)[1]
    assert ctl("list_user_permissions", user)[1].splitlines()[1:] == [
        "vhost\tconfigure\twrite\tread",
        f"{vhost}\t^a\t\t.*",
    ]
    assert ctl("clear_permissions", "-p", vhost, user)[0] == 0
    assert ctl("clear_permissions", "-p", vhost, user)[0] == 0
    assert user not in ctl("list_permissions", "-p", vhost)[1]


def test_topic_permissions(ctl: Ctl, vhost: str, user: str) -> None:
    assert ctl("set_topic_permissions", "-p", vhost, user, "amq.topic", "^a", ".*")[0] == 0
    assert ctl("list_topic_permissions", "-q", "-p", vhost)[1].splitlines() == [
        "user\texchange\twrite\tread",
        f"{user}\tamq.topic\t^a\t.*",
    ]
    assert ctl("clear_topic_permissions", "-p", vhost, user)[0] == 0
    assert ctl("list_topic_permissions", "-q", "-p", vhost)[1] == ""


def test_policies(ctl: Ctl, vhost: str) -> None:
    definition = '{"max-length":5}'
    code, out, err = ctl(
        "set_policy", "-p", vhost, "--priority", "3", "--apply-to", "queues", "cp", "^c", definition
    )
    assert (code, err) == (0, "")
    assert out == (
        f'Setting policy "cp" for pattern "^c" to "{definition}" with priority "3" for vhost'
        f' "{vhost}" ...\n'
    )
    assert ctl("list_policies", "-s", "-p", vhost)[1] == (
        f"{vhost}\tcp\t^c\tqueues\t{definition}\t3\n"
    )
    code, _, err = ctl("set_policy", "-p", vhost, "cp", "^c", '{"nope":5}')
    assert (code, "not recognised policy settings" in err) == (69, True)
    assert '[{<<"nope">>,5}]' in err
    assert ctl("set_policy", "-p", vhost, "cp", "^c", "{")[0] == 65
    assert ctl("clear_policy", "-p", vhost, "cp")[0] == 0
    assert ctl("clear_policy", "-p", vhost, "cp")[::2] == (69, "Error:\nParameter does not exist\n")


def test_limits(ctl: Ctl, vhost: str, user: str) -> None:
    assert ctl("set_vhost_limits", "-p", vhost, '{"max-connections":1000}')[0] == 0
    assert ctl("list_vhost_limits", "-q", "-p", vhost)[1] == '{"max-connections":1000}\n'
    assert ctl("clear_vhost_limits", "-p", vhost)[0] == 0
    assert ctl("set_user_limits", user, '{"max-channels":7}')[0] == 0
    assert ctl("list_user_limits", "-q", "--user", user)[1] == '{"max-channels":7}\n'
    assert ctl("clear_user_limits", user, "all")[0] == 0


def test_queues(ctl: Ctl, broker: Any, unique: Callable[[str], str]) -> None:
    name = unique("q")
    with pika.BlockingConnection(pika.URLParameters(broker.url)) as connection:
        channel = connection.channel()
        channel.queue_declare(name, durable=True, arguments={"x-max-length": 9})
        assert f"\n{name}\t" in ctl("list_queues")[1]
        row = f"{name}\ttrue\t{{0}}"
        wanted = row.format('[{"x-max-length",9}]')
        assert wanted in ctl("list_queues", "-s", "name", "durable", "arguments")[1].splitlines()
        assert {"name": name, "durable": True} in json.loads(
            ctl("list_queues", "--formatter", "json", "name", "durable")[1]
        )
        bound = f"\texchange\t{name}\tqueue\t{name}\t[]"
        assert bound in ctl("list_bindings", "-s")[1].splitlines()
        channel.basic_consume(name, lambda *_: None, consumer_tag="ctag")
        for _ in range(200):  # RabbitMQ's management learns of a consumer within five seconds
            if f"{name}\t" in ctl("list_consumers", "-s")[1]:
                break
            connection.process_data_events(0.1)
        assert f"{name}\t" in ctl("list_consumers", "-s")[1]
        assert ctl("purge_queue", name) == (0, f"Purging queue '{name}' in vhost '/' ...\n", "")
        assert ctl("purge_queue", "nope")[::2] == (69, "Error:\nnot_found\n")
        code, out, _ = ctl("delete_queue", name)
    assert (code, out.splitlines()[1:]) == (
        0,
        ["Queue was successfully deleted with 0 ready messages"],
    )


def test_a_connection_is_closed_by_the_pid_that_was_listed(ctl: Ctl, broker: Any) -> None:
    parameters = pika.URLParameters(broker.url)
    parameters.client_properties = {"connection_name": "ctl of ours"}
    connection = pika.BlockingConnection(parameters)
    pid = ""
    while not pid:  # RabbitMQ's statistics are some seconds late
        listed = ctl("list_connections", "--silent", "pid", "client_properties")[1]
        found = re.search(r'^(<.*>)\t\[.*"connection_name","ctl of ours"', listed, re.MULTILINE)
        pid = "" if found is None else found[1]
    assert ctl("close_connection", pid, "as", "asked")[0] == 0
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as closed:
        connection.process_data_events(time_limit=10)
    assert closed.value.reply_code == 320
    assert closed.value.reply_text == "CONNECTION_FORCED - as asked"
    assert ctl("close_connection", "nope", "x")[0] == 69
    assert ctl("close_connection", "<rabbit@gone.1.2.0>", "x")[0] == 0


def test_what_cannot_be_meant(ctl: Ctl) -> None:
    assert ctl("list_queues", "nope")[::2] == (
        64,
        "Error (argument validation): Info key(s) nope are not supported\n",
    )
    assert ctl("frobnicate")[::2] == (64, "\nCommand 'frobnicate' not found.\n")
    assert ctl("add_user")[::2] == (
        64,
        "Error (argument validation): not enough arguments.\n"
        "Usage: add_user <username> <password>\n",
    )
    assert ctl("purge_queue", "a", "b")[0] == 64
    assert ctl("list_queues", "-t", "soon")[0] == 64
    assert ctl()[0] == 64


def test_no_such_virtual_host_has_no_rows(ctl: Ctl) -> None:
    assert ctl("list_queues", "-q", "-p", "nope") == (0, "", "")


def test_eval_is_refused(ctl: Ctl) -> None:
    code, out, err = ctl("eval", "1+1.")
    assert (code, out) == (69, "")
    assert "refused" in err


def test_the_node(ctl: Ctl) -> None:
    assert ctl("-q", "ping") == (0, "Ping succeeded\n", "")
    assert ctl("await_startup")[0] == 0
    out = ctl("status")[1]
    assert re.search(r"^Interface: .*, port: \d+, protocol: amqp$", out, re.MULTILINE)
    assert re.fullmatch(r"\d+\.\d+\.\d+\n", ctl("version")[1])


def test_the_name_of_the_cluster(ctl: Ctl) -> None:
    assert ctl("-q", "set_cluster_name", "orders, east") == (0, "", "")
    assert "\nCluster name: orders, east\n" in ctl("cluster_status")[1]
    assert ctl("clear_global_parameter", "cluster_name")[0] == 0  # the node's own again


def test_help_knows_every_command(ctl: Ctl) -> None:
    code, out, _ = ctl("help")
    assert code == 0
    assert all(f"\n  {name}" in out for name in COMMANDS)
    assert ctl("purge_queue", "--help")[:2] == (0, "Usage: purge_queue <queue>\n")


def test_watermarks_and_pauses_of_the_reference_broker(
    ctl: Ctl, reference_broker: Any, broker: Any
) -> None:
    if not broker.is_reference:
        code, _, err = ctl("set_vm_memory_high_watermark", "0.4")
        assert (code, "only the reference broker" in err) == (69, True)
        return
    connection = pika.BlockingConnection(pika.URLParameters(broker.url))
    assert ctl("set_vm_memory_high_watermark", "0.000000001")[::2] == (0, "")
    assert "Memory alarm on node" in ctl("status")[1]
    assert ctl("set_vm_memory_high_watermark", "0.4")[::2] == (0, "")
    assert ctl("set_vm_memory_high_watermark", "absolute", "8GB")[::2] == (0, "")
    raised = "rabbit_alarm:set_alarm({{resource_limit, disk, node()}, []})."
    assert ctl("eval", raised) == (0, "ok\n", "")
    assert "Free disk space alarm on node" in ctl("status")[1]
    assert ctl("eval", "rabbit_alarm:clear_alarm({resource_limit, disk, node()}).")[0] == 0
    assert "Free disk space alarm on node" not in ctl("status")[1]
    assert ctl("set_disk_free_limit", "50MB")[::2] == (0, "")
    assert ctl("set_disk_free_limit", "much")[0] == 64
    assert ctl("stop_app")[::2] == (0, "")
    with pytest.raises(pika.exceptions.ConnectionClosedByBroker) as closed:
        connection.process_data_events(time_limit=10)
    assert "broker forced connection closure with reason 'shutdown'" in closed.value.reply_text
    assert ctl("start_app")[::2] == (0, "")
    pika.BlockingConnection(pika.URLParameters(broker.url)).close()


def test_the_command_and_the_executable(broker: Any) -> None:
    environment = {**os.environ, "MQKIT_MANAGEMENT_URL": broker.management_url}
    for command in (
        ["-m", "mqkit_cli", "ctl"],
        ["-c", "from mqkit_cli.__main__ import rabbitmqctl; rabbitmqctl()"],
    ):
        for words, code in ((["-q", "ping"], 0), (["frobnicate"], 64)):
            ended = subprocess.run(
                [sys.executable, *command, *words],
                capture_output=True,
                text=True,
                env=environment,
                check=False,
            )
            assert ended.returncode == code, ended.stderr


def test_no_broker_is_said_in_words(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "mqkit_cli", "ctl", "list_queues"],
        capture_output=True,
        text=True,
        env={**os.environ, "MQKIT_MANAGEMENT_URL": "http://127.0.0.1:1"},
        check=False,
    )
    assert ended.returncode == 1
    assert "no management API at http://127.0.0.1:1" in ended.stderr
