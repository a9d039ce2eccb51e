"""A real HTTP server on loopback that keeps DeepSeek's API contract: a test double.

It refuses what the API refuses (`deepseek_rules`), gives reasoning apart from content,
keeps connections alive with blanks, and can be told to fail. Its answers are scripted
and its model name in answers says so.
"""

import json
import sys
import threading
import time
from collections import deque
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import TracebackType
from typing import Any, Self

from mendgraph.tools.doubles.deepseek_answers import Served, body_of, stream_of
from mendgraph.tools.doubles.deepseek_rules import RULES, Body, Rule

KEY = "test-key"


class _Server(ThreadingHTTPServer):
    """Leaves its clients alone: they may go when they like."""

    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that hung up; everything else is shown."""
        if not isinstance(sys.exception(), ConnectionError):
            super().handle_error(request, client_address)


class FakeDeepSeek:
    """The server, as a context manager.

    Args:
        answers: What it answers, in order; after the last one it makes up answers.
        rules: What it refuses.
        api_key: The one key it accepts.
    """

    def __init__(
        self,
        *answers: Served,
        rules: Sequence[Rule] = RULES,
        api_key: str = KEY,
    ) -> None:
        self.answers = deque(answers)
        self.rules = tuple(rules)
        self.api_key = api_key
        self.requests: list[Body] = []
        self._server = _Server(
            ("127.0.0.1", 0), type("Handler", (_Handler,), {"fake": self})
        )
        self._thread = threading.Thread(
            target=self._server.serve_forever, kwargs={"poll_interval": 0.02}
        )

    @property
    def base_url(self) -> str:
        """Where clients find it."""
        return f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def answer(self, body: Body, key: str) -> Served:
        """Return what the API says to a request; it is counted whatever it says."""
        self.requests.append(body)
        if key != self.api_key:
            hint = f"****{key[-4:]}"
            text = f"Authentication Fails, Your api key: {hint} is invalid"
            return Served(status=401, error=text)
        for rule in self.rules:
            if refusal := rule(body):
                return Served(status=refusal[0], error=refusal[1])
        return self.answers.popleft() if self.answers else Served()


class _Handler(BaseHTTPRequestHandler):
    """Speaks HTTP for a `FakeDeepSeek`."""

    protocol_version = "HTTP/1.1"
    fake: FakeDeepSeek

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length))
        key = self.headers.get("Authorization", "").removeprefix("Bearer ")
        served = self.fake.answer(body, key)
        time.sleep(served.delay_s)
        whole = served.fails or served.raw is not None or not body.get("stream")
        (self._send_whole if whole else self._send_stream)(body, served)

    def _send_whole(self, body: Body, served: Served) -> None:
        data = body_of(body, served).encode()
        self.send_response(served.status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        for name, value in served.headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data)

    def _send_stream(self, body: Body, served: Served) -> None:
        self.send_response(served.status)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for piece in stream_of(body, served):
            self.wfile.write(piece)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  the base's name
        """Keep test output clean."""
