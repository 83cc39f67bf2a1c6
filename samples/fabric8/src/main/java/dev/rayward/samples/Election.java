package dev.rayward.samples;

import io.fabric8.kubernetes.client.KubernetesClient;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderCallbacks;
import io.fabric8.kubernetes.client.extended.leaderelection.LeaderElectionConfigBuilder;
import io.fabric8.kubernetes.client.extended.leaderelection.resourcelock.LeaseLock;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;

/** Two candidates and one lease: the second leads when the first gives up. */
final class Election {
    private Election() {}

    static List<String> run(KubernetesClient client, String namespace) throws InterruptedException {
        BlockingQueue<String> leaders = new LinkedBlockingQueue<>();
        List<String> told = new ArrayList<>();
        CompletableFuture<?> first = candidate(client, namespace, "first", leaders);
        told.add(leaders.poll(5, TimeUnit.MINUTES));
        CompletableFuture<?> second = candidate(client, namespace, "second", leaders);
        first.cancel(true);
        told.add(leaders.poll(5, TimeUnit.MINUTES));
        told.add(client.leases().inNamespace(namespace).withName("playbook").get().getSpec().getHolderIdentity());
        second.cancel(true);
        return told;
    }

    private static CompletableFuture<?> candidate(
            KubernetesClient client, String namespace, String name, BlockingQueue<String> leaders) {
        return client.leaderElector()
                .withConfig(new LeaderElectionConfigBuilder()
                        .withName("playbook")
                        .withLock(new LeaseLock(namespace, "playbook", name))
                        .withLeaseDuration(Duration.ofSeconds(15))
                        .withRenewDeadline(Duration.ofSeconds(10))
                        .withRetryPeriod(Duration.ofMillis(500))
                        .withLeaderCallbacks(new LeaderCallbacks(() -> leaders.add(name), () -> {}, leader -> {}))
                        .withReleaseOnCancel(true)
                        .build())
                .build()
                .start();
    }
}
