# Written by tools/twins.py from the module of the same name in rayward.sdk.asynchronous, never edited.
"""The client of the playbook, waiting for each answer: the twin of ``rayward.sdk.blocking``."""

from __future__ import annotations

from rayward.sdk.blocking.jobs import Jobs
from rayward.sdk.blocking.plans import Plans
from rayward.sdk.blocking.records import Records
from rayward.sdk.blocking.repair import Repair
from rayward.sdk.blocking.rollouts import Rollouts
from rayward.sdk.blocking.transactions import Transactions
from rayward.sdk.blocking.waits import Waits

__all__ = ["Client"]


class Client(Plans, Rollouts, Transactions, Waits, Records, Repair, Jobs):
    """The verbs of the playbook over one API server and namespace.

    Every failure is a subclass of ``rayward.changes.outcomes.ChangeError``, one for each outcome, and has the exit code
    that the command line ends with. In the examples, here and of each verb, ``manifest`` is a RayCluster ``c`` with a
    worker group ``small``, ``s`` a RayService, ``j`` a RayJob, and ``access`` the path of a kubeconfig. They
    are run as tests.

    Examples:
        >>> client.apply(manifest, cause="first")  # doctest: +ELLIPSIS
        Written(...)
        >>> plan = client.plan({**manifest, "spec": {**manifest["spec"], "suspend": True}})
        >>> plan.strongest
        <Effect.SUSPEND: 'Suspend'>
        >>> scaled = client.scale("raycluster/c", "small", 3)
        >>> scaled.object["spec"]["workerGroupSpecs"][0]["replicas"]
        3
        >>> [(one.revision, one.cause) for one in client.history("raycluster/c")]
        [(1, 'first'), (2, '')]
        >>> undo, written = client.undo("raycluster/c")
        >>> undo.to.revision
        1
    """
