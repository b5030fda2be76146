"""What `BoundedConnection` leans on of uvicorn, which promises none of it.

Where a release of uvicorn breaks one of these, `app.api.http.connections` must do without it.
"""

import ast
import inspect

from uvicorn.config import Config
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol, RequestResponseCycle
from uvicorn.server import ServerState

from app.api.http import connections

CALLED_BY_UVICORN = {
    "connection_made": ["self", "transport"],
    "connection_lost": ["self", "exc"],
    "data_received": ["self", "data"],
    "on_message_begin": ["self"],
    "on_headers_complete": ["self"],
    "on_message_complete": ["self"],
    "on_response_complete": ["self"],
}
READ = {"app_state", "cycle", "headers", "loop", "transport", "url"}
CALLED = {"send_400_response"}
OF_A_CYCLE = {"response_complete", "more_body"}


async def _ignored(scope: object, receive: object, send: object) -> None: ...


async def test_uvicorn_has_what_connections_lean_on() -> None:
    config = Config(_ignored, http="httptools")
    config.load()
    connection = HttpToolsProtocol(config, ServerState(), {})
    # The head of a request gives the URL, which no attribute has before.
    connection.on_message_begin()
    for name, parameters in CALLED_BY_UVICORN.items():
        assert list(inspect.signature(getattr(HttpToolsProtocol, name)).parameters) == parameters
    assert [name for name in READ | CALLED if not hasattr(connection, name)] == []
    written = inspect.getsource(RequestResponseCycle)
    assert [name for name in OF_A_CYCLE if f"self.{name} = " not in written] == []


def test_connections_lean_on_nothing_else_of_uvicorn() -> None:
    [ours] = [
        node
        for node in ast.parse(inspect.getsource(connections)).body
        if isinstance(node, ast.ClassDef) and node.name == "BoundedConnection"
    ]
    own = {name for name in vars(connections.BoundedConnection) if name not in CALLED_BY_UVICORN}
    used = {
        node.attr
        for node in ast.walk(ours)
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.value.id == "self"
    }
    assert used - own == READ | CALLED
    assert CALLED_BY_UVICORN.keys() <= vars(connections.BoundedConnection).keys()
