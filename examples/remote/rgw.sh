# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# Sourced: a Ceph RGW of one's own, which is a real server of S3, from Debian's packages. Objects stay in memory; all
# listens on loopback. Debian: ceph-mon ceph-osd ceph-common radosgw.
#
#   rgw_start FOLDER   which is emptied; sets rgw_url, rgw_access and rgw_secret
#   rgw_stop           ends what was started, by its ids; call it on every exit

rgw_ids=()
rgw_access=ZARRPOINTEXAMPLE
rgw_secret=not-a-secret-0123456789

rgw_free_port() {
  python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'
}

# rgw_daemon NAME COMMAND...  Its output is in NAME.out of the folder.
rgw_daemon() {
  "${@:2}" >"$rgw_folder/$1.out" 2>&1 </dev/null &
  rgw_ids+=($!)
}

rgw_stop() {
  [ ${#rgw_ids[@]} -gt 0 ] || return 0
  kill -KILL "${rgw_ids[@]}" 2>/dev/null || true # all that they have is in memory
  wait "${rgw_ids[@]}" 2>/dev/null || true
  rgw_ids=()
}

rgw_start() {
  local name id monitor port
  rm -rf "$1" && mkdir -p "$1"/{run,log} && rgw_folder=$(realpath "$1") || return 1
  monitor=$(rgw_free_port) port=$(rgw_free_port) id=$(cat /proc/sys/kernel/random/uuid)
  cat >"$rgw_folder/ceph.conf" <<END
[global]
fsid = $id
keyring = $rgw_folder/keyring
mon host = v2:127.0.0.1:$monitor
mon initial members = a
public addr = 127.0.0.1
cluster addr = 127.0.0.1
ms bind ipv6 = false
osd pool default size = 1
osd pool default min size = 1
mon allow pool size one = true
osd crush chooseleaf type = 0
osd objectstore = memstore
memstore device bytes = 2147483648
osd memory target = 939524096
osd pool default pg num = 8
mon max pg per osd = 1000
run dir = $rgw_folder/run
log file = $rgw_folder/log/\$name.log
admin socket = $rgw_folder/run/\$name.asok
mon data = $rgw_folder/mon
osd data = $rgw_folder/osd
rgw frontends = beast endpoint=127.0.0.1:$port
rgw crypt require ssl = false
END
  export CEPH_CONF=$rgw_folder/ceph.conf
  {
    ceph-authtool --create-keyring "$rgw_folder/keyring" --gen-key -n mon. --cap mon 'allow *' &&
      for name in client.admin osd.0 client.rgw.a; do
        ceph-authtool "$rgw_folder/keyring" --gen-key -n $name --cap mon 'allow *' --cap mgr 'allow *' --cap osd 'allow *' ||
          return 1
      done
    monmaptool --create --clobber --fsid "$id" --addv a "[v2:127.0.0.1:$monitor]" "$rgw_folder/monmap" &&
      mkdir "$rgw_folder/osd" &&
      ceph-mon --mkfs -i a --monmap "$rgw_folder/monmap" --keyring "$rgw_folder/keyring"
  } >"$rgw_folder/begin.out" 2>&1 || {
    cat "$rgw_folder/begin.out"
    return 1
  }
  rgw_daemon mon ceph-mon -i a -f
  timeout 60 ceph osd create >>"$rgw_folder/begin.out" 2>&1 &&
    ceph-osd -i 0 --mkfs >>"$rgw_folder/begin.out" 2>&1 || {
    cat "$rgw_folder/begin.out"
    return 1
  }
  rgw_daemon osd ceph-osd -i 0 -f
  rgw_daemon rgw radosgw -n client.rgw.a -f
  rgw_url=http://127.0.0.1:$port
  for _ in $(seq 600); do
    if (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; then
      timeout 60 radosgw-admin user create --uid=example --display-name=example --access-key="$rgw_access" \
        --secret-key="$rgw_secret" >>"$rgw_folder/begin.out" 2>&1 && return 0
      break
    fi
    sleep 0.1
  done
  echo "RGW did not start:"
  tail -n 5 "$rgw_folder"/*.out
  return 1
}
