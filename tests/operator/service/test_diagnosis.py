"""A user reads the cause first: the exception, then where their own code raised it."""

from __future__ import annotations

from typing import Final

import pytest

from rayward.operator.ray import answers
from rayward.operator.service.diagnosis import cause_of, detail_of, message_of, plain, summary, waits_for
from rayward.operator.service.readiness import readiness_of
from rayward.operator.service.state import Application, ChildCluster, ServeState

_IMPORT: Final = """\
Deploying app 'shop' failed with exception:
Traceback (most recent call last):
  File "/home/ray/anaconda3/lib/python3.12/site-packages/ray/serve/_private/application_state.py", line 1210, in build
    app = call_user_app_builder(import_attr(import_path))
  File "/home/ray/anaconda3/lib/python3.12/importlib/__init__.py", line 90, in import_module
    return _bootstrap._gcd_import(name[level:], package, level)
  File "<frozen importlib._bootstrap>", line 1387, in _gcd_import
  File "/code/shop.py", line 1, in <module>
    import nope
ModuleNotFoundError: No module named 'nope'
"""
_CONSTRUCTOR: Final = """\
The deployment failed to start 3 times in a row. See controller logs for details. Error:
\x1b[36mray::ServeReplica:shop:Model.initialize_and_get_metadata()\x1b[39m (pid=7, ip=10.0.0.1)
Traceback (most recent call last):
  File "/usr/lib/python3/dist-packages/ray/serve/_private/replica.py", line 1000, in initialize
    await self._user_callable_wrapper.initialize_callable()
  File "/code/model.py", line 12, in __init__
    raise RuntimeError("the weights are missing")
RuntimeError: the weights are missing
"""
_CHAINED: Final = """\
Traceback (most recent call last):
  File "/code/a.py", line 3, in load
KeyError: 'x'

During handling of the above exception, another exception occurred:

Traceback (most recent call last):
  File "/code/b.py", line 4, in __init__
my.errors.Broken: no weights for x
"""
_PYDANTIC: Final = """\
A replica failed to start with exception. Retrying 2 more time(s). Error:
\x1b[36mray::ServeReplica:shop:Model.initialize_and_get_metadata()\x1b[39m (pid=7, ip=10.0.0.1)
  File "/opt/lib/python3.11/concurrent/futures/_base.py", line 449, in result
    return self.__get_result()
  File "/opt/lib/python3.11/site-packages/ray/serve/_private/replica.py", line 1928, in initialize
    raise RuntimeError(traceback.format_exc()) from None
RuntimeError: Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/ray/serve/_private/replica.py", line 4008, in _call_func_or_gen
    result = callable(*args, **kwargs)
             ^^^^^^^^^^^^^^^^^^^^^^^^^
  File "/code/model.py", line 9, in __init__
    self.settings = Settings(x="a")
                    ^^^^^^^^^^^^^^^
  File "/opt/lib/python3.11/site-packages/pydantic/main.py", line 280, in __init__
    validated_self = self.__pydantic_validator__.validate_python(data, self_instance=self)
pydantic_core._pydantic_core.ValidationError: 2 validation errors for Settings
x
  Input should be a valid integer [type=int_parsing, input_value='a', input_type=str]
    For further information visit https://errors.pydantic.dev/2.14/v/int_parsing
y
  Field required [type=missing, input_value={'x': 'a'}, input_type=dict]
    For further information visit https://errors.pydantic.dev/2.14/v/missing
"""
_GROUP: Final = """\
RuntimeError:   + Exception Group Traceback (most recent call last):
  |   File "/opt/lib/python3.11/site-packages/ray/serve/_private/replica.py", line 4008, in _call_func_or_gen
  |     result = callable(*args, **kwargs)
  |              ^^^^^^^^^^^^^^^^^^^^^^^^^
  |   File "/code/model.py", line 11, in __init__
  |     async with asyncio.TaskGroup() as group:
  | ExceptionGroup: unhandled errors in a TaskGroup (2 sub-exceptions)
  +-+---------------- 1 ----------------
%s
    +---------------- 2 ----------------
    | KeyError: 'k'
    +------------------------------------
"""
_MEMBER: Final = """\
    | Traceback (most recent call last):
    |   File "/code/load.py", line 3, in load
    |     raise ValueError("no weights")
    | ValueError: no weights"""
_NESTED: Final = """\
    | ExceptionGroup: inner (2 sub-exceptions)
    +-+---------------- 1 ----------------
      | OSError: no disk
      +---------------- 2 ----------------
      | OSError: no room
      +------------------------------------"""
_PIP: Final = """\
Runtime env setup for app 'shop' failed:
Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/ray/_private/worker.py", line 1055, in get_objects
    raise value
ray.exceptions.RuntimeEnvSetupError: Failed to set up runtime environment.
[Node 10.0.0.1] Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/ray/_private/runtime_env/utils.py", line 105, in check_output_cmd
    raise SubprocessCalledProcessError(
ray._private.runtime_env.utils.SubprocessCalledProcessError: Run cmd[9] failed with the following details.
Command '['/tmp/ray/virtualenv/bin/python', '-m', 'pip', 'install']' returned non-zero exit status 1.
Last 50 lines of stdout:
    ERROR: Could not find a version that satisfies the requirement nosuchpackage==9 (from versions: none)
    ERROR: No matching distribution found for nosuchpackage==9
"""
_WORKING_DIR: Final = """\
Exception when allocating Replica(id='7', deployment='Model', app='shop'): Failed to set up runtime environment.
[Node 10.0.0.1] Traceback (most recent call last):
  File "/opt/lib/python3.11/site-packages/smart_open/http.py", line 195, in __init__
    self.response = self.session.get(
  File "/opt/lib/python3.11/site-packages/requests/models.py", line 1024, in raise_for_status
    raise HTTPError(http_error_msg, response=self)
requests.exceptions.HTTPError: 404 Client Error: Not Found for url: https://example.com/code.zip
"""
_OWN_FOLDER: Final = """\
Traceback (most recent call last):
  File "/code/ray/serve/lib/python3.11/shop.py", line 5, in <module>
  File "/opt/lib/python3.11/importlib/__init__.py", line 126, in import_module
ValueError: no such shop"""
_MANY_LINES: Final = """\
Traceback (most recent call last):
  File "/code/model.py", line 5, in __init__
RuntimeError: no weights
in any of
bucket: empty
disk: empty"""
_NEXT_LINE: Final = """\
Traceback (most recent call last):
  File "/code/model.py", line 5, in __init__
ImportError:
  This model needs flash_attn"""


@pytest.mark.parametrize(
    ("text", "cause"),
    [
        pytest.param(_IMPORT, "ModuleNotFoundError: No module named 'nope' (/code/shop.py:1)", id="a missing module"),
        pytest.param(_CONSTRUCTOR, "RuntimeError: the weights are missing (/code/model.py:12)", id="a constructor"),
        pytest.param(_CHAINED, "my.errors.Broken: no weights for x (/code/b.py:4)", id="the last of a chain"),
        pytest.param("Traceback (most recent call last):\nValueError: no frame", "ValueError: no frame", id="no frame"),
        pytest.param("Traceback (most recent call last):", "", id="cut off"),
        pytest.param("The deployment is waiting for resources.", "", id="no exception"),
        pytest.param(
            _PYDANTIC,
            "ValidationError: 2 validation errors for Settings: x: Input should be a "
            "valid integer [type=int_parsing, input_value='a', input_type=str] (/code/model.py:9)",
            id="the first field that is not valid",
        ),
        pytest.param(_GROUP % _MEMBER, "ValueError: no weights (/code/load.py:3)", id="the first of a group"),
        pytest.param(_GROUP % "    | OSError: no", "OSError: no (/code/model.py:11)", id="one that was never raised"),
        pytest.param(_GROUP % _NESTED, "OSError: no disk (/code/model.py:11)", id="a group in a group"),
        pytest.param(
            f"{_GROUP % _MEMBER}\n{_CHAINED}", "my.errors.Broken: no weights for x (/code/b.py:4)", id="later"
        ),
        pytest.param(
            _PIP, "RuntimeEnvSetupError: No matching distribution found for nosuchpackage==9", id="what pip says"
        ),
        pytest.param(
            _WORKING_DIR,
            "RuntimeEnvSetupError: requests.exceptions.HTTPError: 404 Client Error: Not Found for url: "
            "https://example.com/code.zip",
            id="an archive that is not there",
        ),
        pytest.param(
            "Failed to set up runtime environment.\nIt timed out",
            "RuntimeEnvSetupError: It timed out",
            id="an environment that took too long",
        ),
        pytest.param(
            "Failed to set up runtime environment.\n" + "\n" * 500_000 + "It timed out",
            "RuntimeEnvSetupError: It timed out",
            id="so many empty lines that each must be read once",
        ),
        pytest.param(
            _OWN_FOLDER, "ValueError: no such shop (/code/ray/serve/lib/python3.11/shop.py:5)", id="a folder like Ray's"
        ),
        pytest.param(_MANY_LINES, "RuntimeError: no weights (/code/model.py:5)", id="a message of many lines"),
        pytest.param(
            _NEXT_LINE, "ImportError: This model needs flash_attn (/code/model.py:5)", id="a message below its name"
        ),
    ],
)
def test_the_cause_is_the_exception_and_the_users_own_frame(text: str, cause: str) -> None:
    assert cause_of(text) == cause


def test_colours_are_removed() -> None:
    assert "\x1b" not in plain(_CONSTRUCTOR)
    assert "ray::ServeReplica:shop:Model" in plain(_CONSTRUCTOR)


def test_a_condition_says_the_cause_and_what_to_do_in_one_line() -> None:
    assert summary(_IMPORT, "shop") == (
        "ModuleNotFoundError: No module named 'nope' (/code/shop.py:1). Add the module to the image or to runtime_env, "
        "or correct the import; whole traceback: rayward describe rayservice shop"
    )
    assert summary(_CONSTRUCTOR, "") == (
        "RuntimeError: the weights are missing (/code/model.py:12). "
        "Correct the code or the Serve config and apply it again"
    )


def test_an_environment_that_cannot_be_made_is_corrected_in_runtime_env() -> None:
    assert "Correct runtime_env in the Serve config and apply it again;" in summary(_PIP, "shop")
    assert "Correct runtime_env in the Serve config and apply it again;" in summary(_WORKING_DIR, "shop")


def test_a_text_without_a_cause_is_shortened_to_its_end() -> None:
    assert summary("The deployment\n waits for \x1b[1mresources\x1b[0m.", "shop") == (
        "The deployment waits for resources."
    )
    assert len(summary("x" * 5000, "shop")) < 1000


def test_the_whole_traceback_is_kept_apart_without_colours() -> None:
    assert detail_of(_CONSTRUCTOR) == plain(_CONSTRUCTOR)
    assert detail_of("no exception") == ""


def test_a_traceback_longer_than_a_condition_begins_with_a_whole_line_and_says_what_is_left_out() -> None:
    assert detail_of(_IMPORT * 20) == plain(_IMPORT * 20)
    whole = plain(_IMPORT * 100)
    said, *kept = detail_of(whole).splitlines()
    assert len(detail_of(whole)) < 25_000
    assert said.startswith("[the first ")
    assert "log of Serve's controller" in said
    assert kept == whole.splitlines()[-len(kept) :]
    assert f"first {len(whole.splitlines()) - len(kept)} lines" in said


def test_packages_that_ray_installs_are_named_while_it_does() -> None:
    config = {"runtime_env": {"pip": ["nosuchpackage==9"]}}
    installing = waits_for(answers.Application("DEPLOYING", deployed_app_config=config))
    assert installing.startswith("Ray installs pip packages nosuchpackage==9 (a failure is told after 3 attempts)")
    config = {"runtime_env": {"pip": {"packages": ["nosuchpackage==9"]}}}
    assert waits_for(answers.Application("DEPLOYING", deployed_app_config=config)) == installing


def test_a_failed_application_says_its_cause_and_keeps_the_traceback() -> None:
    serve = ServeState("config", (Application("shop", "DEPLOY_FAILED", _CONSTRUCTOR),))
    cluster = ChildCluster(
        "c", "hash", "config", service="shop", head_ready=True, serve=serve, applications=frozenset({"shop"})
    )

    readiness = readiness_of(cluster)

    assert "\n" not in readiness.message
    assert readiness.message.startswith(
        "Application shop is DEPLOY_FAILED: RuntimeError: the weights are missing (/code/model.py:12). Correct"
    )
    assert readiness.detail == plain(_CONSTRUCTOR)


@pytest.mark.parametrize(
    ("message", "deployments", "says"),
    [
        pytest.param("Failed to update the deployments ['Model'].", [_CONSTRUCTOR], _CONSTRUCTOR, id="a deployment's"),
        pytest.param(_IMPORT, ["another"], _IMPORT, id="its own"),
        pytest.param("its own", ["another"], "its own", id="its own without a cause"),
        pytest.param("", ["one", "two"], "one; two", id="all of its deployments"),
    ],
)
def test_an_application_reports_the_message_that_has_the_cause(message: str, deployments: list[str], says: str) -> None:
    assert message_of(message, deployments) == says


_DIED = "A replica failed to start with exception. Error:\nActorUnavailableError('The actor 7e is unavailable')"


def test_a_replica_whose_process_died_is_said_to_have_died() -> None:
    found = message_of("Failed to update the deployments ['Hello'].", ["", _DIED])
    assert found == _DIED
    assert summary(found, "shop") == (
        "The process of a replica died before it was ready. It ran out of memory, called exit or crashed in native "
        "code; its log: rayward logs rayservice/shop"
    )


@pytest.mark.parametrize(
    ("deployments", "says"),
    [
        ({}, "Ray installs its runtime_env or imports its code"),
        ({"A": "HEALTHY", "B": "UPDATING"}, "replicas of deployment B are starting"),
        ({"A": "HEALTHY"}, ""),
    ],
)
def test_what_an_application_waits_for_is_said_where_ray_says_nothing(deployments: dict[str, str], says: str) -> None:
    found = {name: answers.Deployment(status) for name, status in deployments.items()}
    assert waits_for(answers.Application("DEPLOYING", deployments=found)) == says
