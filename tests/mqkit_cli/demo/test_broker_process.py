"""The demo's broker: killed and started again in its old place, with its old data."""

from __future__ import annotations

import os
from pathlib import Path

import pika
import pytest

from mqkit_cli.demo.broker_process import BrokerProcess
from mqkit_cli.errors import CommandError

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def depth(url: str, publish: bytes | None = None) -> int:
    with pika.BlockingConnection(pika.URLParameters(url)) as connection:
        channel = connection.channel()
        channel.confirm_delivery()
        channel.queue_declare("q", durable=True)
        if publish is not None:
            properties = pika.BasicProperties(delivery_mode=2)
            channel.basic_publish("", "q", publish, properties, mandatory=True)
        return int(channel.queue_declare("q", passive=True).method.message_count)


async def test_it_comes_back_where_it_was_with_what_it_had(tmp_path: Path) -> None:
    async with BrokerProcess(tmp_path / "data", tmp_path / "log") as broker:
        url, management_url = broker.url, broker.management_url
        assert depth(url, b"kept") == 1
        await broker.kill()
        assert not broker.is_running
        with pytest.raises(pika.exceptions.AMQPConnectionError):
            depth(url)
        await broker.start()
        assert (broker.url, broker.management_url, broker.starts) == (url, management_url, 2)
        assert depth(url) == 1
    assert not broker.is_running
    with pytest.raises(pika.exceptions.AMQPConnectionError):
        depth(url)


async def test_one_that_can_t_start_gives_its_own_words(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(CommandError, match=r"the demo's broker did not start: mqkit: .+"):
        async with BrokerProcess(blocked, tmp_path / "log"):
            os.abort()
