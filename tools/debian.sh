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

# need_packages NAME...  Elsewhere than on Debian, what is missing shows when it is used.
need_packages() {
  command -v dpkg-query >/dev/null || return 0
  local name missing=()
  for name in "$@"; do
    dpkg-query --show --showformat '${db:Status-Status}\n' "$name" 2>/dev/null | grep -qx installed ||
      missing+=("$name")
  done
  [ ${#missing[@]} -eq 0 ] && return 0

  if [ "$(id -u)" -ne 0 ] && ! command -v sudo >/dev/null; then
    echo "missing packages, and no sudo to install them: ${missing[*]}" >&2
    return 1
  fi
  echo "installing ${missing[*]}"
  as_root apt-get update -qq &&
    as_root env DEBIAN_FRONTEND=noninteractive \
      apt-get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
}
