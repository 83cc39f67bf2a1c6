from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds.serveconfig import ServeConfig, ServeConfigError, parse

RAY = "2.60.0"
OLDER = "2.9.0"
PROGRAM = "import ray\nfrom ray import serve\napp = serve.Application(...)\n"
OBJECT: dict[str, Any] = {
    "importPath": "app.MyModel",
    "runtimeEnv": {"workingDir": "s3://my-bucket/code", "pip": ["scikit-learn"]},
    "deployments": [{"name": "MyModel", "numReplicas": 2, "routePrefix": "/predict"}],
}
MEANT: dict[str, Any] = {
    "applications": [
        {
            "name": "default",
            "import_path": "app.MyModel",
            "runtime_env": {"working_dir": "s3://my-bucket/code", "pip": ["scikit-learn"]},
            "deployments": [{"name": "MyModel", "num_replicas": 2}],
            "route_prefix": "/predict",
        }
    ]
}
TEXT = """\
# served at /
applications:
- name: text
  import_path: text_ml:app
  route_prefix: /text
  runtime_env:
    working_dir: https://example.com/a.zip
  deployments:
  - name: Translator
    num_replicas: 1
    user_config: {Language: french, maxWords: 3}
    ray_actor_options: {num_cpus: 0.2}
"""


def _refused(value: Any, version: str = RAY) -> list[tuple[int, int, str]]:
    with pytest.raises(ServeConfigError) as caught:
        parse(value, version)
    return [(finding.line, finding.column, finding.message) for finding in caught.value.findings]


def _app(**fields: Any) -> dict[str, Any]:
    return {"applications": [{"name": "a", "import_path": "m:a", **fields}]}


def test_yaml_is_kept_byte_for_byte_and_put_as_it_means() -> None:
    config = parse(TEXT, RAY)
    assert config.text == TEXT
    assert config.payload == yaml.safe_load(TEXT)
    assert config.applications[0]["name"] == "text"
    assert config.warnings == ()


def test_an_object_in_camel_case_is_one_application() -> None:
    config = parse(OBJECT, RAY)
    assert config.payload == MEANT
    assert parse(config.text, RAY).payload == MEANT


def test_the_same_written_otherwise_has_one_digest() -> None:
    versions = [OBJECT, MEANT, yaml.safe_dump(OBJECT), yaml.safe_dump(MEANT, default_flow_style=True)]
    assert len({parse(value, RAY).digest for value in versions}) == 1
    assert parse(TEXT).digest != parse(OBJECT).digest
    assert parse(MEANT).digest == "v1-f2cf8da0057a562ea08f04cf4ea301b1"


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        pytest.param(
            {"importPath": "m:a", "name": "x", "host": "0.0.0.0", "port": 8001, "httpOptions": {"rootPath": "/r"}},
            {
                "http_options": {"host": "0.0.0.0", "port": 8001, "root_path": "/r"},
                "applications": [{"name": "x", "import_path": "m:a"}],
            },
            id="one application with address",
        ),
        pytest.param(
            {"targetCapacity": 50, "applications": [{"name": "a", "importPath": "m.sub:a.b", "routePrefix": None}]},
            {"target_capacity": 50, "applications": [{"name": "a", "import_path": "m.sub:a.b", "route_prefix": None}]},
            id="capacity",
        ),
        pytest.param(_app(import_path="my-app.code:a"), _app(import_path="my-app.code:a"), id="a folder with a dash"),
        pytest.param(
            _app(deployments=[{"name": "D", "userConfig": {"aB": 1}, "rayActorOptions": {"numGpus": 1}}]),
            _app(deployments=[{"name": "D", "user_config": {"aB": 1}, "ray_actor_options": {"num_gpus": 1}}]),
            id="what is the user's own keeps its names",
        ),
        pytest.param(
            _app(runtime_env={"envVars": {"A_b": "1"}}), _app(runtime_env={"env_vars": {"A_b": "1"}}), id="env"
        ),
        pytest.param(_app(runtime_env={"myPlugin": {}}), _app(runtime_env={"myPlugin": {}}), id="a plugin of Ray"),
        pytest.param(
            _app(deployments=[{"name": "D", "route_prefix": "/p"}, {"name": "E", "routePrefix": "/p"}]),
            _app(deployments=[{"name": "D"}, {"name": "E"}], route_prefix="/p"),
            id="one route of two deployments",
        ),
        pytest.param(
            _app(deployments=[{"name": "D", "num_replicas": "auto", "autoscaling_config": {"max_replicas": 3}}]),
            _app(deployments=[{"name": "D", "num_replicas": "auto", "autoscaling_config": {"max_replicas": 3}}]),
            id="autoscaling",
        ),
    ],
)
def test_what_is_meant_is_put(value: dict[str, Any], expected: dict[str, Any]) -> None:
    config = parse(value, RAY)
    assert config.payload == expected
    assert config.warnings == ()


def test_python_source_is_recognised() -> None:
    ((line, column, message),) = _refused(PROGRAM)
    assert (line, column) == (1, 1)
    assert "Python source" in message
    assert "import_path: 'module:app'" in message


@pytest.mark.parametrize(
    "text",
    [
        '"""Doc."""\nfrom ray import serve\n\n@serve.deployment\nclass A:\n  def __call__(self): return {"a": [1}\n',
        "class Model:\n    def f(self):\n        return 1\n",
        "x = serve.run(app)\n",
    ],
)
def test_other_programs_are_recognised_too(text: str) -> None:
    assert any("Python source" in message for _, _, message in _refused(text))


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("", "it is empty"),
        (None, "it is empty"),
        ({}, "it is empty"),
        ("just words", "not a mapping"),
        ("- a\n- b", "not a mapping"),
        (5, "not a mapping"),
        ([1], "not a mapping"),
        ("http_options: {port: 8000}", "neither applications nor an import_path"),
        ("applications: []", "no application to serve"),
        ("applications: {}", "no application to serve"),
        ("applications: [a]", "an application is a mapping"),
        (_app(name=""), "not empty"),
        (_app(name=True), "quotes"),
        (_app(import_path=None), "there is no import_path"),
        (_app(import_path=5), "import_path is a text"),
        (_app(import_path="model"), "not an import path"),
        (_app(import_path="m:a:b"), "not an import path"),
        (_app(import_path=":a"), "not an import path"),
        (_app(import_path="m."), "not an import path"),
        (_app(import_path="code/m.py:a"), "not its file"),
        (_app(import_path="m.py:a"), "write the module, m:a"),
        (_app(route_prefix="text"), "begins with /"),
        (_app(route_prefix="/text/"), "write /text"),
        (_app(route_prefix="/{x}"), "no wildcards"),
        (_app(port=8000), "move it into http_options"),
        (_app(args=[1]), "args is a mapping"),
        (_app(runtime_env="x"), "runtime_env is a mapping"),
        (_app(runtime_env={"working_dir": "./code"}), "is a path"),
        (_app(runtime_env={"pyModules": ["s3://b/a.zip", "lib"]}), "py_modules 'lib' is a path"),
        (_app(deployments={"name": "D"}), "deployments is a list"),
        (_app(deployments=["D"]), "a deployment is a mapping"),
        (_app(deployments=[{"num_replicas": 1}]), "needs the name"),
        (_app(deployments=[{"name": "D", "num_replicas": 0}]), "from 1 up or auto"),
        (_app(deployments=[{"name": "D", "num_replicas": 2, "autoscaling_config": {}}]), "keep one"),
        (_app(deployments=[{"name": "D", "autoscaling_config": {"min_replicas": 3, "max_replicas": 2}}]), "raise max"),
        (_app(route_prefix="/a", deployments=[{"name": "D", "routePrefix": "/b"}]), "already answers at '/a'"),
        (_app(importPath="m:b"), "in two spellings"),
        ({**_app(), "target_capacity": 101}, "from 0 to 100"),
        ({**_app(), "target_capacity": -0.5}, "from 0 to 100"),
        ({**_app(), "targetCapacity": "all"}, "from 0 to 100"),
    ],
)
def test_what_cannot_be_deployed_is_refused(value: Any, words: str) -> None:
    found = _refused(value)
    assert len(found) == 1
    assert words in found[0][2]


def test_applications_do_not_share_a_name_or_a_route() -> None:
    text = """\
applications:
- name: a
  import_path: m:a
  route_prefix: /x
- name: b
  import_path: m:b
  route_prefix: /x
- import_path: m:c
- import_path: m:d
"""
    assert [(line, column, message.split(":")[0]) for line, column, message in _refused(text)] == [
        (7, 3, "route_prefix '/x' is already that of applications[0]"),
        (9, 3, "name 'default', as if unset, is already that of applications[2]"),
        (9, 3, "route_prefix '/', as if unset, is already that of applications[2]"),
    ]


def test_everything_wrong_is_told_at_once_in_the_order_of_the_text() -> None:
    deployments = "  deployments:\n  - numReplica: 2\n    name: D\n"
    text = f"target_capacity: 200\napplications:\n- name: a\n  importPath: m\n{deployments}"
    assert [(line, column) for line, column, _ in _refused(text)] == [(1, 1), (4, 3), (6, 5)]


@pytest.mark.parametrize(
    ("key", "hint"),
    [
        ("num_replica", "did you mean num_replicas?"),
        ("numReplicaz", "did you mean num_replicas?"),
        ("max_concurrent_queries", "called max_ongoing_requests now"),
        ("flavour_of_the_day", "delete it"),
    ],
)
def test_an_unknown_word_is_an_error_only_where_our_table_is_of_the_same_ray(key: str, hint: str) -> None:
    text = f"applications:\n- name: a\n  import_path: m:a\n  deployments:\n  - name: D\n    {key}: 3\n"
    ((line, column, message),) = _refused(text, "2.60.1")
    assert (line, column) == (6, 5)
    assert hint in message
    for version in (OLDER, "2.61.0", "nightly", ""):
        config = parse(text, version)
        assert [(warning.line, warning.column, warning.message) for warning in config.warnings] == [(6, 5, message)]
        assert config.applications[0]["deployments"][0][key] == 3


def _of_deployment(**environment: Any) -> dict[str, Any]:
    return _app(deployments=[{"name": "D"}, {"name": "E", "ray_actor_options": {"runtime_env": environment}}])


_OF_E = "applications[0].deployments[1].ray_actor_options.runtime_env"


@pytest.mark.parametrize(
    ("value", "paths"),
    [
        (_app(runtime_env={"working_dir": "s3://b/code"}), ["applications[0].runtime_env.working_dir"]),
        (_app(runtime_env={"working_dir": "https://h/code.tar"}), ["applications[0].runtime_env.working_dir"]),
        (_app(runtime_env={"py_modules": ["s3://b/a.zip", "s3://b/a"]}), ["applications[0].runtime_env.py_modules"]),
        (_of_deployment(working_dir="s3://b/code"), [f"{_OF_E}.working_dir"]),
        (_of_deployment(pyModules=["s3://b/a", "gs://b/b.whl"]), [f"{_OF_E}.pyModules"]),
        (_app(runtime_env={"working_dir": "https://h/code.zip?version=1.2"}), []),
        (_app(runtime_env={"working_dir": "s3://b/code.tar.bz2", "py_modules": ["s3://b/code.tar.xz"]}), []),
        (_app(runtime_env={"working_dir": "local:///srv/code"}), []),
        (_app(runtime_env={"py_modules": [1, None]}), []),
        (_app(import_path="m:Shop"), ["applications[0].import_path"]),
        (_app(import_path="m.LLMServer"), ["applications[0].import_path"]),
        (_app(import_path="m:APIIngress"), ["applications[0].import_path"]),
        (_app(import_path="m:My_Model"), ["applications[0].import_path"]),
        (_app(import_path="m:APP"), []),
        (_app(import_path="m:APP_2"), []),
        (_app(import_path="m:app"), []),
        (_app(import_path="m:buildApp"), []),
        (_app(import_path="Shop:app"), []),
    ],
)
def test_what_ray_takes_and_hardly_anybody_means_is_a_warning(value: Any, paths: list[str]) -> None:
    assert [warning.path for warning in parse(value, RAY).warnings] == paths


def test_a_repeated_key_is_a_warning() -> None:
    config = parse("applications:\n- name: a\n  import_path: m:a\n  import_path: m:b\n", RAY)
    assert [(warning.line, warning.path) for warning in config.warnings] == [(4, "applications[0].import_path")]


def test_an_object_has_bounds_too() -> None:
    deep: Any = []
    for _ in range(5000):
        deep = [deep]
    assert "levels deep" in _refused({"import_path": "m:a", "args": {"x": deep}})[0][2]


def test_findings_name_the_path_where_there_is_no_text() -> None:
    with pytest.raises(ServeConfigError) as caught:
        parse({"importPath": "m", "deployments": [{"name": "D", "numReplicas": 0}]}, RAY)
    assert [str(finding).split(":")[0] for finding in caught.value.findings] == [
        "importPath",
        "deployments[0].numReplicas",
    ]


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "applications",
                    "name",
                    "importPath",
                    "import_path",
                    "deployments",
                    "route_prefix",
                    "routePrefix",
                    "runtime_env",
                    "working_dir",
                    "py_modules",
                    "http_options",
                    "port",
                    "num_replicas",
                    "autoscaling_config",
                    "target_capacity",
                    "x",
                ]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=20,
)


@given(_JSON)
def test_any_value_is_a_config_or_refused(value: Any) -> None:
    for version in (RAY, ""):
        try:
            config = parse(value, version)
        except ServeConfigError:
            continue
        assert isinstance(config, ServeConfig)
        assert parse(config.payload, version).payload == config.payload
        assert parse(config.text, version).digest == config.digest
