"""HTTP/1 between a client and the backends of one port: a backend for each request, bytes as they are."""
