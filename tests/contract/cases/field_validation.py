"""fieldValidation: what happens to unknown and repeated fields."""

from __future__ import annotations

from tests.contract.case import Step, at, case, create, update
from tests.contract.objects import configmap, pod, raycluster

_POD = {
    **pod("p"),
    "colour": "red",
    "spec": {**pod("p")["spec"], "speed": 1, "containers": [{"name": "a", "image": "b", "taste": "c"}]},
}
_RAY = {
    **raycluster(
        "r",
        speed=1,
        headGroupSpec={"rayStartParams": {}, "template": {"spec": {"containers": [{"name": "a", "taste": 1}], "x": 1}}},
    ),
    "colour": "red",
}
_META = {**configmap("c"), "metadata": {"name": "c", "mood": "good", "labels": {"a": "b"}}}
_TWICE = (
    '{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c","name":"c"},"data":{"a":"1","a":"2"},"unknown":1}'
)
_RAY_TWICE = (
    '{"kind":"RayCluster","apiVersion":"ray.io/v1","metadata":{"name":"r"},"spec":{"suspend":true,"suspend":false,'
    '"headGroupSpec":{"rayStartParams":{},"template":{"spec":{"containers":[]}}}}}'
)


def _text(path: str, body: str, mode: str, content_type: str = "application/json") -> Step:
    return Step("POST", f"{at(path)}?fieldValidation={mode}", body, {"Content-Type": content_type})


CASES = [
    case("a Pod: warned of by default", create("pods", _POD)),
    *[case(f"a Pod: {mode}", create("pods", _POD, fieldValidation=mode)) for mode in ("Strict", "Warn", "Ignore")],
    case("a RayCluster: warned of by default", create("rayclusters", _RAY)),
    *[
        case(f"a RayCluster: {mode}", create("rayclusters", _RAY, fieldValidation=mode))
        for mode in ("Strict", "Warn", "Ignore")
    ],
    *[case(f"metadata: {mode}", create("configmaps", _META, fieldValidation=mode)) for mode in ("Strict", "Warn")],
    *[case(f"repeated fields: {mode}", _text("configmaps", _TWICE, mode)) for mode in ("Strict", "Warn", "Ignore")],
    *[
        case(f"repeated fields of a RayCluster: {mode}", _text("rayclusters", _RAY_TWICE, mode))
        for mode in ("Strict", "Warn")
    ],
    case(
        "repeated fields in YAML",
        _text("configmaps", "metadata: {name: c}\ndata: {a: '1', a: '2'}\nx: 1\n", "Strict", "application/yaml"),
        _text(
            "rayclusters",
            "apiVersion: ray.io/v1\nkind: RayCluster\nmetadata: {name: c}\n"
            "spec: {suspend: true, suspend: false}\nx: 1\n",
            "Strict",
            "application/yaml",
        ),
    ),
    case(
        "fields in another case of letters",
        create("configmaps", {"Metadata": {"name": "c"}, "DATA": {"a": "1"}}),
        create("configmaps", {"metadata": {"name": "c"}, "Data": {"a": "1"}}, fieldValidation="Strict"),
    ),
    case(
        "an update",
        create("configmaps", configmap("c")),
        update("configmaps/c", _META, fieldValidation="Strict"),
        update("configmaps/c", _META),
    ),
    case(
        "unknown and invalid at once",
        create("pods", {**_POD, "spec": {"containers": [], "speed": 1}}, fieldValidation="Strict"),
        create("pods", {**_POD, "spec": {"containers": [], "speed": 1}}),
    ),
    case(
        "many unknown fields",
        create(
            "configmaps", {**configmap("c"), **{f"field{n:03}": n for n in range(120)}}, fieldValidation="Strict"
        ).only_of("code", "reason"),
        create("configmaps", {**configmap("c"), **{f"field{n:03}": n for n in range(30)}}),
    ),
    case(
        "metadata of a template inside a custom object",
        create(
            "rayclusters",
            raycluster(
                "r",
                headGroupSpec={
                    "rayStartParams": {},
                    "template": {
                        "metadata": {"labels": {"a": "b"}, "unknown": 1},
                        "spec": {"containers": [{"name": "a"}]},
                    },
                },
            ),
            fieldValidation="Strict",
        ),
    ),
]
