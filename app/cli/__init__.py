"""The command line: `bookprint serve`, `ingest`, `lookup` and the others."""

import signal


def main() -> None:
    """Run the command that the arguments name, and exit with its status."""
    # Commands answer Ctrl-C. Earlier, a KeyboardInterrupt would be printed as a traceback, or swallowed.
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        # Late, so that importing the package costs nothing.
        from app.cli.commands import run

        run()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
