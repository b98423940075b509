"""A process that runs cases: ``python -m tests.fuzz.worker TARGET FIRST END``."""

import sys

from tests.fuzz.harness import work

if __name__ == "__main__":
    work(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
