# Sourced by the scripts beside it, from the root of the repository.

# environment [EXTRAS]: makes .venv, or brings it up to date, with this package and these extras, such as "dev,torch".
environment() {
    local extras=${1-} python
    local installed=.venv/installed${extras:+-$extras}.toml
    if [ ! -x .venv/bin/pip ]; then
        python=$(newer_python)
        echo "Making .venv with $("$python" --version) ..."
        "$python" -m venv .venv
    fi
    if ! cmp --silent pyproject.toml "$installed"; then
        echo "Installing what it needs; this takes a minute or two the first time ..."
        .venv/bin/python -m pip install --quiet --no-input --disable-pip-version-check --editable ".${extras:+[$extras]}"
        cp pyproject.toml "$installed"
    fi
}

# Prints the first interpreter that is new enough; $PYTHON goes before all others.
newer_python() {
    local python
    for python in ${PYTHON:+"$PYTHON"} python3 python3.13 python3.12 python3.11; do
        if "$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            echo "$python"
            return
        fi
    done
    echo "Python 3.11 or newer is needed; set PYTHON to one" >&2
    return 1
}
