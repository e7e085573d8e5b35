"""`python -m tinytrace COMMAND`: the command line."""

import sys

from tinytrace.cli.__main__ import main

if __name__ == "__main__":
    sys.exit(main())
