"""The real components: built once from pinned Go modules, started on loopback for one test run.

``build.build()`` gives the folder with the binaries, ``cluster.RealControlPlane`` a running kube-apiserver.
"""
