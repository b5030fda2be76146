"""Write eight made-up books as text files, and a table of them: `python examples/made_books.py FOLDER`.

The text is invented, so the files are free to use. Three files are copies of one novel, of which one lacks a
leaf; one is a part of it, and one has pieces of two novels. `found.txt` is not in the table: it is a scan to
ask about.
"""

import csv
import sys
from pathlib import Path

import numpy as np

from app.synthesis.library import paginate
from app.synthesis.noise import corrupt_pages
from app.synthesis.prose import language, prose, world
from bookprint_core.model import PAGE_BREAK

CHARACTERS = 70_000
PAGE = 1_800


def novel(seed: int) -> str:
    """The text of a novel; two seeds share neither people nor passages."""
    rng = np.random.default_rng(seed)
    return prose(world(language(), np.random.default_rng([seed, 1]), rng), CHARACTERS, rng)


def scanned(pages: tuple[str, ...], seed: int, error_rate: float) -> str:
    """The pages as a machine reads them, with this share of wrong characters."""
    return PAGE_BREAK.join(corrupt_pages(pages, error_rate, np.random.default_rng(seed)))


def main(folder: Path) -> None:
    """Write the files into the folder, which is made if it is not there."""
    road, ferry, winter = novel(1), novel(2), novel(3)
    pages = paginate(road, PAGE)
    lacking = pages[:12] + pages[14:]
    pieces = paginate(road[:20_000], PAGE) + paginate(ferry[:20_000], PAGE)
    books = [
        ("salt-road-1898.txt", scanned(pages, 1, 0.0), "The Salt Road", "Mary Harbour", 1898),
        ("salt-road-1898-b.txt", scanned(lacking, 2, 0.02), "The Salt Road", "Mary Harbour", 1898),
        (
            "salt-road-1902.txt",
            scanned(paginate(road, 1_500), 3, 0.01),
            "The Salt Road",
            "Mary Harbour",
            1902,
        ),
        ("salt-road-vol-2.txt", scanned(pages[20:], 4, 0.01), "The Salt Road, vol. 2", "Mary Harbour", 1898),
        ("ferry.txt", scanned(paginate(ferry, PAGE), 5, 0.0), "The Ferry at Dawn", "John Marsh", 1913),
        ("winter.txt", scanned(paginate(winter, PAGE), 6, 0.0), "A Winter Inland", "Ada Field", 1920),
        ("pieces.txt", scanned(pieces, 7, 0.01), "Pieces from Two Novels", "Mary Harbour", 1925),
    ]
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "list.csv").open("w", newline="", encoding="utf-8") as table:
        writer = csv.writer(table)
        writer.writerow(["path", "id", "title", "author", "year"])
        for name, text, title, author, year in books:
            (folder / name).write_text(text, encoding="utf-8")
            writer.writerow([name, name.removesuffix(".txt"), title, author, year])
    (folder / "found.txt").write_text(scanned(pages, 8, 0.02), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
