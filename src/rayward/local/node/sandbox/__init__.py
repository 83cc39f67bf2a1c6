"""What lives inside the namespaces, as programs of the standard library alone.

One *sandbox host* process holds the user namespace, the bridge and every pod; it outlives the node process. Each pod
has an init that starts its containers, keeps their logs and records how they end. Modules here import nothing but each
other, so that the processes stay small; each pod is a fork of the sandbox host.
"""
