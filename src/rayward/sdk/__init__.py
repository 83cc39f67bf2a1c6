"""``from rayward import Client``: every verb of the playbook, on any API server.

``AsyncClient`` is the source; ``tools/twins.py`` writes ``Client``, its blocking twin, from it.
"""

from rayward.sdk.asynchronous import AsyncClient
from rayward.sdk.blocking import Client

__all__ = ["AsyncClient", "Client"]
