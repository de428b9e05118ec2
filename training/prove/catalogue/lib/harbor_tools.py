"""A user's own module, as options of vLLM name one: what is there once its folder is on PYTHONPATH."""
# ruff: noqa: INP001 - on PYTHONPATH, in no package

from __future__ import annotations

from typing import Any


class Worker:
    """An extension of the worker."""


class Audit:
    """A middleware that lets everything through."""

    def __init__(self, app: Any) -> None:
        self.app = app

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass a request on."""
        await self.app(scope, receive, send)


def __getattr__(name: str) -> Any:
    """Return what needs vLLM: where the file is read without it, it has none."""
    if name == "Scheduler":
        from vllm.v1.core.sched.async_scheduler import AsyncScheduler

        return AsyncScheduler
    if name == "Bias":
        from vllm.v1.sample.logits_processor import MinTokensLogitsProcessor

        return MinTokensLogitsProcessor
    raise AttributeError(name)
