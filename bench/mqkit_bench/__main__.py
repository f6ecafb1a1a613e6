"""``python -m mqkit_bench``: what ``mqkit bench`` does."""

import sys

from mqkit_bench.main import run

if __name__ == "__main__":
    run(sys.argv[1:])
