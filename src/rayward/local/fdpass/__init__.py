"""What processes of one machine hand each other: messages and descriptors over a socket file.

The sandbox host (``local.node.sandbox``) answers; the node and the traffic ask. Public: ``channel``, ``line.Line``,
``line.LineError``.
"""
