# Sourced by the other scripts: finds the checkout and makes .venv from a hashed lock.
#
#   ensure_env demo|dev   installs requirements/SET.txt and the checkout itself into .venv; does nothing
#                         when that was done before for the same lock, checkout and Python
#   ensure_extras         adds requirements/extras.txt, what optional rooms need (after ensure_env dev); where
#                         that cannot be had, says so, and the tests of those rooms are skipped
#
# Sets: root (the checkout), python (the one in .venv). UNSPOOL_PYTHON names the Python to build on.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd -P)
venv=$root/.venv
python=$venv/bin/python
# What a caller has set for another project must not decide what runs here. Modules are compiled once: tests start
# hundreds of interpreters.
unset PYTHONPATH PYTHONHOME VIRTUAL_ENV PYTHONDONTWRITEBYTECODE

# uv's own installer puts it where PATH often does not lead.
export PATH=$PATH:${HOME:-}/.local/bin:${HOME:-}/.cargo/bin

say() { printf '%s\n' "$*" >&2; }

# Prints the first Python that is new enough. Each is run, since a pyenv shim may be there and not work.
find_python() {
    local candidate
    for candidate in ${UNSPOOL_PYTHON:+"$UNSPOOL_PYTHON"} python3 python3.13 python3.12 python3.11 python; do
        if "$candidate" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
            printf '%s' "$candidate"
            return 0
        fi
    done
    return 1
}

make_venv() {
    local base
    if base=$(find_python); then
        if "$base" -m venv --clear "$venv" >&2; then return 0; fi
        say "python3 -m venv does not work here (on Debian and Ubuntu: apt-get install python3-venv)."
    fi
    if command -v uv >/dev/null; then # finds, or fetches, a Python of its own
        uv venv --quiet --seed --clear --python '>=3.11,<3.14' "$venv"
        return
    fi
    say "unspool needs Python 3.11 or newer with venv. Install it, or set UNSPOOL_PYTHON=/path/to/python3."
    return 1
}

# install ARGS… : uv where it is there (fast; without a network from its cache), else the pip of the
# venv. uv does not read pip's settings (mirrors, proxies), so pip has a go where uv fails.
install() {
    if command -v uv >/dev/null; then
        if uv pip install --offline --quiet --python "$python" "$@" 2>/dev/null; then return 0; fi
        if uv pip install --quiet --python "$python" "$@"; then return 0; fi
        say "uv could not install; trying pip"
        # uv has tried the network several times: a mirror that pip alone knows need not wait for it at each package.
        export PIP_RETRIES="${PIP_RETRIES:-1}"
    fi
    "$python" -m pip install -qq --disable-pip-version-check --no-input "$@"
}

env_key() {
    printf '%s\n' "$root"
    "$python" -c 'import sys; print(sys.version, sys.prefix)'
    cat "$root/requirements/$1.txt" "$root/pyproject.toml"
}

env_is_current() {
    [ -x "$python" ] && [ -f "$venv/.unspool-$1" ] \
        && [ "$(env_key "$1" 2>/dev/null | cksum)" = "$(cat "$venv/.unspool-$1")" ]
}

lock_env() { # two scripts at once: the second waits
    mkdir -p "$root/.cache"
    exec 9>"$root/.cache/env.lock"
    if command -v flock >/dev/null; then flock 9; fi
}

ensure_env() {
    local set=$1
    lock_env
    # dev holds all of demo
    if ! env_is_current dev && ! env_is_current "$set"; then
        say "Setting up .venv from requirements/$set.txt (once; a minute or two)"
        "$python" -c 'import pip, sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || make_venv
        install --require-hashes --no-deps -r "$root/requirements/$set.txt"
        install --no-deps --no-build-isolation -e "$root"
        # uv compiles nothing, and a sandbox may write nothing: without this every start of one compiles it all again.
        "$python" -c 'from unspool.sandbox._warm import WARM, warm_up; warm_up(WARM)'
        env_key "$set" | cksum >"$venv/.unspool-$set"
    fi
    exec 9>&-
}

ensure_extras() {
    local stamp=$venv/.unspool-extras done_for
    lock_env
    done_for=$(env_key extras | cksum)
    # What failed is not tried again for the same lock: each try would take as long.
    if [ "$done_for" != "$(head -n 1 "$stamp" 2>/dev/null)" ]; then
        printf '%s\n' "$done_for" >"$stamp"
        install --require-hashes --no-deps -r "$root/requirements/extras.txt" 2>"$root/.cache/extras.log" \
            || echo "not installed" >>"$stamp"
    fi
    if [ "$(sed -n 2p "$stamp")" ]; then
        say "Not installed: requirements/extras.txt (why: .cache/extras.log; to try again: rm $stamp)."
        say "Tests of MCP, Jupyter, images and the like are skipped."
    fi
    exec 9>&-
}
