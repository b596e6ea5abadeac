#!/bin/sh
# Finds a Python that is new enough and hands over to bootstrap.py, with the arguments given here.
# A candidate is run, not only looked up: version managers leave commands on PATH that name no Python.
set -eu

here=$(dirname "$0")

for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 python3.14 python}; do
    if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
        exec "$candidate" "$here/bootstrap.py" "$@"
    fi
done

if [ -n "${PYTHON:-}" ]; then
    echo "restante needs Python 3.11 or newer, and PYTHON=$PYTHON is none." >&2
else
    found=$(python3 --version 2>/dev/null || echo "no python3 at all")
    echo "restante needs Python 3.11 or newer; on PATH there is $found." >&2
    echo "Install one (Debian, Ubuntu: apt install python3) or name it: make PYTHON=/path/to/python3.11 ..." >&2
fi
exit 1
