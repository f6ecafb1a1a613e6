from __future__ import annotations

import subprocess
import sys

import pytest

from mqkit.errors import ConfigurationError
from mqkit.transport.blocking_choice import BlockingChoice
from mqkit.transport.native.over_sockets.transport import NativeBlockingTransport
from mqkit.transport.over_pika.adapter import PikaTransport
from mqkit.transport.window_size import WindowSize


def test_a_transport_is_chosen_by_its_name() -> None:
    window = WindowSize(messages=7)
    assert BlockingChoice("native").transport(window) == NativeBlockingTransport(window)
    assert BlockingChoice("pika").transport(window) == PikaTransport(window)
    assert BlockingChoice("pika").transport() == PikaTransport()


def test_only_the_native_one_keeps_the_types_of_headers() -> None:
    assert BlockingChoice("native").exact_transport() == NativeBlockingTransport(exact=True)
    assert NativeBlockingTransport(exact=True) != NativeBlockingTransport()
    with pytest.raises(ConfigurationError, match="pika loses types of headers"):
        BlockingChoice("pika").exact_transport()


@pytest.mark.parametrize(("name", "loaded"), [("native", "False"), ("pika", "True")])
def test_who_needs_one_does_not_load_the_other(name: str, loaded: str) -> None:
    script = (
        "import sys\n"
        "from mqkit.transport.blocking_choice import BlockingChoice\n"
        f"BlockingChoice({name!r}).transport()\n"
        "print('pika' in sys.modules, 'asyncio' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert done.stdout.split()[0] == loaded
