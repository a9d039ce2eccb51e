"""Run blocking calls on one daemon thread, each with a time limit.

A call that hangs costs its limit once. Until it ends, further calls are refused at
once, so a hung database never holds up the agent or the end of the process.
"""

import asyncio
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

Value = TypeVar("Value")


class JobError(RuntimeError):
    """A job failed; the cause is chained."""


class Worker:
    """One thread, started when first needed, that does one job after another."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._jobs: queue.SimpleQueue[tuple[Callable[[], Any], Future[Any]] | None]
        self._jobs = queue.SimpleQueue()
        self._thread: threading.Thread | None = None
        self._lock = threading.Lock()
        self._running: Future[Any] | None = None
        self._hung: Future[Any] | None = None

    async def call(self, job: Callable[[], Value], limit_s: float) -> Value:
        """Run a job and return its value.

        Raises:
            TimeoutError: It took longer than `limit_s` seconds, or an earlier job that
                did so is still running.
            JobError: It raised.
        """
        if self._hung is not None and not self._hung.done():
            raise TimeoutError("an earlier call has not come back")
        done = self.post(job)
        try:
            return await asyncio.wait_for(asyncio.wrap_future(done), limit_s)
        except TimeoutError:
            self._hung = self._running or done
            raise TimeoutError(f"no answer within {limit_s:g} s") from None

    def post(self, job: Callable[[], Value]) -> "Future[Value]":
        """Queue a job without waiting for it."""
        done: Future[Value] = Future()
        self._jobs.put((job, done))
        with self._lock:
            if self._thread is None:
                self._thread = threading.Thread(
                    target=self._run, name=self._name, daemon=True
                )
                self._thread.start()
        return done

    def stop(self) -> None:
        """Let the thread end after the jobs that are queued."""
        self._jobs.put(None)

    def _run(self) -> None:
        while (queued := self._jobs.get()) is not None:
            job, done = queued
            if not done.set_running_or_notify_cancel():
                continue
            self._running = done
            try:
                done.set_result(job())
            except BaseException as error:  # noqa: BLE001 (panics of Rust code too)
                failure = JobError(f"{type(error).__name__}: {error}")
                failure.__cause__ = error
                done.set_exception(failure)
            self._running = None
        self._thread = None
