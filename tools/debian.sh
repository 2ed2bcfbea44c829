# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced by the scripts that run everything: installs Debian packages that are not there yet.

# as_root COMMAND...
as_root() {
  if [ "$(id -u)" -eq 0 ]; then
    "$@"
  else
    sudo "$@"
  fi
}

# need_architecture NAME  Lets packages of another architecture, `package:NAME`, be installed.
need_architecture() {
  command -v dpkg >/dev/null || return 0
  dpkg --print-foreign-architectures | grep -qx "$1" || as_root dpkg --add-architecture "$1"
}

# need_packages NAME...  Elsewhere than on Debian it only names them: what is missing shows when it is used.
need_packages() {
  if ! command -v dpkg-query >/dev/null; then
    echo "no dpkg here, so nothing is installed; by their names in Debian 12 this needs: $*" >&2
    return 0
  fi
  local name missing=()
  for name in "$@"; do
    dpkg-query --show --showformat '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed ||
      missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0

  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "missing packages, and no sudo to install them; as root: apt-get install ${missing[*]}" >&2
    return 1
  fi
  echo "installing ${missing[*]}"
  apt_get update -qq && apt_get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}

# apt_get ARGUMENT...  Waits up to ten minutes while another process has apt's locks, such as the upgrades of
# a machine that has just begun: dpkg's by its own option, that of the lists, for which there is
# none, by trying again.
apt_get() {
  local try said
  for try in $(seq 60); do
    said=$(as_root env DEBIAN_FRONTEND=noninteractive LC_ALL=C \
      apt-get -o DPkg::Lock::Timeout=600 "$@" 2>&1 >&3) && return
    [[ $said == *"Could not get lock"* || $said == *"Unable to lock"* ]] || break
    echo "apt is in use; trying again ($try)" >&2
    sleep 10
  done 3>&1
  echo "$said" >&2
  return 1
}

# apart TYPE RELEASE FOLDER COMMAND...  apt-get for packages (deb) or sources (deb-src) of a release of Debian, with lists
# of its own in FOLDER and from the mirror that the machine has its own packages from. Installs nothing.
apart() {
  local own mirror folder options
  own=$(sed -n 's/^VERSION_CODENAME=//p' /etc/os-release)
  # shellcheck disable=SC2016
  mirror=$(apt-get indextargets --format '$(RELEASE) $(COMPONENT) $(REPO_URI)' 'Created-By: Packages' |
    awk -v own="$own" '($1 == own || $1 ~ /^(old)?stable$/) && $2 == "main" { print $3; exit }')
  if [ -z "$mirror" ]; then
    echo "packages of Debian $2 are needed, and no source of apt is a mirror of Debian" >&2
    return 1
  fi
  rm -rf "$3" && mkdir -p "$3/lists/partial" && folder=$(realpath "$3") || return 1
  echo "$1 $mirror $2 main" >"$folder/sources.list"
  options=(-qq -o Dir::Etc::SourceList="$folder/sources.list" -o Dir::Etc::SourceParts=- -o Dir::State::Lists="$folder/lists"
    -o Dir::Cache="$folder" -o Acquire::Languages=none -o APT::Architectures="$(dpkg --print-architecture)"
    -o APT::Sandbox::User=root -o Acquire::Retries=3)
  (cd "$folder" && apt-get "${options[@]}" update && apt-get "${options[@]}" "${@:4}") || {
    echo "cannot do 'apt-get ${*:4}' for Debian $2 with the mirror of this machine" >&2
    return 1
  }
}

# package_of RELEASE NAME FOLDER  Unpacks a package of another release of Debian there.
package_of() {
  rm -rf "$3" && mkdir -p "$3" && apart deb "$1" "$3.apt" download "$2" &&
    dpkg-deb -x "$3.apt/$2"_*.deb "$3.apt" && mv "$3.apt/usr" "$3" && rm -rf "$3.apt"
}

# sources_of FOLDER NAME...  Unpacks the upstream sources of packages of Debian 12, each in a folder of its name there.
sources_of() {
  local name archive
  mkdir -p "$1" && apart deb-src bookworm "$1/apt" source --download-only "${@:2}" || return 1
  for name in "${@:2}"; do
    for archive in "$1/apt/$name"*.orig.tar.?z*; do
      [[ $archive == *.asc ]] || { rm -rf "$1/$name" && mkdir "$1/$name" && tar -C "$1/$name" --strip-components=1 -xf "$archive"; } || return 1
    done
  done
  rm -rf "$1/apt"
}
