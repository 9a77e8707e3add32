"""python -m datascrub …: the same as the command."""

import sys

from datascrub.cli import main

if __name__ == "__main__":
    sys.exit(main())
