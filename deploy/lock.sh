#!/bin/sh
# Resolves pyproject.toml and sdk/python/pyproject.toml into the two hashed locks, for every Python and
# system at once. uv is used for this alone, in an environment that is thrown away; pip installs the locks.
# LOCK_ARGS="--upgrade" takes newer releases, LOCK_ARGS="--upgrade-package flask" one.
set -eu

cd "$(dirname "$0")/.."
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
sh deploy/bootstrap.sh runtime
.venv/bin/python -m pip install --quiet --disable-pip-version-check --target "$scratch" 'uv==0.13.9'

compile() {
    # shellcheck disable=SC2086 # LOCK_ARGS is a list of words
    "$scratch/bin/uv" pip compile --quiet pyproject.toml sdk/python/pyproject.toml --group build \
        --universal --python-version 3.11 --generate-hashes --no-header ${LOCK_ARGS:-} "$@"
}

compile --group dev -o requirements-dev.lock
compile -c requirements-dev.lock -o requirements.lock  # the same versions in both
