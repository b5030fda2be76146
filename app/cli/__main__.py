"""`python -m app.cli` is `bookprint`."""

from app.cli import main

if __name__ == "__main__":
    main()
