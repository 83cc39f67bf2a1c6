package dev.rayward.samples;

import io.fabric8.kubernetes.api.model.DeletionPropagation;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.GenericKubernetesResourceList;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.dsl.NonNamespaceOperation;
import io.fabric8.kubernetes.client.dsl.Resource;
import io.fabric8.kubernetes.client.dsl.base.PatchContext;
import io.fabric8.kubernetes.client.dsl.base.PatchType;
import io.fabric8.kubernetes.client.informers.ResourceEventHandler;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.net.HttpURLConnection;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.Predicate;

/**
 * Changes Ray objects of one namespace: apply, patch, wait, watch. It holds no state; make it a bean, or a field.
 *
 * <p>Writes return the object as the server stored it; {@link KubernetesClientException} carries the server's refusal.
 */
public final class RayChanges {
    private final KubernetesClient client;
    private final String namespace;

    public RayChanges(KubernetesClient client, String namespace) {
        this.client = client;
        this.namespace = namespace;
    }

    /** Server-side apply: the fields of {@code wanted} belong to {@code manager} afterwards; a conflict is refused. */
    public GenericKubernetesResource apply(RayKind kind, GenericKubernetesResource wanted, String manager) {
        return objects(kind).resource(wanted).fieldManager(manager).serverSideApply();
    }

    /** The same, and fields that somebody else owns are taken over. Look at the refusal of {@code apply} first. */
    public GenericKubernetesResource applyByForce(RayKind kind, GenericKubernetesResource wanted, String manager) {
        return objects(kind).resource(wanted).fieldManager(manager).forceConflicts().serverSideApply();
    }

    /** RFC 7386. A list is replaced as a whole: with {@code workerGroupSpecs} use {@link #jsonPatch}. */
    public GenericKubernetesResource mergePatch(RayKind kind, String name, String patch) {
        return objects(kind).withName(name).patch(PatchContext.of(PatchType.JSON_MERGE), patch);
    }

    /** RFC 6902. Begin with a {@code test} of what you believe to be there: a position in a list is no name. */
    public GenericKubernetesResource jsonPatch(RayKind kind, String name, String patch) {
        return objects(kind).withName(name).patch(PatchContext.of(PatchType.JSON), patch);
    }

    /** Replaces an object that was read before; 409 where somebody has written it since. */
    public GenericKubernetesResource replace(RayKind kind, GenericKubernetesResource read) {
        return objects(kind).resource(read).update();
    }

    /** Reads, changes and replaces the spec, again from the beginning when somebody else was faster. */
    public GenericKubernetesResource edit(RayKind kind, String name, Consumer<Map<String, Object>> change) {
        for (int attempt = 1; ; attempt++) {
            GenericKubernetesResource read = get(kind, name);
            change.accept(spec(read));
            try {
                return replace(kind, read);
            } catch (KubernetesClientException refused) {
                if (refused.getCode() != HttpURLConnection.HTTP_CONFLICT || attempt == 5) {
                    throw refused;
                }
            }
        }
    }

    public GenericKubernetesResource get(RayKind kind, String name) {
        return objects(kind).withName(name).require();
    }

    public Optional<GenericKubernetesResource> find(RayKind kind, String name) {
        return Optional.ofNullable(objects(kind).withName(name).get());
    }

    /** Waits by watch until it is so; a timeout is an exception that names the object. */
    public GenericKubernetesResource await(
            RayKind kind, String name, Predicate<GenericKubernetesResource> holds, Duration atMost) {
        return objects(kind)
                .withName(name)
                .waitUntilCondition(found -> found != null && holds.test(found), atMost.toMillis(), TimeUnit.MILLISECONDS);
    }

    /** Waits until the operator has acted upon the newest edit and a condition holds. */
    public GenericKubernetesResource awaitCondition(RayKind kind, String name, String type, Duration atMost) {
        return await(kind, name, found -> isObserved(found) && hasCondition(found, type), atMost);
    }

    /** Waits until a RayCluster is what its newest spec asks for. */
    public GenericKubernetesResource awaitReady(String cluster, Duration atMost) {
        return await(RayKind.RAYCLUSTER, cluster, RayChanges::isReady, atMost);
    }

    /** Waits until an object is no longer there. */
    public void awaitGone(RayKind kind, String name, Duration atMost) {
        objects(kind).withName(name).waitUntilCondition(Objects::isNull, atMost.toMillis(), TimeUnit.MILLISECONDS);
    }

    /**
     * Tells of every change from now on, until closed. fabric8 opens it again by itself after a lost connection; a watch
     * that has expired (410) is told to {@code expired} and ends: list and watch again, or use {@link #inform}.
     */
    public Watch watch(
            RayKind kind,
            BiConsumer<Watcher.Action, GenericKubernetesResource> listener,
            Consumer<WatcherException> expired) {
        return objects(kind).watch(new Watcher<>() {
            @Override
            public void eventReceived(Action action, GenericKubernetesResource object) {
                listener.accept(action, object);
            }

            @Override
            public void onClose(WatcherException cause) {
                expired.accept(cause);
            }
        });
    }

    /** An informer: what is there, then every change, over expired watches and restarts of the server. */
    public SharedIndexInformer<GenericKubernetesResource> inform(
            RayKind kind, BiConsumer<Watcher.Action, GenericKubernetesResource> listener) {
        return objects(kind).inform(new ResourceEventHandler<>() {
            @Override
            public void onAdd(GenericKubernetesResource object) {
                listener.accept(Watcher.Action.ADDED, object);
            }

            @Override
            public void onUpdate(GenericKubernetesResource before, GenericKubernetesResource object) {
                listener.accept(Watcher.Action.MODIFIED, object);
            }

            @Override
            public void onDelete(GenericKubernetesResource object, boolean unknown) {
                listener.accept(Watcher.Action.DELETED, object);
            }
        });
    }

    /** Deletes in the foreground, so that children go first, and waits until the object is gone. */
    public void delete(RayKind kind, String name, Duration atMost) {
        objects(kind).withName(name).withPropagationPolicy(DeletionPropagation.FOREGROUND).delete();
        awaitGone(kind, name, atMost);
    }

    /** The last resort for an object that cannot be deleted: what the finalizers wait for is left behind. */
    public void removeFinalizers(RayKind kind, String name) {
        jsonPatch(kind, name, "[{\"op\": \"remove\", \"path\": \"/metadata/finalizers\"}]");
    }

    /** Whether the status is about the newest spec. Until then no condition says anything about your edit. */
    public static boolean isObserved(GenericKubernetesResource found) {
        Object observed = status(found).get("observedGeneration");
        return observed != null && ((Number) observed).longValue() == found.getMetadata().getGeneration();
    }

    /**
     * Whether a RayCluster is what its spec asks for. KubeRay's operator has no condition {@code Ready} of RayClusters and
     * writes {@code observedGeneration} only when something else changes in the status: there the counts have to do.
     */
    public static boolean isReady(GenericKubernetesResource cluster) {
        Map<String, Object> status = status(cluster);
        if (condition(cluster, "Ready").isPresent()) {
            return isObserved(cluster) && hasCondition(cluster, "Ready");
        }
        return "ready".equals(status.get("state"))
                && hasCondition(cluster, "HeadPodReady")
                && Objects.equals(status.get("desiredWorkerReplicas"), status.get("readyWorkerReplicas"));
    }

    public static boolean hasCondition(GenericKubernetesResource found, String type) {
        return condition(found, type).filter(each -> "True".equals(each.get("status"))).isPresent();
    }

    private static Optional<Map<?, ?>> condition(GenericKubernetesResource found, String type) {
        if (!(status(found).get("conditions") instanceof List<?> conditions)) {
            return Optional.empty();
        }
        for (Object each : conditions) {
            if (each instanceof Map<?, ?> condition && type.equals(condition.get("type"))) {
                return Optional.of(condition);
            }
        }
        return Optional.empty();
    }

    @SuppressWarnings("unchecked")
    public static Map<String, Object> spec(GenericKubernetesResource found) {
        return (Map<String, Object>) found.getAdditionalProperties().get("spec");
    }

    /** The status, empty before the operator has seen the object. */
    @SuppressWarnings("unchecked")
    public static Map<String, Object> status(GenericKubernetesResource found) {
        return (Map<String, Object>) found.getAdditionalProperties().getOrDefault("status", Map.of());
    }

    private NonNamespaceOperation<GenericKubernetesResource, GenericKubernetesResourceList, Resource<GenericKubernetesResource>>
            objects(RayKind kind) {
        return client.genericKubernetesResources(kind.context).inNamespace(namespace);
    }
}
