package dev.rayward.samples;

import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.informers.SharedIndexInformer;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ConcurrentSkipListSet;

/** What happened to the Ray objects of a namespace, seen by one informer a kind. */
final class Timeline implements AutoCloseable {
    private final Set<String> seen = new ConcurrentSkipListSet<>();
    private final List<SharedIndexInformer<GenericKubernetesResource>> informers = new ArrayList<>();

    Timeline(RayChanges changes) {
        for (RayKind kind : RayKind.values()) {
            informers.add(changes.inform(kind, (action, object) -> record(kind, action, object)));
        }
    }

    /** What was made and deleted by name, once that many objects have gone; children have names of their own. */
    List<String> names(int deletions) throws InterruptedException {
        while (seen.stream().filter(each -> each.startsWith("DELETED")).count() < deletions) {
            Thread.sleep(50);
        }
        return List.copyOf(seen);
    }

    private void record(RayKind kind, Watcher.Action action, GenericKubernetesResource object) {
        if (object.getMetadata().getOwnerReferences().isEmpty() && action != Watcher.Action.MODIFIED) {
            seen.add(action + " " + kind.kind + "/" + object.getMetadata().getName());
        }
    }

    @Override
    public void close() {
        informers.forEach(SharedIndexInformer::close);
    }
}
