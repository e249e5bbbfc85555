#!/usr/bin/env bash
# Sets this checkout up: Debian packages, the osu018 cell library, Python packages into .venv.
# Takes what is there already; with nothing to do it is done at once. PYTHON=... picks a Python.
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { printf 'setup: %s\n' "$*"; }
has() { command -v "$1" >/dev/null; }

# Two of `make demo` and `make test` at a time: the second waits for the first one's set-up.
exec 9<scripts/upkeep/setup.sh
flock 9

# ---- Debian packages

packages=() losses=()
need() { # need PACKAGE WHAT-IT-IS-FOR
    packages+=("$1")
    losses+=("$(printf '%-18s %s' "$1" "$2")")
}

root=()
can_install() {
    has apt-get || return 1
    [ "$(id -u)" = 0 ] && return
    root=(sudo -n)
    has sudo && sudo -n true 2>/dev/null
}

install_packages() {
    if can_install; then
        say "installing Debian packages: ${packages[*]}"
        "${root[@]}" apt-get update -qq -o Acquire::Retries=3 || say "apt-get update failed"
        "${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq \
            --no-install-recommends -o Acquire::Retries=3 -o DPkg::Lock::Timeout=300 \
            -o Dpkg::Use-Pty=0 "${packages[@]}" >/dev/null && return
        say "apt-get could not install them; by hand:"
    else
        say "Debian packages are missing, and only root or sudo can install them:"
    fi
    say "    sudo apt-get update"
    say "    sudo apt-get install --no-install-recommends ${packages[*]}"
    say "going on; without them these do not work:"
    for loss in "${losses[@]}"; do say "    $loss"; done
}

# cocotb loads Python as a shared library, which Debian packages apart from the program.
shared_library() {
    "$1" - <<'PYTHON' 2>/dev/null
import ctypes, sys, sysconfig
name = f"libpython3.{sys.version_info[1]}.so.1.0"
for path in (f"{sysconfig.get_config_var('LIBDIR')}/{name}", name):
    try:
        sys.exit(not ctypes.CDLL(path))
    except OSError:
        pass
sys.exit(1)
PYTHON
}

usable() {
    "$1" -c 'import ensurepip, sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' 2>/dev/null
}

is_debians() {
    [[ $("$1" -c 'import os, sys; print(os.path.realpath(sys.executable))') == /usr/bin/* ]]
}

# The first Python that can simulate, or will after installing Debian's library; else any.
find_python() {
    local candidate spare=
    for candidate in ${PYTHON:-python3 python3.13 python3.12 python3.11 /usr/bin/python3}; do
        has "$candidate" && usable "$candidate" || continue
        if shared_library "$candidate" || is_debians "$candidate"; then
            echo "$candidate"
            return
        fi
        spare=${spare:-$candidate}
    done
    echo "$spare"
}

stamp=.venv/carrysave-setup
wanted=$(echo "$PWD"; cat requirements.txt pyproject.toml)
current() { [ "$(cat $stamp 2>/dev/null)" = "$wanted" ]; }
if current && usable .venv/bin/python; then PYTHON=${PYTHON:-.venv/bin/python}; fi

simulation="simulation: carrysave verify and demo, most tests"
python=$(find_python)
if [ -z "$python" ]; then
    need python3-venv "everything"
    need libpython3.11 "$simulation"
elif ! shared_library "$python"; then
    library=$("$python" -c 'import sys; print("libpython3.%d" % sys.version_info[1])')
    if is_debians "$python"; then
        need "$library" "$simulation"
    else
        say "$python has no shared $library, so these do not work: $simulation"
        say "with another Python: make setup PYTHON=/usr/bin/python3"
    fi
fi
has make || need make "$simulation"
has g++ || need g++ "$simulation"
has sta || need opensta "minimum period and power: carrysave synth and demo"
has iverilog || need iverilog "the test that Icarus accepts the Verilog"

if [ ${#packages[@]} != 0 ]; then
    install_packages
    python=$(find_python)
fi

# Apart from the others, lest these fail where no browser is to be had; `make demo` does without.
packages=() losses=()
if [ "${BROWSER:-yes}" = yes ]; then
    has chromium || need chromium "the test of pages in a browser"
    has chromedriver || need chromium-driver "the test of pages in a browser"
    [ ${#packages[@]} = 0 ] || install_packages
fi

# ---- Python packages

if [ -z "$python" ]; then
    say "found no Python 3.11, 3.12 or 3.13 with venv; for one elsewhere: make setup PYTHON=PATH"
    exit 1
fi
version=$("$python" -c 'import platform; print(platform.python_version())')
# Scripts in an environment hold its path, so one that was moved here is of no use.
if ! grep -qsF " $PWD/.venv" .venv/pyvenv.cfg || ! grep -qsF "= $version" .venv/pyvenv.cfg ||
    [ ! -x .venv/bin/pip ]; then
    say "making .venv with Python $version"
    "$python" -m venv --clear .venv
fi
if ! current; then
    if ! refused=$(.venv/bin/python scripts/upkeep/check_lock.py requirements.txt); then
        while read -r line; do say "$line"; done <<<"$refused"
        say "with another Python: make setup PYTHON=PATH"
        exit 1
    fi
    total=$(grep -c == requirements.txt)
    say "installing $total Python packages"
    errors=$(mktemp)
    trap 'rm -f "$errors"' EXIT
    # The lock names every package, so pip need not resolve. Bytecode is made when it is needed.
    for try in 1 2 3; do
        if PYTHONUNBUFFERED=1 .venv/bin/python -m pip --disable-pip-version-check --no-input \
            --retries 5 --timeout 60 install --no-deps --no-compile -r requirements.txt \
            2> >(tee "$errors" >&2) |
            awk -v total="$total" '/^(Collecting|Processing|Requirement already)/ {
                name = $1 == "Requirement" ? $4 : $2; sub(".*/", "", name)
                printf "setup:   %2d/%d %s\n", ++n, total, name; fflush() }
                /^Installing/ { print "setup:   unpacking"; fflush() }'
        then break; fi
        # It has other versions, and no file of this one for this Python and machine.
        name=$(sed -n 's/.*satisfies the requirement \(\S*\) (from versions: [0-9].*/\1/p' "$errors")
        if [ -n "$name" ]; then
            need=$(grep -o "\b${name#*==} Requires-Python [^;]*" "$errors" | head -n 1 || true)
            say "pip has no $name for Python $version on $(uname -m)${need:+: ${need#* }}"
            exit 1
        fi
        [ "$try" = 3 ] && { say "pip failed three times; see above"; exit 1; }
        say "pip failed; once more in 5 s"
        sleep 5
    done
    .venv/bin/python -m pip --disable-pip-version-check install -q --no-deps \
        --no-build-isolation -e .
    printf '%s\n' "$wanted" >$stamp
    say "Python packages are ready"
fi

# ---- osu018: one file of Debian's package, which as a whole depends on 150 others

liberty=share/qflow/tech/osu018/osu018_stdcells.lib
if [ ! -f "/usr/$liberty" ] && [ ! -f ".venv/$liberty" ]; then
    folder=$(mktemp -d)
    trap 'rm -rf "$folder" "${errors:-}"' EXIT
    download() {
        (cd "$folder" && apt-get download -qq -o APT::Sandbox::User=root qflow-tech-osu018)
    }
    if { download 2>/dev/null ||
        { can_install && "${root[@]}" apt-get update -qq && download; }; } &&
        dpkg -x "$folder"/*.deb "$folder"; then
        mkdir -p ".venv/${liberty%/*}"
        cp "$folder/usr/share/doc/qflow-tech-osu018/copyright" ".venv/${liberty%/*}/"
        cp "$folder/usr/$liberty" ".venv/$liberty.part"
        mv ".venv/$liberty.part" ".venv/$liberty"
        say "the osu018 cell library is ready"
    else
        say "no osu018 cell library: carrysave synth needs --liberty FILE, and demo cannot finish;"
        say "to get it: sudo apt-get update, then make setup once more"
    fi
fi

say "ready"
