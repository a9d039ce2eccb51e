"""A real pseudo-terminal with a command in it, for scripted sessions."""

import os
import pty
import re
import select
import subprocess
import sys
import time
from pathlib import Path
from typing import Self

ESCAPES = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07]*\x07|[@-Z\\-_])")
PATIENCE_S = 60.0
CTRL_C = "\x03"


class Terminal:
    """A command of ours at a terminal of 120 columns; use it in `with`."""

    def __init__(self, folder: Path, *words: str, **environment: str) -> None:
        self._words = words
        self._folder = folder
        self._environment = {
            **{k: v for k, v in os.environ.items() if not k.startswith("MENDGRAPH_")},
            "TERM": "xterm-256color",
            "COLUMNS": "120",
            "LINES": "40",
            "PYTHONUNBUFFERED": "1",
            **environment,
        }
        self.raw = ""
        self._read_to = 0

    def __enter__(self) -> Self:
        self._master, slave = pty.openpty()
        command = [sys.executable, "-c", "from mendgraph.cli import main; main()"]
        self._process = subprocess.Popen(
            [*command, *self._words],
            cwd=self._folder,
            env=self._environment,
            preexec_fn=lambda: os.login_tty(slave),  # noqa: PLW1509 (one thread)
        )
        os.close(slave)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        os.close(self._master)

    @property
    def text(self) -> str:
        """All that was shown, without escapes."""
        return ESCAPES.sub("", self.raw).replace("\r", "")

    def expect(self, words: str, within_s: float = PATIENCE_S) -> None:
        """Wait until the words are shown after what was expected before."""
        end = time.monotonic() + within_s
        while (found := self.text.find(words, self._read_to)) < 0:
            assert time.monotonic() < end, f"{words!r} is not in:\n{self.text}"
            assert self._more() or words in self.text[self._read_to :], self.text
        self._read_to = found + len(words)

    def type(self, line: str) -> None:
        """Type a line and press return."""
        os.write(self._master, (line + "\n").encode())

    def press(self, key: str) -> None:
        """Press a key."""
        os.write(self._master, key.encode())

    def end(self, within_s: float = PATIENCE_S) -> int:
        """Wait for the command's end; return its exit code."""
        end = time.monotonic() + within_s
        while self._more():
            assert time.monotonic() < end, f"it does not end:\n{self.text}"
        return self._process.wait(timeout=within_s)

    def _more(self) -> bool:
        """Read what there is; False once the command has let go of the terminal."""
        ready, _, _ = select.select([self._master], [], [], 0.2)
        if not ready:
            return True
        try:
            part = os.read(self._master, 65_536)
        except OSError:
            return False
        self.raw += part.decode("utf-8", "replace")
        return bool(part)
