"""The command line: `bookprint serve`, `ingest`, `lookup` and the others."""


def main() -> None:
    """Run the command that the arguments name, and exit with its status."""
    # Late, so that importing the package costs nothing.
    from app.cli.commands import run

    run()
