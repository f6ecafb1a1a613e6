"""mqkit_spark.options.connection: three ways to say where the broker is, and none shows how to get
in."""

from __future__ import annotations

import pickle
import traceback
from pathlib import Path

import pytest

from mqkit.errors import ConfigurationError
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit_spark.options.connection import (
    URL_FILE_BYTES_MAX,
    ConnectionOptions,
    endpoints_of,
)

SECRET = "hunter2"
URL = f"amqp://me:{SECRET}@one.example:5673/v"


def places(options: ConnectionOptions) -> list[tuple[str, int]]:
    return [(each.host, each.port) for each in options.endpoints()]


def test_one_url() -> None:
    (endpoint,) = ConnectionOptions(url=URL).endpoints()
    assert (endpoint.host, endpoint.port, endpoint.vhost) == ("one.example", 5673, "v")
    assert endpoint.credentials.password == SECRET


def test_several_hosts_keep_their_order() -> None:
    urls = f"{URL}, amqp://two.example/,amqps://three.example/"
    expected = [("one.example", 5673), ("two.example", 5672), ("three.example", 5671)]
    assert places(ConnectionOptions(url=urls)) == expected


def test_a_file_is_read_when_the_broker_is_wanted(tmp_path: Path) -> None:
    file = tmp_path / "broker.url"
    options = ConnectionOptions(url_file=str(file))
    assert options == pickle.loads(pickle.dumps(options))
    with pytest.raises(ConfigurationError, match="can't be read in this process: no such file"):
        options.endpoints()
    file.write_text(f"{URL}\namqp://two.example/\n")
    assert places(options) == [("one.example", 5673), ("two.example", 5672)]


def test_a_variable_is_read_when_the_broker_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    options = ConnectionOptions(url_env="MQKIT_TEST_SOME_URL")
    with pytest.raises(ConfigurationError, match="MQKIT_TEST_SOME_URL is not set in this process"):
        options.endpoints()
    monkeypatch.setenv("MQKIT_TEST_SOME_URL", URL)
    assert places(options) == [("one.example", 5673)]


def write(path: Path, octets: bytes) -> str:
    path.write_bytes(octets)
    return str(path)


def test_files_that_hold_no_url_are_refused_by_name(tmp_path: Path) -> None:
    faults = {
        write(tmp_path / "empty", b" \n"): "there is no AMQP URL",
        write(tmp_path / "large", b"x" * (URL_FILE_BYTES_MAX + 1)): "is larger than 65536 bytes",
        write(tmp_path / "octets", b"\xff"): "is not UTF-8 text",
        write(tmp_path / "other", SECRET.encode()): "each AMQP URL starts with amqp://",
        str(tmp_path): "can't be read in this process: is a directory",
        "\0": "can't be the name of a file",
    }
    for path, words in faults.items():
        with pytest.raises(ConfigurationError) as error:
            ConnectionOptions(url_file=path).endpoints()
        assert words in str(error.value)
        assert "urlFile" in str(error.value)
        assert SECRET not in str(error.value)


def test_one_of_the_three_is_wanted() -> None:
    with pytest.raises(ConfigurationError, match="option url is missing"):
        ConnectionOptions()
    with pytest.raises(ConfigurationError, match="one of the options url, urlFile and urlEnv"):
        ConnectionOptions(url=URL, url_file="f")


@pytest.mark.parametrize(
    "url",
    [
        f"amqp://me:{SECRET}@one.example:x/",
        f"amqp://me:{SECRET}@one.example:5672/?auth_mechanism=maybe",
        f"amqp://me:{SECRET}@[one/",
        f"amqp://me:a,{SECRET}:b@one.example/",
        f"amqp://me:1,{SECRET}@one.example/",
        f"{SECRET}://one.example/",
        f"amqp://one.example/,{SECRET}:x",
        f"amqp://me:{SECRET}@one.example/?auth_mechanism=external",
    ],
)
def test_no_error_shows_the_password(url: str) -> None:
    with pytest.raises(ConfigurationError) as error:
        ConnectionOptions(url=url)
    assert SECRET not in str(error.value)
    shown = traceback.TracebackException.from_exception(error.value, capture_locals=True)
    frames = [line for line in shown.format() if "mqkit/url.py" in line]
    assert SECRET not in "".join(frames)


def test_no_repr_shows_the_password() -> None:
    options = ConnectionOptions(url=URL)
    assert SECRET not in repr(options)
    assert SECRET not in repr(options.endpoints())


def test_the_other_options_are_checked() -> None:
    assert ConnectionOptions(url=URL, transport="PIKA").transport is BlockingChoice.PIKA  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="option transport: expected one of native, pika"):
        ConnectionOptions(url=URL, transport="carrot")  # type: ignore[arg-type]
    with pytest.raises(ConfigurationError, match="connectTimeout must be more than 0"):
        ConnectionOptions(url=URL, connect_timeout_s=0)


def test_a_list_without_a_url_is_none() -> None:
    with pytest.raises(ConfigurationError, match="there is no AMQP URL"):
        endpoints_of(" , ")
