"""One folder that tools may touch, and files that appear there whole or not at all."""

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO


@dataclass(frozen=True)
class Root:
    """The folder every path given by a plan or a model must stay in."""

    folder: Path

    def inside(self, path: str) -> Path:
        """Return the real path, symbolic links followed.

        Raises:
            PermissionError: The path leads out of the folder.
        """
        base = self.folder.resolve()
        target = (base / path).resolve()
        if base in target.parents:
            return target
        raise PermissionError(
            f"path {path!r} is not a file inside the allowed folder; "
            "give a path relative to it, without '..'"
        )


@contextmanager
def whole_file(target: Path, encoding: str = "utf-8") -> Iterator[IO[str]]:
    """Write a text file that replaces `target` only when the block ends well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    writer = f"{os.getpid()}.{threading.get_ident()}"
    part = target.with_name(f".{target.name[:100]}.{writer}.part")
    try:
        with part.open("w", encoding=encoding, newline="") as stream:
            yield stream
        part.replace(target)
    finally:
        part.unlink(missing_ok=True)
