"""Entry point of `python -m auxmc`."""

import sys

from auxmc.command_line import main

if __name__ == "__main__":
    sys.exit(main())
