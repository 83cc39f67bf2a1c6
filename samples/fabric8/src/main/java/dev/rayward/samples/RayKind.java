package dev.rayward.samples;

import io.fabric8.kubernetes.client.dsl.base.ResourceDefinitionContext;

/** The kinds of ray.io/v1 that the playbook changes. */
public enum RayKind {
    RAYCLUSTER("RayCluster", "rayclusters"),
    RAYSERVICE("RayService", "rayservices"),
    RAYJOB("RayJob", "rayjobs");

    final String kind;
    final ResourceDefinitionContext context;

    RayKind(String kind, String plural) {
        this.kind = kind;
        this.context = new ResourceDefinitionContext.Builder()
                .withGroup("ray.io")
                .withVersion("v1")
                .withKind(kind)
                .withPlural(plural)
                .withNamespaced(true)
                .build();
    }
}
