"""``python -m mqkit_spark zip OUT.zip``: mqkit as one file for a cluster."""

from __future__ import annotations

import sys

from mqkit_spark.archive import package_zip

USAGE = "usage: python -m mqkit_spark zip OUT.zip"


def main(arguments: list[str]) -> int:
    """The command; returns its exit code."""
    if len(arguments) != 2 or arguments[0] != "zip":
        print(USAGE, file=sys.stderr)
        return 2
    try:
        print(package_zip(arguments[1]))
    except OSError as error:
        print(f"{arguments[1]} can't be written: {error.strerror}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
