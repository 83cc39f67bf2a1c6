from __future__ import annotations

from pathlib import Path
from typing import Final

import pytest

from rayward.changes.lint import (
    ADVICE,
    CODES,
    Severity,
    as_advice,
    as_github,
    as_json,
    as_sarif,
    as_text,
    fixed,
    lint_text,
)
from rayward.kube.machinery import yamltext
from tests.kinds.clusters import changed, manifest, service_manifest
from tests.kinds.judgements import BAD, GOOD, Judgement

HEAD: Final = """\
apiVersion: ray.io/v1
kind: RayCluster
metadata: {name: c}
spec:
  rayVersion: 2.60.0
  headGroupSpec:
    template:
      spec:
        containers: [{name: ray, image: "rayproject/ray:2.60.0"}]
"""
GROUP: Final = "  workerGroupSpecs:\n  - groupName: w\n"


def _codes(text: str) -> list[str]:
    return [f"{one.line}:{one.column} {one.code}" for one in lint_text(text)]


def test_a_clean_manifest() -> None:
    assert lint_text(HEAD) == []
    assert lint_text(yamltext.dump(service_manifest())) == []


def test_what_keeps_requests_from_serve_is_told_where_it_stands() -> None:
    config = "applications: [{name: a, import_path: 'm:a', route_prefix: /}]\nhttp_options:\n  port: 9000\n"
    value = changed(service_manifest(), "spec.serveConfigV2", f"{config}proxy_location: Disabled\n")
    text = yamltext.dump(value)
    found = [one for one in lint_text(text) if one.code == "RW302"]
    lines = [text.splitlines()[one.line - 1].strip() for one in found]
    assert lines == ["port: 9000", "proxy_location: Disabled"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a: [1", ["1:4 RW101"]),
        ("- 1\n- 2\n", ["1:1 RW102"]),
        ("spec: {}\n", ["1:1 RW102"]),
        (HEAD.replace("RayCluster", "RayClster"), ["2:1 RW104"]),
        (HEAD.replace("ray.io/v1", "ray.io/v1alpha1"), ["1:1 RW104"]),
        (HEAD + "  rayVersion: 2.61.0\n", ["9:34 RW405", "10:3 RW103"]),
        (HEAD + "  workerGroupSpec: []\n", ["10:3 RW105"]),
        (HEAD.replace("rayVersion: 2.60.0", "rayVersion: 2"), ["5:3 RW201", "9:34 RW405"]),
        (HEAD + "  upgradeStrategy: {type: Rolling}\n", ["10:21 RW201"]),
        (HEAD + GROUP + "    minReplicas: 3\n    maxReplicas: 1\n    template: {}\n", ["12:5 RW202", "14:5 RW202"]),
        (HEAD + "---\n# nothing\n---\n" + HEAD.replace("2.60.0\n", "2.61.0\n", 1), ["21:34 RW405"]),
        ("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n", []),
    ],
)
def test_where_each_finding_lies(text: str, expected: list[str]) -> None:
    assert _codes(text) == expected


def test_a_replica_is_taken_for_replicas_and_mended() -> None:
    text = HEAD + GROUP + "    replica: 2 # two\n    template: {spec: {containers: [{name: r}]}}\n"
    found = [one for one in lint_text(text) if one.code == "RW105"]
    assert "did you mean replicas?" in found[0].message
    after, _ = fixed(text, found)
    assert "    replicas: 2 # two\n" in after


def test_lines_inside_a_serve_config_are_those_of_the_file() -> None:
    text = (
        "kind: RayService\napiVersion: ray.io/v1\nmetadata: {name: s}\nspec:\n  serveConfigV2: |2-\n"
        "      applications:\n      - name: app\n        import_path: 7\n"
    )
    found = next(one for one in lint_text(text) if one.code == "RW301")
    assert (found.line, found.column) == (8, 9)


JOB: Final = """\
apiVersion: ray.io/v1
kind: RayJob
metadata: {name: j}
spec:
  entrypoint: python x.py
  rayClusterSpec:
    headGroupSpec:
      template: {spec: {containers: [{name: r, image: "rayproject/ray:2.60.0"}]}}
  runtimeEnvYAML: |
"""
CRON: Final = """\
apiVersion: ray.io/v1
kind: RayCronJob
metadata: {name: j}
spec:
  schedule: "0 * * * *"
  jobTemplate:
    entrypoint: python x.py
    rayClusterSpec:
      enableInTreeAutoscaling: true
      rayVersion: 2.60.0
      headGroupSpec:
        template: {spec: {containers: [{name: r, image: "rayproject/ray:2.52.0"}]}}
      workerGroupSpecs:
      - groupName: w
        replicas: 2
        maxReplicas: 3
        template: {spec: {containers: [{name: r, image: "rayproject/ray:2.60.0"}]}}
    runtimeEnvYAML: |
"""


@pytest.mark.parametrize(
    ("environment", "place", "severity", "said"),
    [
        ("env_vars: [a]", (1, 5), "error", "env_vars is not a mapping"),
        ("env_vars:\n      A: 1", (2, 7), "error", "the value of A is not text"),
        ("pip: [a]\n    uv: [b]", (2, 5), "error", "one of pip and uv"),
        ("pip: [a]\n    pip: [b]", (2, 5), "error", "pip is there twice"),
        ("- pip", (1, 5), "error", "not a mapping"),
        ("pip: [a", (1, 10), "error", ""),
        ("pip: [a]\n    workingdir: x", (2, 5), "warning", "did you mean working_dir?"),
    ],
)
def test_what_is_wrong_in_a_runtime_environment_is_told_where_it_stands(
    environment: str, place: tuple[int, int], severity: str, said: str
) -> None:
    text = f"{JOB}    {environment}\n"
    found = lint_text(text)
    line, column = place
    at = (line + JOB.count("\n"), column)
    assert [(one.code, str(one.severity), (one.line, one.column)) for one in found] == [("RW304", severity, at)]
    assert said in found[0].message


def test_a_job_of_a_schedule_is_looked_at_as_a_job_is() -> None:
    found = lint_text(f"{CRON}      pipp: [a]\n")
    assert [f"{one.line}:{one.column} {one.code}" for one in found] == ["12:50 RW405", "15:9 RW404", "19:7 RW304"]


def test_a_runtime_environment_inside_a_serve_config_is_looked_at() -> None:
    application = {"name": "a", "import_path": "m:a", "runtime_env": {"env_vars": {"A": 1}}}
    for config in (yamltext.dump({"applications": [application]}), {"applications": [application]}):
        text = yamltext.dump(changed(service_manifest(), "spec.serveConfigV2", config))
        [found] = [one for one in lint_text(text) if one.severity is Severity.ERROR]
        assert (found.code, text.splitlines()[found.line - 1].strip()) == ("RW304", "A: 1")


@pytest.mark.parametrize(("strategy", "said"), [("Recreate", "deletes all pods at once"), ("None", "changes no pod")])
def test_what_a_strategy_of_a_cluster_does_is_told(strategy: str, said: str) -> None:
    found = lint_text(HEAD + f"  upgradeStrategy: {{type: {strategy}}}\n")
    assert [(one.code, one.severity, said in one.message) for one in found] == [("RW410", Severity.NOTE, True)]


def test_states_that_do_not_exist_and_conditions_that_kuberay_does_not_set_are_named() -> None:
    status = (
        "status:\n  state: Running\n  conditions:\n  - {type: HeadPodRunningAndReady}\n  - {type: AutoscalerHealthy}\n"
    )
    [found] = lint_text(HEAD + status)
    assert (found.code, "never 'Running'" in found.message) == ("RW403", True)
    assert "(KubeRay sets no condition HeadPodRunningAndReady: wait for HeadPodReady)" in found.message
    assert "(KubeRay sets no condition AutoscalerHealthy)" in found.message


@pytest.mark.parametrize(
    "value",
    ["'applications: [{name: a, import_path: 7}]'", '"applications: [{import_path: 7}]"', ">\n    applications: 7"],
)
def test_a_config_that_is_no_literal_block_is_found_at_its_key(value: str) -> None:
    text = f"kind: RayService\napiVersion: ray.io/v1\nmetadata: {{name: s}}\nspec:\n  serveConfigV2: {value}\n"
    assert "5:3 RW301" in _codes(text)


def test_autoscaled_replicas_are_deleted_by_a_fix() -> None:
    body = changed(manifest(), "spec.enableInTreeAutoscaling", True)
    text = "# ours\n" + yamltext.dump(body)
    found = lint_text(text)
    assert [one.code for one in found] == ["RW404"]
    after, count = fixed(text, found)
    assert count == 1
    assert after == text.replace("    replicas: 1\n", "")
    assert lint_text(after) == []


def test_a_pinned_storage_namespace_of_a_service() -> None:
    options = {"redisAddress": "r:6379", "externalStorageNamespace": "n"}
    body = changed(service_manifest(), "spec.rayClusterConfig.gcsFaultToleranceOptions", options)
    assert [one.code for one in lint_text(yamltext.dump(body))] == ["RW408"]


@pytest.mark.parametrize("case", BAD, ids=lambda case: case.name)
def test_what_admission_or_the_operator_rejects_is_found(case: Judgement) -> None:
    body = case.body
    found = lint_text(yamltext.dump(body))
    assert any(one.severity is Severity.ERROR for one in found), found


@pytest.mark.parametrize("case", GOOD, ids=lambda case: case.name)
def test_what_admission_takes_has_no_error_of_the_schema(case: Judgement) -> None:
    if case.name == "unknown fields":
        return
    found = lint_text(yamltext.dump(case.body))
    assert not [one for one in found if one.code in ("RW105", "RW201")], found


def test_reports() -> None:
    found = lint_text(HEAD + "  workerGroupSpec: []\n", "a,b.yaml")
    assert as_text(found).startswith("a,b.yaml:10:3: error RW105 spec.workerGroupSpec: there is no field")
    assert as_text(found).endswith("[fixable]")
    assert as_json(found)["findings"][0]["page"] == "docs/reference/lint.md#rw105"
    sarif = as_sarif(found, "0.1.0")
    result = sarif["runs"][0]["results"][0]
    assert (result["ruleId"], result["level"]) == ("RW105", "error")
    region = result["locations"][0]["physicalLocation"]["region"]
    assert region == {"startLine": 10, "startColumn": 3}
    assert result["fixes"][0]["artifactChanges"][0]["replacements"][0]["insertedContent"] == {
        "text": "workerGroupSpecs"
    }
    assert as_github(found).startswith("::error file=a%2Cb.yaml,line=10,col=3,title=RW105::spec.workerGroupSpec: ")


def test_a_large_file_is_refused_in_words() -> None:
    text = "a: [" + "1, " * 400_000 + "1]"
    found = lint_text(text)
    assert [one.code for one in found] == ["RW101"]


def test_each_finding_leads_to_what_to_do() -> None:
    found = lint_text(HEAD + "  workerGroupSpec: []\n  workerGroupSpe: []\n", "a.yaml")
    assert as_advice(found) == (
        "RW105: Use the name that the message suggests; --fix renames it. See docs/reference/lint.md#rw105"
    )
    [rule] = as_sarif(found, "0.1.0")["runs"][0]["tool"]["driver"]["rules"]
    assert rule["help"]["markdown"].endswith("`--fix` renames it. See docs/reference/lint.md#rw105.")
    assert "`" not in rule["help"]["text"]


@pytest.mark.parametrize("code", CODES)
def test_every_code_has_a_section_with_its_advice(code: str) -> None:
    page = (Path(__file__).parents[3] / "docs" / "reference" / "lint.md").read_text()
    _, heading, after = page.partition(f"\n### {code}\n")
    assert heading, "a heading of its own is what a link can lead to"
    assert ADVICE[code] in after.partition("\n#")[0]
