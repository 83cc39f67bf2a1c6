"""The pods that a user means by a pod's name, or by what they belong to."""

from __future__ import annotations

from rayward.cli.catalogue import Catalogue, Kind, read_catalogue
from rayward.cli.failure import Code, CommandError
from rayward.cli.output import tell
from rayward.cli.target import Session
from rayward.kube.client.sync import SyncClient
from rayward.kube.core.resource import PODS, SERVICES
from rayward.kube.machinery.jsonvalue import Object, entries, is_object, section

_CLUSTER_LABEL = "ray.io/cluster"
_ROLE_LABEL = "ray.io/node-type"
_RAY = "ray.io"
_DEFAULT_CONTAINER = "kubectl.kubernetes.io/default-container"


def owner_of(session: Session, word: str, catalogue: Catalogue | None = None) -> tuple[Kind, Object] | None:
    """The object that ``KIND/NAME`` names; None where it is a pod."""
    kind_word, slash, name = word.partition("/")
    if not slash:
        return None
    kind = (catalogue or read_catalogue(session.client)).find(kind_word)
    if kind.resource == PODS:
        return None
    return kind, session.client.get(kind.resource, name, session.namespace if kind.resource.namespaced else None)


def one_pod(session: Session, word: str) -> Object:
    """One pod for ``NAME`` or ``KIND/NAME``: of several the head of a Ray cluster, or the one that is most ready.

    Raises:
        ApiError, CommandError: There is none.
    """
    found = owner_of(session, word)
    if found is None:
        return session.client.get(PODS, word.rpartition("/")[2], session.namespace)
    kind, owner = found
    pods = sorted(pods_of(session.client, kind, owner, session.namespace), key=rank)
    if not pods:
        following = f"rayward describe {kind.title} {owner['metadata']['name']}"
        raise CommandError(Code.NOT_FOUND, f"{word} has no pods", "", following)
    if len(pods) > 1:
        tell(f"Found {len(pods)} pods, using pod/{pods[0]['metadata']['name']}")
    return pods[0]


def pods_of(client: SyncClient, kind: Kind, owner: Object, namespace: str) -> list[Object]:
    """The pods that an object selects."""
    selector = selector_of(kind, owner)
    if not selector:
        what = f"{kind.title} {owner['metadata']['name']} has no pods"
        why = "it has no RayCluster yet" if kind.resource.group == _RAY else "it has no selector"
        raise CommandError(Code.USAGE, what, why, f"rayward describe {kind.title} {owner['metadata']['name']}")
    return client.list(PODS, namespace, label_selector=selector).items


def selector_of(kind: Kind, owner: Object) -> str:
    """How the pods of an object are labelled; empty where it has none."""
    if kind.resource.group == _RAY:
        cluster = _ray_cluster(kind, owner)
        return f"{_CLUSTER_LABEL}={cluster}" if cluster else ""
    chosen = section(section(owner, "spec"), "selector")
    labels = chosen if kind.resource == SERVICES else section(chosen, "matchLabels")
    return ",".join(f"{name}={value}" for name, value in labels.items()) if is_object(labels) else ""


def _ray_cluster(kind: Kind, owner: Object) -> str:
    if kind.resource.kind == "RayCluster":
        return str(owner["metadata"]["name"])
    status = section(owner, "status")
    return str(status.get("rayClusterName") or section(status, "activeServiceStatus").get("rayClusterName") or "")


def rank(pod: Object) -> tuple[bool, bool, str]:
    """A sort key: heads of Ray clusters first, then ready pods, then old ones."""
    metadata = pod["metadata"]
    head = section(metadata, "labels").get(_ROLE_LABEL) == "head"
    ready = any(
        one["type"] == "Ready" and one["status"] == "True" for one in entries(section(pod, "status"), "conditions")
    )
    return not head, not ready, str(metadata.get("creationTimestamp"))


def container_of(pod: Object, asked: str | None) -> str:
    """The container that is meant: the one named, the pod's default, or the first, which is then said.

    Raises:
        CommandError: The pod has none of that name.
    """
    spec, name = section(pod, "spec"), pod["metadata"]["name"]
    main = [str(one["name"]) for one in entries(spec, "containers")]
    every = main + [
        str(one["name"]) for field in ("initContainers", "ephemeralContainers") for one in entries(spec, field)
    ]
    if asked:
        if asked not in every:
            why = f"it has: {', '.join(every)}"
            raise CommandError(Code.NOT_FOUND, f"pod {name} has no container {asked}", why, f"add -c {main[0]}")
        return asked
    default = section(pod["metadata"], "annotations").get(_DEFAULT_CONTAINER)
    if default in every:
        return str(default)
    if len(main) > 1:
        tell(f'Defaulted container "{main[0]}" out of: {", ".join(main)}')
    return main[0]
