"""A kubelet's stand-in: pods as processes in namespaces of this machine.

An ordinary client of the API. It registers simulated nodes, binds pods to them, runs their containers and serves what
a kubelet serves. Decisions are pure functions; ``sandbox`` is the part that lives inside the namespaces.

Other processes of this machine reach into the pods' network through the same socket file:
``sandboxes.Sandboxes(folder)`` finds the sandbox host of a node's data folder, and ``host.new_socket("tcp" or "udp")``
gives a socket that lives in it. All of 10.43.0.0/16 is local there, so that a service's proxy binds the cluster IP
itself; pods ask 10.43.0.10 for names.
"""
