"""HTTP and TLS for every other room: one client, one server, certificates, WebSocket.

Nothing here knows Kubernetes. Only this room imports aiohttp, uvicorn, websockets and cryptography.
"""
