"""Ways to reach Chroma: a folder, a server, or a client that is already open."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple


class Connection(NamedTuple):
    """How to get a client and how to let go of it."""

    open: Callable[[], Any]
    release: Callable[[Any], None]


def connection(
    path: str | Path | None, host: str | None, port: int, client: Any
) -> Connection:
    """Return the connection that was asked for; nothing is opened yet.

    Raises:
        ValueError: Not exactly one of path, host and client was given.
    """
    ways = {
        "path": Connection(lambda: _folder(str(path)), _close),
        "host": Connection(lambda: _server(str(host), port), _hang_up),
        "client": Connection(lambda: client, lambda _: None),
    }
    given = {"path": path, "host": host, "client": client}
    chosen = [name for name, value in given.items() if value is not None]
    if len(chosen) != 1:
        raise ValueError("give exactly one of path, host and client")
    return ways[chosen[0]]


def _folder(path: str) -> Any:
    import chromadb

    return chromadb.PersistentClient(path, settings=_settings())


def _server(host: str, port: int) -> Any:
    import chromadb

    return chromadb.HttpClient(host=host, port=port, settings=_settings())


def _close(client: Any) -> None:
    client.close()


def _hang_up(client: Any) -> None:
    """Close a client of a server; Chroma itself leaves its HTTP connections open."""
    parts = (client, getattr(client, "_admin_client", None))
    servers = (getattr(part, "_server", None) for part in parts)
    sessions = [getattr(server, "_session", None) for server in servers]
    client.close()
    for session in sessions:
        if session is not None:
            session.close()


def _settings() -> Any:
    from chromadb.config import Settings

    return Settings(anonymized_telemetry=False)
