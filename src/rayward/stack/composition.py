"""Which controllers a process runs: the operator's kinds, the recorders of changes, and who sees to quota."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from rayward.changes import recording
from rayward.changes.timeline import Store, recorder
from rayward.kinds.admission import Admission, Queueing
from rayward.kube.client.api import Client
from rayward.kube.runtime.registry import Registration
from rayward.operator.cluster.observe import ALL_SERVICES, CLUSTERS, RAY_PODS
from rayward.operator.errors import OperatorError
from rayward.operator.job.observe import RAY_JOBS_WHOLE
from rayward.operator.process import Compose, Settings
from rayward.operator.ray.reach import Reach
from rayward.operator.registry import registrations
from rayward.operator.service.observe import RAY_SERVICES_WHOLE
from rayward.quota import engine, gate, machine, multicluster
from rayward.quota.engine.takeover import KueueIsAliveError, ensure_alone
from rayward.quota.sources import ALL_WORKLOADS

SHARED: Final = gate.Shared(CLUSTERS, RAY_PODS, RAY_JOBS_WHOLE, RAY_SERVICES_WHOLE)
_KINDS = (CLUSTERS, RAY_SERVICES_WHOLE, RAY_JOBS_WHOLE)


def composed(
    queueing: Queueing,
    machine_queue: str = "",
    store: Store | None = None,
    engine_settings: engine.EngineSettings = engine.EngineSettings(),  # noqa: B008 -- frozen
) -> Compose:
    """The entries of all rooms, on shared watches.

    ``machine_queue`` names queues that cover the nodes; the timeline is kept in memory without a ``store``.
    """

    def compose(reach: Reach) -> Sequence[Registration]:
        workloads = None if queueing.admission is Admission.NONE else ALL_WORKLOADS
        watched = recorder.Watched(_KINDS, RAY_PODS, ALL_SERVICES, workloads)
        timeline = recorder.registration(store or Store(), watched)
        found = (*registrations(reach, queueing), *recording.registrations(*_KINDS), timeline)
        if queueing.admission is Admission.NONE:
            return found
        found = (*found, gate.registration(queueing, SHARED), multicluster.registration(queueing, RAY_SERVICES_WHOLE))
        if queueing.admission is Admission.EMBEDDED:
            found = (*found, engine.registration(engine_settings))
            if machine_queue:
                found = (*found, machine.registration(machine_queue))
        return found

    return compose


def engine_settings_of(settings: Settings) -> engine.EngineSettings:
    """How the embedded engine is to admit."""
    timeout = settings.pods_ready_timeout
    return engine.EngineSettings(
        engine.Settings(settings.fair_sharing, settings.block_until_pods_ready),
        engine.PodsReady(timeout) if timeout is not None else None,
    )


def check_settings(settings: Settings) -> None:
    """Refuse what cannot work.

    Raises:
        OperatorError: Quota is asked for in some namespaces only, or a setting is for somebody else who admits.
    """
    admission = settings.queueing.admission
    if admission is not Admission.NONE and settings.namespaces:
        raise OperatorError(
            f"--admission={admission} does not go together with --watch-namespace",
            "queues are shared by all namespaces, and whoever admits has to see all of them",
            "rayward operator run without --watch-namespace, or with --admission=none",
        )
    if (settings.queueing.default_queue or settings.machine_queue) and admission is not Admission.EMBEDDED:
        raise OperatorError(
            "--default-queue and --machine-queue need --admission=embedded",
            "Kueue has a default of its own: a LocalQueue named default",
            "rayward operator run --admission=embedded --default-queue=default",
        )
    if engine_settings_of(settings) != engine.EngineSettings() and admission is not Admission.EMBEDDED:
        raise OperatorError(
            "--fair-sharing, --pods-ready-timeout and --block-until-pods-ready need --admission=embedded",
            "Kueue has settings of its own for these: fairSharing and waitForPodsReady of its configuration",
            "rayward operator run --admission=embedded --fair-sharing",
        )
    if settings.queueing.kueue_takes_unlabelled and admission is not Admission.KUEUE:
        raise OperatorError(
            "--kueue-takes-unlabelled needs --admission=kueue",
            "it says how Kueue is configured (manageJobsWithoutQueueName), and Kueue does not admit here",
            "rayward operator run --admission=kueue --kueue-takes-unlabelled",
        )


async def check_alone(client: Client) -> None:
    """Refuse to admit beside Kueue.

    Raises:
        OperatorError: Kueue's manager is at work.
    """
    try:
        await ensure_alone(client)
    except KueueIsAliveError as error:
        raise OperatorError(
            "Kueue's manager is running here", str(error), "rayward operator run --admission=kueue"
        ) from error
