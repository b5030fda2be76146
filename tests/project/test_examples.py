"""The examples for other systems, run by their own languages on documents as the service answers them."""

import json
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

from app.api.http import examples

ROOT = Path(__file__).parents[2] / "examples"
KEY = examples.CLUSTER_NAME["key"]

OF_KOHA = {
    "Koha/Plugins/Base.pm": """
        package Koha::Plugins::Base;
        sub new { my ( $class, $args ) = @_; return bless {%$args}, $class }
        1;
    """,
    "Koha/Plugins/Tab.pm": """
        package Koha::Plugins::Tab;
        sub new { my ( $class, $params ) = @_; return bless {%$params}, $class }
        1;
    """,
    "C4/Context.pm": """
        package C4::Context;
        sub config { my ( $class, $name ) = @_; return $ENV{ uc $name } }
        1;
    """,
}
"""The parts of Koha that the plug-in uses, as its own are called."""

SHOW_TAB = """
    use Koha::Plugin::Org::Bookprint::OtherCopies;
    { package Biblio; sub biblionumber { return 4711 } }
    my $plugin = Koha::Plugin::Org::Bookprint::OtherCopies->new( {} );
    for my $tab ( $plugin->intranet_catalog_biblio_tab( { biblio => bless {}, 'Biblio' } ) ) {
        print "$tab->{title}\\n$tab->{content}\\n";
    }
"""


class _Service(BaseHTTPRequestHandler):
    """Answers with the documents of the API's description."""

    def do_GET(self) -> None:
        url = urlsplit(self.path)
        body: Any = None
        if url.path == "/v1/books":
            known = parse_qs(url.query)["external_id"] == ["koha-4711"]
            body = {"items": [examples.BookAnswer] if known else [], "next_cursor": None}
        elif url.path == f"{examples.BookAnswer['links']['self']}/cluster":
            own, other = examples.ClusterAnswer["items"]
            other = other | {"external_id": "koha-12", "title": "Ferries & <Tides>"}
            body = examples.ClusterAnswer | {"items": [own, other]}
        self.send_response(404 if body is None else 200)
        self.end_headers()
        self.wfile.write(json.dumps(body).encode())

    def log_request(self, code: object = "-", size: object = "-") -> None:
        """Say nothing."""


@pytest.fixture
def url() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Service)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


def output(program: str, *arguments: str, **environment: str) -> str:
    """What a program prints; the test is skipped where it is not installed."""
    path = shutil.which(program)
    if path is None:
        pytest.skip(f"{program} is not installed")
    done = subprocess.run(
        [path, *arguments], env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout


def tab(tmp_path: Path, **settings: str) -> str:
    """What the plug-in for Koha shows."""
    for name, source in OF_KOHA.items():
        file = tmp_path / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return output("perl", "-w", f"-I{tmp_path}", f"-I{ROOT / 'koha'}", "-e", SHOW_TAB, **settings)


def test_the_plug_in_for_koha_shows_the_other_copies(tmp_path: Path, url: str) -> None:
    shown = tab(tmp_path, BOOKPRINT_URL=url, BOOKPRINT_PREFIX="koha-")
    title, content = shown.split("\n", 1)
    assert title == "Other copies (1)"
    assert "This is the best copy. The 2 best copies are complete and equally good. " in content
    link = '<a href="/cgi-bin/koha/catalogue/detail.pl?biblionumber=12">Ferries &amp; &lt;Tides&gt;</a>'
    assert f"<tr><td>{link}</td><td>1</td><td>1913</td><td>330</td><td>121410</td><td></td></tr>" in content
    assert content.count("<tr>") == 2


def test_the_plug_in_for_koha_shows_no_tab_where_nothing_is_known(tmp_path: Path, url: str) -> None:
    assert tab(tmp_path, BOOKPRINT_URL=url) == ""
    assert tab(tmp_path, BOOKPRINT_URL="http://127.0.0.1:9") == ""


def number(value: str, name: str, source: str = "bookprint") -> dict[str, Any]:
    """An identifier as MARC-in-JSON has it."""
    return {"024": {"ind1": "7", "ind2": " ", "subfields": [{"a": value}, {"q": name}, {"2": source}]}}


@pytest.mark.parametrize(
    ("fields", "keys"),
    [
        ([{"001": "4711"}, number(examples.IDENTIFIER, "text"), number(KEY, "cluster")], [KEY]),
        ([number(KEY, "cluster"), number(KEY, "cluster")], [KEY]),
        ([number(KEY, "cluster", "other"), {"245": {"subfields": [{"a": examples.TITLE}]}}], []),
        (None, []),
    ],
)
def test_the_matcher_for_reservoir_gives_the_keys_of_a_record(
    fields: list[dict[str, Any]] | None, keys: list[str]
) -> None:
    record = json.dumps({"marc": {"leader": "", **({} if fields is None else {"fields": fields})}})
    call = f"import {{ matchkey }} from {json.dumps(str(ROOT / 'reservoir/bookprint.mjs'))};"
    call += f"console.log(JSON.stringify(matchkey({json.dumps(record)})));"
    assert json.loads(output("node", "--input-type=module", "-e", call)) == keys
