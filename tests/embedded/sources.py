"""A command, of a supervisor or of a fork, whose program is its first argument."""

import sys


def main() -> None:
    """Run the program with the other arguments."""
    source = sys.argv.pop(1)
    exec(source, {"__name__": "__main__"})


if __name__ == "__main__":
    main()
