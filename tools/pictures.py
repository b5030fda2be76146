"""Take the pictures of the README: pages of the demo's library in Chromium.

`bookprint demo --keep` runs the service, and `python -m tools.pictures URL` writes docs/pictures/*.png.
"""

import subprocess
import sys
from pathlib import Path

import httpx

FOLDER = Path(__file__).parents[1] / "docs" / "pictures"

_SIZES = {"pair": (1100, 1000), "cluster": (1100, 760)}
"""Width and height of each picture in pixels."""


def pages(url: str) -> dict[str, str]:
    """Return the addresses of the largest cluster of copies and of a pair of its books."""
    with httpx.Client(base_url=url, timeout=60) as client:
        cluster = client.get("/v1/clusters", params={"limit": 1}).raise_for_status().json()["items"][0]
        book = cluster["founder"]["book_id"]
        relations = client.get(f"/v1/books/{book}/relations").raise_for_status().json()["items"]
    return {
        "pair": f"{url}/pairs/{book}/{relations[0]['book_id']}",
        "cluster": f"{url}/clusters/{cluster['id']}",
    }


def take(name: str, address: str) -> Path:
    """Save a screenshot of a page by Chromium, and return its path; raises CalledProcessError."""
    target, size = FOLDER / f"{name}.png", ",".join(map(str, _SIZES[name]))
    options = ["--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars", f"--window-size={size}"]
    command = ["chromium", *options, f"--screenshot={target}", address]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return target


if __name__ == "__main__":
    FOLDER.mkdir(exist_ok=True)
    for name, address in pages(sys.argv[1].rstrip("/")).items():
        print(f"{take(name, address).relative_to(FOLDER.parents[1])} is written")
