#!/usr/bin/env bash
# Runs make's targets in a new Debian 12, as its first user would: its own python3, an empty home,
# no settings. Needs root, debootstrap, 12 GB and the network; takes the last commit.
#
# scripts/upkeep/fresh.sh [TARGET...]   by default demo and test
# FOLDER=...  where Debian is put, removed at the end unless KEEP=1, and taken as it is if it is there
# SUITE=... MIRROR=...  another Debian
set -euo pipefail
cd "$(dirname "$0")/../.."

say() { printf 'fresh: %s\n' "$*"; }
[ "$(id -u)" = 0 ] || { say "only root can make a Debian: sudo make fresh"; exit 2; }
for program in debootstrap unshare chroot git; do
    command -v "$program" >/dev/null || { say "$program is not installed"; exit 2; }
done

suite=${SUITE:-bookworm}
folder=${FOLDER:-$(mktemp -d /var/tmp/carrysave-fresh-XXXXXX)}
root=$folder/$suite
if [ "${KEEP:-0}" != 1 ]; then trap 'rm -rf --one-file-system "$root"; rmdir "$folder"' EXIT; fi
mkdir -p "$folder"

if [ ! -e "$root/etc/debian_version" ]; then
    say "putting $suite into $root"
    # What the README asks for, and git, with which it came here.
    if ! debootstrap --variant=minbase --include=ca-certificates,git,make,python3 "$suite" \
        "$root.part" ${MIRROR:+"$MIRROR"} >"$folder/debootstrap.log" 2>&1; then
        tail -n 5 "$folder/debootstrap.log"
        exit 1
    fi
    mv "$root.part" "$root"
fi
# The network as it is here; all else is Debian's.
cp /etc/resolv.conf /etc/hosts "$root/etc/"
if compgen -G "/usr/local/share/ca-certificates/*.crt" >/dev/null; then
    cp /usr/local/share/ca-certificates/*.crt "$root/usr/local/share/ca-certificates/"
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin update-ca-certificates >/dev/null 2>&1
fi
network=()
for name in $(compgen -e); do
    case $name in
    http_proxy | https_proxy | no_proxy | HTTP_PROXY | HTTPS_PROXY | NO_PROXY | \
        PIP_CERT | PIP_INDEX_URL | PIP_EXTRA_INDEX_URL | PIP_TRUSTED_HOST)
        network+=("$name=${!name}")
        ;;
    esac
done

commit=$(git rev-parse HEAD)
checkout=/srv/$commit/carrysave
if [ ! -d "$root$checkout" ]; then
    mkdir -p "$root/srv/$commit/home"
    git clone -q --no-hardlinks "$PWD" "$root$checkout"
    git -C "$root$checkout" checkout -q --detach "$commit"
fi

say "Debian $(cat "$root/etc/debian_version"), $(chroot "$root" /usr/bin/python3 -V), commit ${commit:0:9}"
for target in "${@:-demo test}"; do
    for one in $target; do
        say "make $one"
        # Its own processes and mounts, so that none is left.
        unshare --mount --pid --fork --kill-child bash -c '
            set -e
            mount --make-rprivate /
            mount -t proc proc "$1/proc"
            mount --rbind /dev "$1/dev"
            mount --rbind /sys "$1/sys"
            exec chroot "$@"' bash "$root" \
            /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME="/srv/$commit/home" "${network[@]}" \
            make -C "$checkout" "$one"
    done
done
say "done: ${*:-demo test}"
