"""The command line: `bookprint serve`, `ingest`, `lookup` and the others."""


def main() -> None:
    """Run the command that the arguments name, and exit with its status."""
    # Late, so that importing the package stays free of charge, and so that what follows is kept compiled.
    from app.kernel_cache import keep_modules

    keep_modules()
    from app.cli.commands import run

    run()
