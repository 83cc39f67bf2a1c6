"""The client of the playbook, on the event loop: one module a topic; its blocking twin is written from this folder."""

from __future__ import annotations

from rayward.sdk.asynchronous.jobs import Jobs
from rayward.sdk.asynchronous.plans import Plans
from rayward.sdk.asynchronous.records import Records
from rayward.sdk.asynchronous.repair import Repair
from rayward.sdk.asynchronous.rollouts import Rollouts
from rayward.sdk.asynchronous.transactions import Transactions
from rayward.sdk.asynchronous.waits import Waits

__all__ = ["AsyncClient"]


class AsyncClient(Plans, Rollouts, Transactions, Waits, Records, Repair, Jobs):
    """The verbs of the playbook over one API server and namespace.

    Every failure is a subclass of ``rayward.changes.outcomes.ChangeError``, one for each outcome, and has the exit code
    that the command line ends with. In the examples, here and of each verb, ``manifest`` is a RayCluster ``c`` with a
    worker group ``small``, ``s`` a RayService, ``j`` a RayJob, and ``access`` the path of a kubeconfig. They
    are run as tests.

    Examples:
        >>> await client.apply(manifest, cause="first")  # doctest: +ELLIPSIS
        Written(...)
        >>> plan = await client.plan({**manifest, "spec": {**manifest["spec"], "suspend": True}})
        >>> plan.strongest
        <Effect.SUSPEND: 'Suspend'>
        >>> scaled = await client.scale("raycluster/c", "small", 3)
        >>> scaled.object["spec"]["workerGroupSpecs"][0]["replicas"]
        3
        >>> [(one.revision, one.cause) for one in await client.history("raycluster/c")]
        [(1, 'first'), (2, '')]
        >>> undo, written = await client.undo("raycluster/c")
        >>> undo.to.revision
        1
    """
