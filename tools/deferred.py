"""A checkpointer that keeps a clean step's checkpoints back.

Most steps pass at the first try. Their loop then has nothing to go back to: the outcome
is in the vault, effects are in the ledger, and a step in flight is run again anyway.
Written is what would be lost otherwise: as soon as something failed, somebody is asked
or a graph inside the step keeps checkpoints of its own, everything held is written in
order, and from then on each checkpoint at once.
"""

import asyncio
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Iterator,
    Mapping,
    Sequence,
)
from threading import Lock
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)
from langgraph.checkpoint.serde.types import ERROR, INTERRUPT, RESUME

SPECIAL = frozenset({ERROR, INTERRUPT, RESUME})
"""Channels of writes that are never held: somebody is asked, or answered."""
Args = tuple[Any, ...]
Held = tuple[str, Args]
"""Method of the saver, without its `a`, and what to call it with."""


class DeferredSaver(BaseCheckpointSaver[Any]):
    """The saver of one loop in one namespace, for one run of it.

    Args:
        saver: Where checkpoints go.
        namespace: Of the loop; checkpoints of other namespaces are written at once.
        worth: Tells from a checkpoint's channels whether it must be written.
    """

    def __init__(
        self,
        saver: BaseCheckpointSaver[Any],
        namespace: str,
        worth: Callable[[Mapping[str, Any]], bool],
    ) -> None:
        self.serde = saver.serde
        self.saver = saver
        self.namespace = namespace
        self.worth = worth
        self._holding = True
        self._held: list[Held] = []
        self._turn, self._aturn = Lock(), asyncio.Lock()

    def _own(self, config: RunnableConfig) -> bool:
        return bool(config["configurable"].get("checkpoint_ns") == self.namespace)

    def _holds(self, name: str, args: Args) -> bool:
        """Hold a call back, if it may be; after one that may not be, none is."""
        self._holding &= self._own(args[0]) and not self._matters(name, args)
        if self._holding:
            self._held.append((name, args))
        return self._holding

    def _matters(self, name: str, args: Args) -> bool:
        if name == "put":
            return self.worth(args[1]["channel_values"])
        return any(channel in SPECIAL for channel, _ in args[1])

    def _write(self, name: str, args: Args) -> None:
        if self._holds(name, args):
            return
        with self._turn:
            while self._held:
                earlier, given = self._held[0]
                getattr(self.saver, earlier)(*given)
                self._held.pop(0)
        getattr(self.saver, name)(*args)

    async def _awrite(self, name: str, args: Args) -> None:
        if self._holds(name, args):
            return
        async with self._aturn:
            while self._held:
                earlier, given = self._held[0]
                await getattr(self.saver, f"a{earlier}")(*given)
                self._held.pop(0)
        await getattr(self.saver, f"a{name}")(*args)

    def _seen(
        self, config: RunnableConfig, found: CheckpointTuple | None
    ) -> CheckpointTuple | None:
        """Hold nothing back in a loop that goes on from a checkpoint."""
        self._holding &= found is None or not self._own(config)
        return found

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint, or hold it back."""
        self._write("put", (config, checkpoint, metadata, new_versions))
        return _at(config, checkpoint)

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Write a checkpoint, or hold it back."""
        await self._awrite("put", (config, checkpoint, metadata, new_versions))
        return _at(config, checkpoint)

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Write what a node gave, or hold it back; an interrupt is never held."""
        self._write("put_writes", (config, writes, task_id, task_path))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """Write what a node gave, or hold it back; an interrupt is never held."""
        await self._awrite("put_writes", (config, writes, task_id, task_path))

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As the saver's."""
        return self._seen(config, self.saver.get_tuple(config))

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """As the saver's."""
        return self._seen(config, await self.saver.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """As the saver's."""
        return self.saver.list(config, filter=filter, before=before, limit=limit)

    def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,  # noqa: A002 - LangGraph's name
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """As the saver's."""
        return self.saver.alist(config, filter=filter, before=before, limit=limit)

    def delete_thread(self, thread_id: str) -> None:
        """As the saver's."""
        self.saver.delete_thread(thread_id)

    async def adelete_thread(self, thread_id: str) -> None:
        """As the saver's."""
        await self.saver.adelete_thread(thread_id)

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As the saver's."""
        return self.saver.get_delta_channel_history(config=config, channels=channels)

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """As the saver's."""
        return await self.saver.aget_delta_channel_history(
            config=config, channels=channels
        )

    def get_next_version(self, current: Any, channel: None) -> Any:
        """As the saver's."""
        return self.saver.get_next_version(current, channel)

    def with_allowlist(
        self, extra_allowlist: Collection[tuple[str, ...]]
    ) -> "DeferredSaver":
        """Return one over the saver's copy with a longer allowlist."""
        saver = self.saver.with_allowlist(extra_allowlist)
        return DeferredSaver(saver, self.namespace, self.worth)


def _at(config: RunnableConfig, checkpoint: Checkpoint) -> RunnableConfig:
    """Return the config of a checkpoint that was put."""
    place = {**config["configurable"], "checkpoint_id": checkpoint["id"]}
    return {"configurable": place}
