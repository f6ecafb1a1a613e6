"""``python -m mqkit.testing -- COMMAND``: run a command beside a RabbitMQ of its own.

The command finds it in ``MQKIT_TEST_RABBITMQ_URL`` and ``MQKIT_TEST_RABBITMQ_MANAGEMENT_URL``. The
exit code is the command's; the RabbitMQ is gone afterwards, however the command ended.
"""

from __future__ import annotations

import os
import subprocess
import sys

from mqkit.testing.rabbitmq import (
    MANAGEMENT_URL_VARIABLE,
    URL_VARIABLE,
    RabbitMQUnavailable,
    rabbitmq,
)


def main(arguments: list[str]) -> int:
    """Returns the exit code: the command's, or 1 when no RabbitMQ could be had."""
    command = arguments[1:] if arguments[:1] == ["--"] else arguments
    if not command:
        print("usage: python -m mqkit.testing -- COMMAND [ARGUMENT ...]", file=sys.stderr)
        return 1
    try:
        with rabbitmq() as broker:
            environment = {**os.environ, URL_VARIABLE: broker.url}
            if broker.management_url:
                environment[MANAGEMENT_URL_VARIABLE] = broker.management_url
            return subprocess.run(command, env=environment, check=False).returncode
    except RabbitMQUnavailable as why:
        print(f"mqkit.testing: {why}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
