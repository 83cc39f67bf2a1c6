"""The embedded API server: enough Kubernetes that kubectl and client-go programs cannot tell.

Layers, from the wire inwards: ``app`` (HTTP), ``requestinfo`` (what is asked), ``verbs`` (how it is done), ``resource``
and ``behaviour`` (what is particular to a kind), and the store.
"""
