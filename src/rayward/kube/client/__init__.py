"""Talking to a Kubernetes API server.

What to send and what an answer means is decided without I/O (``paths``, ``options``, ``verbs``, ``errors``,
``retry``, ``watch``); ``transport`` carries requests; ``api.Client`` and ``sync.SyncClient`` put both together.
Nothing imported here pulls in asyncio or aiohttp: a command line must start fast.
"""

from rayward.kube.client.access import Access, ConfigError
from rayward.kube.client.errors import ApiError
from rayward.kube.client.options import PatchType

__all__ = ["Access", "ApiError", "ConfigError", "PatchType"]
