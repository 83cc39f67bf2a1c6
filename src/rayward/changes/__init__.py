"""The playbook: a change of a RayCluster, RayService or RayJob is checked, predicted, guarded, watched and undoable.

What is decided here is pure. What needs the API server is written as operations: generators that yield requests and
are driven by a blocking or an asynchronous client, so that both have the same behaviour from one source.
"""
