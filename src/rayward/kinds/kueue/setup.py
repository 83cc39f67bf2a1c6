"""What queues and workloads refer to: flavors, priorities, admission checks, and the worker clusters of a check."""

from __future__ import annotations

from rayward.kube.core.objects import Condition, KubeObject, Slim


class Taint(Slim, frozen=True, gc=False):
    """A taint of a flavor's nodes."""

    key: str = ""
    value: str = ""
    effect: str = ""


class Toleration(Slim, frozen=True, gc=False):
    """What a pod puts up with."""

    key: str = ""
    operator: str = "Equal"
    value: str = ""
    effect: str = ""


class ResourceFlavorSpec(Slim, frozen=True, gc=False):
    """The nodes of a flavor, by their labels and taints."""

    node_labels: dict[str, str] | None = None
    node_taints: tuple[Taint, ...] | None = None
    tolerations: tuple[Toleration, ...] | None = None
    topology_name: str | None = None


_NO_FLAVOR = ResourceFlavorSpec()


class ResourceFlavor(KubeObject, frozen=True, gc=False):
    """A kind of node."""

    spec: ResourceFlavorSpec = _NO_FLAVOR


class CheckParameters(Slim, frozen=True, gc=False):
    """An object that configures a check."""

    api_group: str = ""
    kind: str = ""
    name: str = ""


class AdmissionCheckSpec(Slim, frozen=True, gc=False):
    """Who answers a check."""

    controller_name: str = ""
    parameters: CheckParameters | None = None


class AdmissionCheckStatus(Slim, frozen=True, gc=False):
    """Its condition ``Active`` says whether a controller answers the check."""

    conditions: tuple[Condition, ...] | None = None


_NO_CHECK = AdmissionCheckSpec()
_NO_STATUS = AdmissionCheckStatus()


class AdmissionCheck(KubeObject, frozen=True, gc=False):
    """A question that is asked after quota is reserved and before a workload is admitted."""

    spec: AdmissionCheckSpec = _NO_CHECK
    status: AdmissionCheckStatus = _NO_STATUS


class WorkloadPriorityClass(KubeObject, frozen=True, gc=False):
    """A priority in queues, which says nothing about pods."""

    value: int = 0


class KubeconfigSource(Slim, frozen=True, gc=False):
    """Where a kubeconfig is."""

    location: str = ""
    location_type: str = "Secret"


class ClusterSource(Slim, frozen=True, gc=False):
    """How a worker cluster is reached."""

    kube_config: KubeconfigSource | None = None


class MultiKueueClusterSpec(Slim, frozen=True, gc=False):
    cluster_source: ClusterSource = ClusterSource()


class MultiKueueClusterStatus(Slim, frozen=True, gc=False):
    """Whether a worker cluster is connected."""

    conditions: tuple[Condition, ...] | None = None


_NO_CLUSTER = MultiKueueClusterSpec()
_NO_CLUSTER_STATUS = MultiKueueClusterStatus()


class MultiKueueCluster(KubeObject, frozen=True, gc=False):
    """A worker cluster, and how it is reached."""

    spec: MultiKueueClusterSpec = _NO_CLUSTER
    status: MultiKueueClusterStatus = _NO_CLUSTER_STATUS


class MultiKueueConfigSpec(Slim, frozen=True, gc=False):
    """The worker clusters of a check, by name."""

    clusters: tuple[str, ...] = ()


_NO_CONFIG = MultiKueueConfigSpec()


class MultiKueueConfig(KubeObject, frozen=True, gc=False):
    """The worker clusters that an admission check may choose from."""

    spec: MultiKueueConfigSpec = _NO_CONFIG
