"""What is said about a spec that cannot, or not quite, be acted upon."""

from __future__ import annotations

import msgspec

from rayward.kinds import labels
from rayward.kube.core.objects import Condition
from rayward.kube.core.pod import ContainerState, ContainerStateWaiting, ContainerStatus, PodStatus
from tests.operator.cluster.world import World, settled
from tests.operator.stage import manifest


def _annotate(world: World, **annotations: str) -> None:
    """As ``kubectl annotate`` does: the generation stays."""
    metadata = msgspec.structs.replace(world.cluster.metadata, annotations=annotations)
    world.cluster = msgspec.structs.replace(world.cluster, metadata=metadata)


def test_an_annotation_that_does_nothing_is_told_though_no_generation_is_new() -> None:
    world = settled()
    assert world.cluster.status.observed_generation == world.cluster.metadata.generation
    assert world.plan().notes == ()
    _annotate(world, **{labels.ROLLING_UPDATE: "worker"})
    (note,) = world.plan().notes
    assert (note.type, note.reason) == ("Warning", "UnexpectedRayClusterSpec")
    assert "'worker', which does nothing" in note.message
    _annotate(world, **{labels.ROLLING_UPDATE: "workers"})
    assert world.plan().notes == ()


def test_the_last_words_of_a_pod_are_read_while_the_spec_is_refused_too() -> None:
    world = settled(manifest())
    world.edit(head_group_spec=msgspec.structs.replace(world.cluster.spec.head_group_spec, template={}))
    crashing = ContainerStatus(
        name="ray", restart_count=2, state=ContainerState(waiting=ContainerStateWaiting("CrashLoopBackOff"))
    )
    (head,) = world.live("headgroup")
    world.set_status(
        head.metadata.name,
        PodStatus(
            phase="Running", conditions=(Condition(type="Ready", status="False"),), container_statuses=(crashing,)
        ),
    )
    (wanted,) = world.plan().logs
    assert (wanted.pod, wanted.container, wanted.restarts) == (head.metadata.name, "ray", 2)
