"""HTTP and TLS for every other room: one client, one server, one event loop, certificates, WebSocket.

Nothing here knows Kubernetes. Only this room imports aiohttp, uvicorn, uvloop, websockets and cryptography.
"""
