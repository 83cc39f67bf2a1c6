from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rayward.kinds.raycronjob import RayCronJob
from rayward.kinds.rayjob import RayJob
from rayward.operator.cronjob.decide import Decision, decide, held_up
from tests.operator.service import verdicts

BORN = "2026-01-01T00:00:00Z"


def at(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def cron_job(last: str | None = None, annotations: dict[str, str] | None = None, **spec: Any) -> RayCronJob:
    return msgspec.convert(
        {
            "metadata": {
                "name": "t",
                "namespace": "default",
                "uid": "u",
                "generation": 3,
                "creationTimestamp": BORN,
                "annotations": annotations or {},
            },
            "spec": {"schedule": "0 * * * *", "jobTemplate": {"entrypoint": "run"}, **spec},
            "status": {"lastScheduleTime": last} if last else {},
        },
        RayCronJob,
    )


def ray_job(name: str, status: str = "Running", job_status: str = "RUNNING", ended: str = "", tick: str = "") -> RayJob:
    told = {"jobDeploymentStatus": status, "jobStatus": job_status, **({"endTime": ended} if ended else {})}
    annotations = {"ray.io/cronjob-scheduled-timestamp": tick} if tick else {}
    return msgspec.convert(
        {"metadata": {"name": name, "uid": name, "annotations": annotations}, "status": told}, RayJob
    )


def created(decision: Decision) -> list[str]:
    return [creation.tick.strftime("%d %H:%M") if creation.tick else "asked" for creation in decision.create]


@pytest.mark.parametrize(
    ("last", "now", "spec", "makes"),
    [
        pytest.param(None, "2026-01-01 00:59", {}, [], id="before the first tick"),
        pytest.param(None, "2026-01-01 01:00", {}, ["01 01:00"], id="the first tick"),
        pytest.param("2026-01-01T01:00:00Z", "2026-01-01 01:30", {}, [], id="between ticks"),
        pytest.param("2026-01-01T01:00:00Z", "2026-01-01 02:00", {}, ["01 02:00"], id="the next tick"),
        pytest.param(
            "2026-01-01T01:00:00Z", "2026-01-03 07:20", {}, ["03 07:00"], id="of missed ticks the latest, once"
        ),
        pytest.param(
            "2026-01-01T01:00:00Z",
            "2026-01-03 07:20",
            {"startingDeadlineSeconds": 600},
            [],
            id="too late for its deadline",
        ),
        pytest.param(
            "2026-01-01T01:00:00Z",
            "2026-01-03 07:09",
            {"startingDeadlineSeconds": 600},
            ["03 07:00"],
            id="just in time",
        ),
        pytest.param(
            None, "2026-01-03 07:20", {}, ["03 07:00"], id="never scheduled, by KubeRay's rule since its creation"
        ),
        pytest.param(
            None, "2026-01-03 07:20", {"startingDeadlineSeconds": 600}, [], id="never scheduled, and too late"
        ),
        pytest.param("2026-01-01T01:00:00Z", "2026-01-01 02:00", {"suspend": True}, [], id="suspended"),
        pytest.param(
            "2026-01-05T01:00:00Z", "2026-01-01 02:00", {}, [], id="a clock that was set back makes nothing again"
        ),
    ],
)
def test_what_is_due_is_made_once(last: str | None, now: str, spec: dict[str, Any], makes: list[str]) -> None:
    decision = decide(cron_job(last, **spec), [], "", at(now))
    assert created(decision) == makes


@pytest.mark.parametrize(
    ("now", "told"),
    [
        pytest.param("2026-01-04 02:00", ["FutureScheduleTime"], id="far"),
        pytest.param("2026-01-05 00:59:30", [], id="as far as clocks may differ"),
        pytest.param("2026-01-05 01:30", [], id="not at all"),
    ],
)
def test_a_clock_that_was_set_back_is_told(now: str, told: list[str]) -> None:
    """Nothing runs until the clock has come so far again, and nobody would know why."""
    decision = decide(cron_job("2026-01-05T01:00:00Z"), [], "", at(now))
    assert [reason for reason, _ in decision.events] == told
    assert decision.wake_at == at("2026-01-05 02:00")


@pytest.mark.parametrize(
    ("policy", "makes", "deletes", "moves_on"),
    [("Allow", 1, 0, True), ("Forbid", 0, 0, False), ("Replace", 1, 1, True)],
)
def test_what_a_tick_does_while_a_job_runs(policy: str, makes: int, deletes: int, moves_on: bool) -> None:
    last, now = "2026-01-01T01:00:00Z", at("2026-01-01 02:00")
    for given_by in (
        cron_job(last, concurrencyPolicy=policy),
        cron_job(last, annotations={"rayward.dev/concurrency-policy": policy}),
    ):
        decision = decide(given_by, [ray_job("old")], "", now)
        assert (len(decision.create), len(decision.delete)) == (makes, deletes)
        assert (decision.status.last_schedule_time != last) is moves_on
    assert decide(given_by, [ray_job("old", "Complete", "SUCCEEDED")], "", now).create, (
        "one that ended is in nobody's way"
    )


@pytest.mark.parametrize(
    ("phase", "makes"),
    [
        pytest.param("Suspended", 0, id="not finished, as a Kubernetes Job that is suspended"),
        pytest.param("ValidationFailed", 1, id="never ends by itself"),
        pytest.param("Retrying", 0, id="between two attempts"),
        pytest.param("", 0, id="just made"),
    ],
)
def test_what_holds_back_a_tick_that_may_not_overlap(phase: str, makes: int) -> None:
    last, now = "2026-01-01T01:00:00Z", at("2026-01-01 02:00")
    decision = decide(cron_job(last, concurrencyPolicy="Forbid"), [ray_job("old", phase, "")], "", now)
    assert len(decision.create) == makes
    assert [one.name for one in decision.status.active or ()] == ["old"] * (1 - makes)


def test_a_rejected_job_counts_as_a_failed_one_of_the_history() -> None:
    kept = cron_job("2026-02-01T00:00:00Z", failedJobsHistoryLimit=1)
    jobs = [ray_job("rejected", "ValidationFailed", ""), ray_job("f", "Failed", "FAILED", "2026-01-02T00:00:00Z")]
    assert [job.metadata.name for job in decide(kept, jobs, "", at("2026-02-01 00:00")).delete] == ["rejected"]


@pytest.mark.parametrize("policy", ["Allow", "Forbid", "Replace"])
def test_a_tick_whose_job_is_there_is_not_made_again(policy: str) -> None:
    """Its operator died after it had made the RayJob and before the status was written."""
    cut_off = cron_job("2026-01-01T01:00:00Z", concurrencyPolicy=policy, startingDeadlineSeconds=60)
    jobs = [
        ray_job("t", tick="2026-01-01T02:00:00Z"),
        ray_job("asked"),
        *(ray_job("edited", tick=tick) for tick in ("2999-01-01T00:00:00Z", "no time")),
    ]
    for now in (at("2026-01-01 02:00"), at("2026-01-01 02:05")):
        decision = decide(cut_off, jobs, "", now)
        assert (decision.create, decision.delete, decision.events) == ((), (), ())
        assert decision.status.last_schedule_time == "2026-01-01T02:00:00Z"
        assert decision.wake_at == at("2026-01-01 03:00")


def test_a_forbidden_tick_is_made_up_for_when_the_job_ends_in_time() -> None:
    waiting = cron_job("2026-01-01T01:00:00Z", concurrencyPolicy="Forbid", startingDeadlineSeconds=600)
    ended = [ray_job("old", "Failed", "FAILED")]
    assert created(decide(waiting, ended, "", at("2026-01-01 02:05"))) == ["01 02:00"]
    assert created(decide(waiting, ended, "", at("2026-01-01 02:15"))) == []


def test_history_keeps_the_latest_of_each_end() -> None:
    jobs = [ray_job(f"s{day}", "Complete", "SUCCEEDED", f"2026-01-0{day}T00:00:00Z") for day in (3, 1, 2)]
    jobs += [ray_job(f"f{day}", "Failed", "FAILED", f"2026-01-0{day}T00:00:00Z") for day in (2, 1)]
    kept = cron_job("2026-02-01T00:00:00Z", successfulJobsHistoryLimit=1, failedJobsHistoryLimit=0)
    decision = decide(kept, jobs, "", at("2026-02-01 00:00"))
    assert [job.metadata.name for job in decision.delete] == ["s1", "s2", "f1", "f2"]
    assert decide(cron_job("2026-02-01T00:00:00Z"), jobs, "", at("2026-02-01 00:00")).delete == ()
    assert decision.status.last_successful_time == "2026-01-03T00:00:00Z"


def test_annotations_count_where_the_definition_lacks_the_fields() -> None:
    jobs = [ray_job(f"s{day}", "Complete", "SUCCEEDED", f"2026-01-0{day}T00:00:00Z") for day in (2, 1)]
    jobs += [ray_job("f1", "Failed", "FAILED", "2026-01-01T00:00:00Z")]
    limits = {"rayward.dev/successful-jobs-history-limit": "1", "rayward.dev/failed-jobs-history-limit": "0"}
    kept = decide(cron_job("2026-02-01T00:00:00Z", limits), jobs, "", at("2026-02-01 00:00"))
    assert [job.metadata.name for job in kept.delete] == ["s1", "f1"]
    late = cron_job("2026-01-01T01:00:00Z", {"rayward.dev/starting-deadline-seconds": "600"})
    assert created(decide(late, [], "", at("2026-01-01 02:09"))) == ["01 02:00"]
    assert created(decide(late, [], "", at("2026-01-01 02:11"))) == []


def test_a_run_that_is_asked_for_comes_at_once_and_has_a_name_of_its_own() -> None:
    asking = cron_job("2026-01-01T01:00:00Z", {"rayward.dev/run-now": "please"}, suspend=True)
    decision = decide(asking, [], "", at("2026-01-01 01:30"))
    assert created(decision) == ["asked"]
    assert decision.asked == "please"
    again = decide(asking, [], "", at("2026-01-01 01:31"))
    assert again.create == decision.create, "the same request is the same job"
    other = cron_job("2026-01-01T01:00:00Z", {"rayward.dev/run-now": "again"})
    assert decide(other, [], "", at("2026-01-01 01:30")).create[0].name != decision.create[0].name
    assert len(decision.create[0].name) == len("t-run-123456")


def test_names_are_kuberays_and_one_tick_has_one_name() -> None:
    decision = decide(cron_job(), [], "", at("2026-01-01 01:00"))
    minutes = int(at("2026-01-01 01:00").timestamp()) // 60
    assert decision.create[0].name == f"t-{minutes}"
    quick = decide(cron_job(schedule="@every 30s"), [], "", at("2026-01-01 00:00:31"))
    assert quick.create[0].name == f"t-{int(at('2026-01-01 00:00:30').timestamp())}"


def test_an_invalid_spec_makes_nothing_and_says_so() -> None:
    decision = decide(cron_job(schedule="never"), [], "spec.schedule: no", at("2026-01-01 02:00"))
    assert decision.create == ()
    stalled = next(each for each in decision.status.conditions or () if each.type == "Stalled")
    assert (stalled.status, stalled.reason) == ("True", "ValidationFailed")


@pytest.mark.parametrize(
    ("problems", "suspended", "refused", "expected"),
    [
        pytest.param("", False, "", ("Current", "Healthy"), id="runs"),
        pytest.param("", True, "", ("Current", "Suspended"), id="suspended"),
        pytest.param("spec.schedule: no", False, "", ("Failed", "Degraded"), id="rejected"),
        pytest.param("spec.schedule: no", True, "", ("Failed", "Degraded"), id="rejected while it is suspended"),
        pytest.param("", False, "exceeded quota", ("InProgress", "Progressing"), id="its RayJob is refused"),
    ],
)
def test_tools_conclude_what_a_schedule_says(
    problems: str, suspended: bool, refused: str, expected: tuple[str, str]
) -> None:
    found, now = cron_job(suspend=suspended), at("2026-01-01 00:10")
    status = decide(found, [], problems, now).status
    if refused:
        status = held_up(found, status, refused, now)
    written = msgspec.to_builtins(msgspec.structs.replace(found, status=status))
    assert (verdicts.kstatus(written), verdicts.argocd(written)[0]) == expected
    assert verdicts.argocd(msgspec.to_builtins(found))[0] == "Progressing", "nobody has looked at it yet"


def test_daylight_saving_is_the_zones() -> None:
    zone, last = "Europe/Berlin", "2026-03-28T01:30:00Z"
    for nightly in (
        cron_job(last, schedule="30 2 * * *", timeZone=zone),
        cron_job(last, {"rayward.dev/time-zone": zone}, schedule="30 2 * * *"),
    ):
        assert created(decide(nightly, [], "", at("2026-03-29 01:00"))) == ["29 01:00"]


def test_a_tick_that_the_server_refuses_is_still_due_and_says_so() -> None:
    due = cron_job("2026-01-01T01:00:00Z")
    now = at("2026-01-01 02:00")
    status = held_up(due, decide(due, [], "", now).status, "exceeded quota", now)
    (said,) = (each for each in status.conditions or () if each.type == "Reconciling")
    assert (said.status, said.reason, said.message) == ("True", "FailedToCreateRayJob", "exceeded quota")
    refused = msgspec.structs.replace(due, status=status)
    later = now + timedelta(minutes=1)
    again = decide(refused, [], "", later)
    assert created(again) == ["01 02:00"]
    assert held_up(refused, again.status, "exceeded quota", later) == status
    made = decide(msgspec.structs.replace(due, status=status), [], "", now).status
    assert [each.status for each in made.conditions or () if each.type == "Reconciling"] == ["False"]


@given(
    schedule=st.sampled_from(["* * * * *", "*/7 * * * *", "0 3 * * *", "30 2 * * *", "@every 45s"]),
    zone=st.sampled_from([None, "Europe/Berlin", "America/New_York"]),
    steps=st.lists(st.integers(1, 200_000), max_size=20),
)
def test_no_tick_is_made_twice_and_none_from_the_future(schedule: str, zone: str | None, steps: list[int]) -> None:
    now, last, made = at("2026-03-20 00:00"), None, list[datetime]()
    for step in steps:
        now += timedelta(seconds=step)
        decision = decide(cron_job(last, schedule=schedule, timeZone=zone), [], "", now)
        assert len(decision.create) <= 1
        for creation in decision.create:
            assert creation.tick is not None
            assert creation.tick <= now
            assert creation.tick not in made
            made.append(creation.tick)
        last = decision.status.last_schedule_time
        assert decision.wake_at is not None
        assert decision.wake_at > now
