package dev.rayward.samples;

import static dev.rayward.samples.RayKind.RAYCLUSTER;
import static dev.rayward.samples.RayKind.RAYJOB;
import static dev.rayward.samples.RayKind.RAYSERVICE;

import io.fabric8.kubernetes.api.model.ConfigMap;
import io.fabric8.kubernetes.api.model.GenericKubernetesResource;
import io.fabric8.kubernetes.api.model.HasMetadata;
import io.fabric8.kubernetes.api.model.Pod;
import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.KubernetesClientBuilder;
import io.fabric8.kubernetes.client.KubernetesClientException;
import io.fabric8.kubernetes.client.Watch;
import io.fabric8.kubernetes.client.Watcher;
import io.fabric8.kubernetes.client.WatcherException;
import io.fabric8.kubernetes.client.utils.Serialization;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.TreeMap;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.Supplier;

/**
 * The playbook for changing Ray objects, each step once, on the objects of {@code samples}. Prints a line a step.
 *
 * <p>The argument is the folder of the manifests. Server and namespace are those of the kubeconfig.
 */
public final class Playbook {
    private static final String OPS = "ops-tool";
    private static final Duration PATIENCE = Duration.ofMinutes(5);
    private static final String ENDLESS = "python -c \"import time; time.sleep(3600)\"";

    private final KubernetesClient client;
    private final String namespace;
    private final RayChanges changes;
    private final Path manifests;

    private Playbook(KubernetesClient client, Path manifests) {
        this.client = client;
        this.namespace = client.getNamespace() == null ? "default" : client.getNamespace();
        this.changes = new RayChanges(client, namespace);
        this.manifests = manifests;
    }

    public static void main(String[] arguments) throws Exception {
        try (KubernetesClient client = new KubernetesClientBuilder().build()) {
            Playbook playbook = new Playbook(client, Path.of(arguments[0]));
            try (Timeline timeline = new Timeline(playbook.changes)) {
                playbook.commonPatterns();
                playbook.rayClusters();
                playbook.rayServices();
                playbook.rayJobs();
                playbook.watching();
                playbook.deletion();
                tell("timeline: informers of three kinds", timeline.names(4));
            }
            tell("leader election", Election.run(client, playbook.namespace));
        }
    }

    private void commonPatterns() throws Exception {
        GenericKubernetesResource cluster = load("raycluster.yaml").get(0).ray();
        tell("1 server-side apply", generation(changes.apply(RAYCLUSTER, cluster, OPS)));
        tell("1 applied again, nothing changes", generation(changes.apply(RAYCLUSTER, cluster, OPS)));
        GenericKubernetesResource other = one("""
                apiVersion: ray.io/v1
                kind: RayCluster
                metadata: {name: demo}
                spec: {rayVersion: "2.61.0"}
                """);
        tell("1 a field of another manager", refused(() -> changes.apply(RAYCLUSTER, other, "another-tool")));
        tell("1 the same by force", generation(changes.applyByForce(RAYCLUSTER, other, "another-tool")));
        tell("1 whose fields", managers(changes.get(RAYCLUSTER, "demo")));
        tell("1 taken back by force", generation(changes.applyByForce(RAYCLUSTER, cluster, OPS)));
        changes.awaitReady("demo", PATIENCE);

        tell("2 merge patch", labels(changes.mergePatch(
                RAYCLUSTER, "demo", "{\"metadata\": {\"labels\": {\"owner\": \"platform\"}}}")));
        tell("2 a list in a merge patch is replaced as a whole", refused(() -> changes.mergePatch(
                RAYCLUSTER, "demo", "{\"spec\": {\"workerGroupSpecs\": [{\"groupName\": \"small\", \"replicas\": 3}]}}")));
        tell("3 JSON patch", labels(changes.jsonPatch(RAYCLUSTER, "demo", """
                [{"op": "test", "path": "/spec/workerGroupSpecs/0/groupName", "value": "small"},
                 {"op": "add", "path": "/metadata/labels/changedAt", "value": "2025-08-26"}]
                """)));
        tell("3 a test that fails", refused(() -> changes.jsonPatch(RAYCLUSTER, "demo", """
                [{"op": "test", "path": "/spec/workerGroupSpecs/0/groupName", "value": "large"},
                 {"op": "replace", "path": "/spec/workerGroupSpecs/0/replicas", "value": 9}]
                """)));

        GenericKubernetesResource read = changes.get(RAYCLUSTER, "demo");
        changes.mergePatch(RAYCLUSTER, "demo", "{\"metadata\": {\"labels\": {\"meanwhile\": \"yes\"}}}");
        RayChanges.spec(read).put("suspend", true);
        tell("4 replace of what was read before another write", refused(() -> changes.replace(RAYCLUSTER, read)));
        tell("4 read again and replaced", generation(changes.edit(RAYCLUSTER, "demo", spec -> spec.put("suspend", false))));
    }

    private void rayClusters() {
        changes.jsonPatch(RAYCLUSTER, "demo", "[{\"op\": \"replace\", \"path\": \"/spec/workerGroupSpecs/0/replicas\", \"value\": 3}]");
        tell("B1 scaled", RayChanges.status(awaitWorkers(3)).get("readyWorkerReplicas"));

        changes.jsonPatch(RAYCLUSTER, "demo", """
                [{"op": "add", "path": "/spec/workerGroupSpecs/0/template/spec/containers/0/env",
                  "value": [{"name": "RELEASE", "value": "2"}]}]
                """);
        changes.awaitReady("demo", PATIENCE);
        tell("B2 another template", generation(changes.get(RAYCLUSTER, "demo")));

        changes.mergePatch(RAYCLUSTER, "demo", "{\"spec\": {\"suspend\": true}}");
        changes.awaitCondition(RAYCLUSTER, "demo", "RayClusterSuspended", PATIENCE);
        tell("B3 suspended, pods left", pods("demo").size());
        changes.mergePatch(RAYCLUSTER, "demo", "{\"spec\": {\"suspend\": false}}");
        GenericKubernetesResource ready = changes.awaitCondition(RAYCLUSTER, "demo", "HeadPodReady", PATIENCE);
        tell("B4 head ready", RayChanges.hasCondition(ready, "HeadPodReady"));
        awaitWorkers(3);
        for (Pod pod : pods("demo")) {
            client.pods().resource(pod).waitUntilReady(PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
        tell("B4 pods ready", pods("demo").size());
    }

    private void rayServices() throws Exception {
        List<Loaded> loaded = load("rayservice.yaml");
        client.resource(loaded.get(0).built(ConfigMap.class)).inNamespace(namespace).serverSideApply();
        GenericKubernetesResource service = loaded.get(1).ray();
        changes.apply(RAYSERVICE, service, OPS);
        changes.awaitCondition(RAYSERVICE, "hello", "Ready", PATIENCE);
        String first = activeCluster();

        // A manager of its own: whoever applies less than before gives the rest up.
        GenericKubernetesResource config = one("""
                apiVersion: ray.io/v1
                kind: RayService
                metadata: {name: hello}
                spec:
                  serveConfigV2: |
                    applications:
                      - name: hello
                        route_prefix: /
                        import_path: hello:app
                        deployments:
                          - name: Hello
                            num_replicas: 2
                """);
        tell("A4 a serve config of another manager", refused(() -> changes.apply(RAYSERVICE, config, "serve-config")));
        GenericKubernetesResource written = changes.applyByForce(RAYSERVICE, config, "serve-config");
        changes.awaitCondition(RAYSERVICE, "hello", "Ready", PATIENCE);
        tell("A1 another serve config, kept as written",
                RayChanges.spec(written).get("serveConfigV2").equals(RayChanges.spec(config).get("serveConfigV2")));
        tell("A1 without a new cluster", first.equals(activeCluster()));

        changes.jsonPatch(RAYSERVICE, "hello", """
                [{"op": "add", "path": "/spec/upgradeStrategy", "value": {"type": "NewCluster"}},
                 {"op": "replace", "path": "/spec/rayClusterConfig/headGroupSpec/template/spec/containers/0/env/1/value", "value": "2"}]
                """);
        changes.await(RAYSERVICE, "hello", found -> RayChanges.isObserved(found)
                && RayChanges.hasCondition(found, "Ready")
                && !List.of("", first).contains(activeCluster(found)), PATIENCE);
        tell("A2 another cluster spec, a new cluster", !first.equals(activeCluster()));
        changes.awaitGone(RAYCLUSTER, first, PATIENCE);
        // deleted in the background: its pods follow
        for (Pod pod : pods(first)) {
            client.pods().resource(pod).waitUntilCondition(Objects::isNull, PATIENCE.toSeconds(), TimeUnit.SECONDS);
        }
        tell("A2 the old cluster goes, pods left", pods(first).size());

        String second = activeCluster();
        changes.mergePatch(RAYSERVICE, "hello", "{\"spec\": {\"upgradeStrategy\": {\"type\": \"None\"}}}");
        changes.edit(RAYSERVICE, "hello", spec -> spec.put(
                "serveConfigV2", spec.get("serveConfigV2").toString().replace("num_replicas: 2", "num_replicas: 1")));
        changes.awaitCondition(RAYSERVICE, "hello", "Ready", PATIENCE);
        tell("A3 in place", second.equals(activeCluster()));
    }

    private void rayJobs() throws Exception {
        GenericKubernetesResource job = load("rayjob.yaml").get(0).ray();
        String entrypoint = RayChanges.spec(job).get("entrypoint").toString();
        RayChanges.spec(job).put("entrypoint", ENDLESS);
        changes.apply(RAYJOB, job, OPS);
        awaitJob("jobStatus", "RUNNING");
        changes.mergePatch(RAYJOB, "hello", "{\"spec\": {\"suspend\": true}}");
        awaitJob("jobDeploymentStatus", "Suspended");
        tell("C1 suspended", RayChanges.status(changes.get(RAYJOB, "hello")).get("jobDeploymentStatus"));
        changes.edit(RAYJOB, "hello", spec -> spec.put("entrypoint", entrypoint));
        tell("C2 another entrypoint", generation(changes.get(RAYJOB, "hello")));
        changes.mergePatch(RAYJOB, "hello", "{\"spec\": {\"suspend\": false}}");
        GenericKubernetesResource ended = awaitJob("jobDeploymentStatus", "Complete");
        tell("C3 resumed, C4 ended", RayChanges.status(ended).get("jobStatus"));
    }

    private void watching() throws Exception {
        BlockingQueue<String> seen = new LinkedBlockingQueue<>();
        List<String> owners = new ArrayList<>();
        try (Watch watch = changes.watch(RAYCLUSTER, (action, object) -> {
            String owner = object.getMetadata().getLabels().getOrDefault("owner", "");
            if (object.getMetadata().getName().equals("demo") && !owners.contains(owner)) {
                owners.add(owner);
                seen.add(owner);
            }
        }, expired -> seen.add("expired"))) {
            List<String> told = new ArrayList<>();
            for (String owner : List.of("ada", "grace", "barbara")) {
                changes.mergePatch(RAYCLUSTER, "demo", "{\"metadata\": {\"labels\": {\"owner\": \"" + owner + "\"}}}");
                String next = seen.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                while (next != null && !next.equals(owner) && !next.equals("expired")) {
                    next = seen.poll(PATIENCE.toSeconds(), TimeUnit.SECONDS);
                }
                told.add(next);
            }
            tell("watch", told);
        }
        tell("watch with a bad selector", refused(() -> client.genericKubernetesResources(RAYCLUSTER.context)
                .inNamespace(namespace).withLabelSelector("owner in (").watch(new Watcher<>() {
                    @Override
                    public void eventReceived(Action action, GenericKubernetesResource object) {}

                    @Override
                    public void onClose(WatcherException cause) {}
                })));
        GenericKubernetesResource restarted = changes.mergePatch(RAYCLUSTER, "demo",
                "{\"metadata\": {\"annotations\": {\"kubectl.kubernetes.io/restartedAt\": \"2025-08-26T00:00:00Z\"}}}");
        tell("tip: an annotation makes no generation", restarted.getMetadata().getGeneration());
    }

    private void deletion() throws Exception {
        GenericKubernetesResource kept = load("raycluster.yaml").get(0).ray();
        kept.getMetadata().setName("kept");
        kept.getMetadata().setFinalizers(List.of("samples.rayward.dev/kept"));
        RayChanges.spec(kept).put("suspend", true);
        changes.apply(RAYCLUSTER, kept, OPS);
        client.genericKubernetesResources(RAYCLUSTER.context).inNamespace(namespace).withName("kept").delete();
        GenericKubernetesResource stuck =
                changes.await(RAYCLUSTER, "kept", found -> found.getMetadata().getDeletionTimestamp() != null, PATIENCE);
        tell("deletion waits for finalizers", stuck.getMetadata().getFinalizers().contains("samples.rayward.dev/kept"));
        changes.removeFinalizers(RAYCLUSTER, "kept");
        tell("a name cannot be changed", refused(() -> changes.mergePatch(RAYCLUSTER, "demo", "{\"metadata\": {\"name\": \"other\"}}")));
        changes.delete(RAYJOB, "hello", PATIENCE);
        changes.delete(RAYSERVICE, "hello", PATIENCE);
        changes.delete(RAYCLUSTER, "demo", PATIENCE);
        tell("deleted in the foreground, pods left", pods("demo").size());
        tell("found after deletion", changes.find(RAYCLUSTER, "demo").isPresent());
        changes.apply(RAYCLUSTER, load("raycluster.yaml").get(0).ray(), OPS);
        tell("made again", generation(changes.awaitReady("demo", PATIENCE)));
        changes.delete(RAYCLUSTER, "demo", PATIENCE);
    }

    private GenericKubernetesResource awaitWorkers(Integer count) {
        return changes.await(RAYCLUSTER, "demo", found -> RayChanges.isReady(found)
                && count.equals(RayChanges.status(found).get("readyWorkerReplicas")), PATIENCE);
    }

    private GenericKubernetesResource awaitJob(String field, String value) {
        return changes.await(RAYJOB, "hello", found -> value.equals(RayChanges.status(found).get(field)), PATIENCE);
    }

    private String activeCluster() {
        return activeCluster(changes.get(RAYSERVICE, "hello"));
    }

    private static String activeCluster(GenericKubernetesResource service) {
        Map<?, ?> active = (Map<?, ?>) RayChanges.status(service).getOrDefault("activeServiceStatus", Map.of());
        return active.get("rayClusterName") == null ? "" : active.get("rayClusterName").toString();
    }

    private List<Pod> pods(String cluster) {
        return client.pods().inNamespace(namespace).withLabel("ray.io/cluster", cluster).list().getItems();
    }

    private List<Loaded> load(String name) throws IOException {
        List<Loaded> found = new ArrayList<>();
        for (String document : Files.readString(manifests.resolve(name)).split("(?m)^---$")) {
            found.add(new Loaded(document));
        }
        return found;
    }

    private record Loaded(String text) {
        GenericKubernetesResource ray() {
            return one(text);
        }

        <T extends HasMetadata> T built(Class<T> type) {
            return Serialization.unmarshal(text, type);
        }
    }

    private static GenericKubernetesResource one(String yaml) {
        return Serialization.unmarshal(yaml, GenericKubernetesResource.class);
    }

    private static String generation(GenericKubernetesResource found) {
        return "generation " + found.getMetadata().getGeneration();
    }

    /** Sorted: the order of a map's keys says nothing. */
    private static Map<String, String> labels(GenericKubernetesResource found) {
        return new TreeMap<>(found.getMetadata().getLabels());
    }

    private static List<String> managers(GenericKubernetesResource found) {
        return found.getMetadata().getManagedFields().stream()
                .filter(each -> "Apply".equals(each.getOperation()) && each.getSubresource() == null)
                .map(each -> each.getManager())
                .sorted()
                .toList();
    }

    private static String refused(Supplier<?> write) {
        try {
            return "not refused: " + write.get();
        } catch (KubernetesClientException refusal) {
            String said = refusal.getStatus() == null ? refusal.getMessage() : refusal.getStatus().getMessage();
            return refusal.getCode() + " " + said;
        }
    }

    private static void tell(String step, Object outcome) {
        System.out.println(step + ": " + outcome);
    }
}
