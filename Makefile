# Every target needs only python3 (3.11 or newer, with venv) and make; each makes what it needs in .venv.
PY := .venv/bin/python
# On a busy machine of yours: `make test RERUNS=1` tries a test that failed once more, and shows why it failed.
RERUNS ?= 0
# Tests start hundreds of programs of ours, and each would compile all of Rayward anew where this is set.
export PYTHONDONTWRITEBYTECODE :=
PYTEST := $(PY) -m pytest -q -p no:cacheprovider --reruns $(RERUNS) -r fERs --durations 30 --durations-min 5
LOCK := uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header --quiet

.PHONY: demo test test-ray test-kube soak lint bench bench-upgrade bench-jobs bench-joining bench-quota bench-recorder down clean lock record record-ray

.venv/run.stamp: locks/run.txt pyproject.toml
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rayward needs Python 3.11 or newer; python3 is " + sys.version.split()[0])'
	@test -x $(PY) || python3 -m venv .venv
	@echo "installing Rayward into .venv (once)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r locks/run.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable .
	@touch $@

.venv/dev.stamp: .venv/run.stamp locks/dev.txt
	@echo "installing the test and lint tools into .venv (once)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r locks/dev.txt
	@touch $@

# Real Ray lives beside Rayward: the default image of a pod is the environment Rayward runs in.
.venv/ray.stamp: .venv/run.stamp locks/ray.txt
	@echo "installing Ray into .venv (once)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r locks/ray.txt
	@touch $@

# The main job: Kubernetes comes up, a Ray cluster computes, a service is upgraded under load.
demo: .venv/run.stamp .venv/ray.stamp
	@$(PY) -m demo.run

# Everything that needs PyPI alone. Five at once on two cores: half of them wait for programs that they started.
test: .venv/dev.stamp .venv/ray.stamp
	@$(PYTEST) -n 5 --dist worksteal -m "not kube and not ray and not soak" tests

# The long suites on real Ray.
test-ray: .venv/dev.stamp .venv/ray.stamp
	@$(PYTEST) -s -m "ray and not soak" tests/ray

# Whatever needs Go: real Kubernetes, kubectl, KubeRay's operator, also with real Ray.
test-kube: .venv/dev.stamp .venv/ray.stamp
	@$(PY) -m tests.kube.real.build
	@$(PYTEST) -n 3 --dist loadfile --no-loadscope-reorder -m "kube and not soak" tests

# The same suites at length: hours, before a release.
soak: .venv/dev.stamp .venv/ray.stamp
	@$(PY) -m tests.kube.real.build
	@$(PYTEST) -s -m soak tests

lint: .venv/dev.stamp
	@.venv/bin/ruff check src tests bench demo tools
	@.venv/bin/ruff format --check --quiet src tests bench demo tools
	@.venv/bin/basedpyright
	@.venv/bin/lint-imports
	@.venv/bin/deptry src

bench: .venv/dev.stamp
	@$(PY) -m tests.kube.real.build
	@$(PY) -m bench

# Upgrades under load with real Ray: our operator beside KubeRay's.
bench-upgrade: .venv/dev.stamp .venv/ray.stamp
	@$(PY) -m tests.kube.real.build
	@$(PY) -m bench.upgrade

# 500 RayJobs at once with simulated Ray, then ten in turn with real Ray: our operator beside KubeRay's.
bench-jobs: .venv/dev.stamp .venv/ray.stamp
	@$(PY) -m tests.kube.real.build
	@failed=0; $(PY) -m bench.jobs || failed=1; $(PY) -m bench.joblatency || failed=1; exit $$failed

# Workers that join a cluster of real Ray, idle and with all cores busy: our init container beside KubeRay's; then a crowd.
bench-joining: .venv/dev.stamp .venv/ray.stamp
	@$(PY) -m bench.joining

# Kueue's own benchmark: our engine beside Kueue; then 200 upgrades that wait for quota.
bench-quota: .venv/dev.stamp
	@$(PY) -m tests.kube.real.build
	@$(PY) -m bench.kueueharness
	@$(PY) -m bench.storm

# Ten minutes of 1,000 RayClusters that change once a minute: what recording them costs the operator's process.
bench-recorder: .venv/dev.stamp
	@$(PY) -m bench.recorder

down:
	@if [ -x .venv/bin/rayward ]; then .venv/bin/rayward down --data-dir .cache/demo --purge; fi

clean: down
	@rm -rf .venv .cache build dist .pytest_cache .ruff_cache .hypothesis .import_linter_cache

# For maintainers: pin newer dependencies, record the real server's answers again.
lock:
	@$(LOCK) pyproject.toml --group build -o locks/run.txt
	@$(LOCK) pyproject.toml --group dev --group build -c locks/run.txt -o locks/dev.txt
	@$(LOCK) --group ray -c locks/run.txt -c locks/dev.txt -o locks/ray.txt

record-ray: .venv/dev.stamp .venv/ray.stamp
	@$(PY) -m tests.ray.record

record: .venv/dev.stamp
	@$(PY) -m tests.kube.real.build
	@$(PY) -m tests.kube.record
	@$(PY) -m tests.contract record
	@$(PY) -m tests.kube.kuberay
