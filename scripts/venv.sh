# What scripts share that install a Python virtual environment; they source it.
#
#   venv DIR PACKAGES [ALONE]      installs packages from PyPI into an environment in DIR, and ALONE without what it asks for itself, and prints its Python.
#                                  What is there in the right version is left alone. What pip says is in DIR/setup.log.
venv() {
    local dir=$1 packages=$2 alone=${3:-}
    local all="$packages${alone:+ $alone}"
    if [ "$(cat "$dir/packages" 2>/dev/null)" != "$all" ]; then
        mkdir -p "$dir"
        # shellcheck disable=SC2086
        {
            python3 -m venv "$dir" &&
            "$dir/bin/python" -m pip install --disable-pip-version-check --no-input $packages &&
            if [ -n "$alone" ]; then
                "$dir/bin/python" -m pip install --disable-pip-version-check --no-input --no-deps "$alone"
            fi
        } >"$dir/setup.log" 2>&1 || return 1
        printf '%s' "$all" >"$dir/packages"
    fi
    echo "$(cd "$dir" && pwd)/bin/python"
}
