"""All pages that there are, as the application has them, each with addresses of it to look at."""

from collections.abc import Iterator, Mapping, Sequence

from app.api.http.routes import ScopedRoute
from app.main import PAGES
from tests.web.in_browser.site import Site

EXAMPLES: Mapping[str, Sequence[str]] = {
    "/sign-in": ["/sign-in"],
}
"""Addresses to look at of each route whose path has places, or that is worth more than one look.

`{original}` and the like stand for the identifiers of books.
"""


def paths() -> list[str]:
    """The paths of all routes that show something."""
    routes = [route for router in PAGES for route in router.routes if isinstance(route, ScopedRoute)]
    return sorted({route.path for route in routes if "GET" in route.methods})


def addresses(site: Site) -> Iterator[str]:
    """Every address to look at; raises LookupError for a route with places that has no example."""
    names = {name.replace(" ", "_"): book for name, book in site.books.items()}
    for path in paths():
        if "{" in path and path not in EXAMPLES:
            raise LookupError(f"tests/web/in_browser/pages.py has no example of {path}")
        yield from (each.format_map(names) for each in EXAMPLES.get(path, [path]))


def errors(site: Site) -> list[str]:
    """Addresses of pages that tell an error."""
    unknown = "00000000-0000-4000-8000-000000000000"
    return ["/no-such-page", *(path.format(unknown) for path in ("/books/{}",) if len(paths()) > 2)]
