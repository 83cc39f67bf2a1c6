"""What processes of one machine hand each other: messages and descriptors over a socket file.

The ground (``local.node.ground``) answers; the node and the traffic ask. Public: ``channel``, ``line.Line``,
``line.HandoverError``.
"""
