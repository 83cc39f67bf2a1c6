# Every target needs only python3 (with venv) and make; each makes what it needs in .venv.
PY := .venv/bin/python
SUITE := $(PY) -m pytest -p no:cacheprovider

.PHONY: demo test test-ray test-kube lint bench down clean lock record

.venv/run.stamp: locks/run.txt pyproject.toml
	@python3 -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Rayward needs Python 3.11 or newer; python3 is " + sys.version.split()[0])'
	@test -x $(PY) || python3 -m venv .venv
	@echo "installing Rayward into .venv (once)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r locks/run.txt
	@$(PY) -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation --editable . 
	@touch $@

.venv/dev.stamp: .venv/run.stamp locks/dev.txt
	@echo "installing test and lint tools into .venv (once)"
	@$(PY) -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r locks/dev.txt
	@touch $@
