#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# peers.sh PYTHON PROGRAM FOLDER  Clients and servers of others: peers_check.py, with a Ceph RGW where there is one.
set -eu
cd "$(dirname "$0")/../.."
. examples/remote/rgw.sh
trap rgw_stop EXIT
PATH=$PATH:/usr/sbin
if command -v radosgw >/dev/null && command -v ceph-osd >/dev/null; then
  rgw_start "$3/rgw"
  export AWS_ENDPOINT_URL=$rgw_url AWS_ACCESS_KEY_ID=$rgw_access AWS_SECRET_ACCESS_KEY=$rgw_secret AWS_REGION=us-east-1
  set -- "$@" rgw
else
  echo "skipped: no Ceph RGW (Debian: ceph-mon ceph-osd ceph-common radosgw)"
fi
"$1" -W ignore tests/remote/peers_check.py "${@:2}"
