"""Kueue's labels, annotations, finalizers, condition types and reasons, each once."""

from __future__ import annotations

from typing import Final

QUEUE_NAME: Final = "kueue.x-k8s.io/queue-name"
PRIORITY_CLASS: Final = "kueue.x-k8s.io/priority-class"
JOB_UID: Final = "kueue.x-k8s.io/job-uid"
ELASTIC_JOB: Final = "kueue.x-k8s.io/elastic-job"
SLICE_REPLACEMENT_FOR: Final = "kueue.x-k8s.io/workload-slice-replacement-for"
SLICE_NAME: Final = "kueue.x-k8s.io/workload-slice-name"
POD_SUSPENDING_PARENT: Final = "kueue.x-k8s.io/pod-suspending-parent"
"""On a Pod: who asks quota for it and removes ``POD_GATES``. Kueue's ``pod`` integration then gives it no queue."""
POD_GATES: Final = frozenset(("kueue.x-k8s.io/admission", "kueue.x-k8s.io/topology"))
"""The scheduling gates that Kueue's ``pod`` integration adds to new pods."""

ADMISSION_MANAGER: Final = "kueue-admission"
"""The field manager under which the status of a Workload is applied, Kueue's own: a takeover either way finds every
field owned by one manager."""

PROVISIONING_CONTROLLER: Final = "kueue.x-k8s.io/provisioning-request"
"""Kueue's controller of AdmissionChecks that has nodes provisioned."""

# conditions of a Workload
QUOTA_RESERVED: Final = "QuotaReserved"
ADMITTED: Final = "Admitted"
EVICTED: Final = "Evicted"
PREEMPTED: Final = "Preempted"
REQUEUED: Final = "Requeued"
PODS_READY: Final = "PodsReady"
FINISHED: Final = "Finished"
DEACTIVATION_TARGET: Final = "DeactivationTarget"
BLOCKED_ON_PREEMPTION_GATES: Final = "BlockedOnPreemptionGates"
ADMISSION_CONDITIONS: Final = (
    QUOTA_RESERVED,
    BLOCKED_ON_PREEMPTION_GATES,
    EVICTED,
    ADMITTED,
    PREEMPTED,
    REQUEUED,
    DEACTIVATION_TARGET,
    FINISHED,
    PODS_READY,
)
"""Those that belong to the admission manager, in the order in which it writes them."""

# why a Workload was evicted
BY_PREEMPTION: Final = "Preempted"
BY_PODS_READY_TIMEOUT: Final = "PodsReadyTimeout"
BY_ADMISSION_CHECK: Final = "AdmissionCheck"
BY_CLUSTER_QUEUE_STOPPED: Final = "ClusterQueueStopped"
BY_LOCAL_QUEUE_STOPPED: Final = "LocalQueueStopped"
BY_NODE_FAILURES: Final = "NodeFailures"
BY_DEACTIVATION: Final = "Deactivated"

# whether the pods of an admitted Workload came up
WAIT_FOR_START: Final = "WaitForStart"
STARTED: Final = "Started"

# why a Workload may queue again
REACTIVATED: Final = "Reactivated"
BACKOFF_FINISHED: Final = "BackoffFinished"
CLUSTER_QUEUE_RESTARTED: Final = "ClusterQueueRestarted"
LOCAL_QUEUE_RESTARTED: Final = "LocalQueueRestarted"

# how a Workload was preempted
IN_CLUSTER_QUEUE: Final = "InClusterQueue"
IN_COHORT_RECLAMATION: Final = "InCohortReclamation"
IN_COHORT_FAIR_SHARING: Final = "InCohortFairSharing"
IN_COHORT_RECLAIM_WHILE_BORROWING: Final = "InCohortReclaimWhileBorrowing"

# why a Workload is finished
SUCCEEDED: Final = "Succeeded"
OUT_OF_SYNC: Final = "OutOfSync"
SLICE_REPLACED: Final = "WorkloadSliceReplaced"

ACTIVE: Final = "Active"
"""The condition of ClusterQueue, LocalQueue and AdmissionCheck."""
