"""All pages that there are, as the application has them, each with addresses of it to look at."""

from collections.abc import Iterator, Mapping, Sequence

from app.api.http.routes import ScopedRoute
from app.main import PAGES
from tests.web.in_browser.site import Site

EXAMPLES: Mapping[str, Sequence[str]] = {
    "/admin/{section}": [f"/admin/{name}" for name in ("keys", "sessions", "webhooks", "jobs")],
    "/admin/{subject}/{object_id}/{change}": ["/admin/keys/{key}/revoke"],
    "/books": [
        "/books",
        "/books?q=moby",
        "/books?q=nothing-like-this",
        "/books?collection=%3Cb%3Ex%3C%2Fb%3E",
    ],
    "/books/{book_id}": [f"/books/{{{name}}}" for name in ("original", "hostile", "long", "right_to_left")],
    "/books/{book_id}.{form}": [f"/books/{{stranger}}.{form}" for form in ("mrc", "marcxml", "jsonld")],
    "/books/{book_id}/completeness": ["/books/{original}/completeness", "/books/{bad_scan}/completeness"],
    "/clusters": ["/clusters", "/clusters?order=agreement", "/clusters?min_size=100"],
    "/clusters/{cluster_id}": ["/clusters/{cluster}"],
    "/clusters/{cluster_id}/text": ["/clusters/{cluster}/text", "/clusters/{cluster}/text?first=5"],
    "/conflicts": ["/conflicts", "/conflicts?by=title", "/conflicts?by=text"],
    "/pairs/{book_id}/{other_id}": [
        *(f"/pairs/{{original}}/{{{name}}}" for name in ("copy", "part", "hostile", "long", "right_to_left")),
        *(
            "/pairs/{original}/{bad_scan}?page=12",
            "/pairs/{copy}/{hostile}?run=1",
            "/pairs/{original}/{stranger}",
        ),
    ],
    "/pairs/{book_id}/{other_id}.{form}": [
        f"/pairs/{{original}}/{{hostile}}.{form}" for form in ("csv", "jsonld", "svg")
    ],
    "/review": ["/review", "/review?blind=1", "/review?kind=UNRELATED&year=1203"],
}
"""Addresses to look at of each route whose path has places, or that is worth more than one look.

`{original}` and the like stand for the identifiers of books, `{cluster}` for the key of a
cluster.
"""


def paths() -> list[str]:
    """The paths of all routes that show something."""
    routes = [route for router in PAGES for route in router.routes if isinstance(route, ScopedRoute)]
    return sorted({route.path for route in routes if "GET" in route.methods})


def addresses(site: Site) -> Iterator[str]:
    """Every address to look at; raises LookupError for a route with places that has no example."""
    names = {name.replace(" ", "_"): book for name, book in site.books.items()}
    names["key"] = site.key_id
    names["cluster"] = site.ask(f"/v1/books/{names['original']}/cluster")["key"]
    for path in paths():
        if "{" in path and path not in EXAMPLES:
            raise LookupError(f"tests/web/in_browser/pages.py has no example of {path}")
        yield from (each.format_map(names) for each in EXAMPLES.get(path, [path]))


def errors(site: Site) -> list[str]:
    """Addresses of pages that tell an error."""
    unknown = "00000000-0000-4000-8000-000000000000"
    return [
        "/no-such-page",
        f"/books/{unknown}",
        f"/pairs/{unknown}/{unknown}",
        "/clusters/none",
        "/review?year=x",
    ]
