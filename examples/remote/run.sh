#!/usr/bin/env bash
# SPDX-FileCopyrightText: 2026 The zarrpoint authors
# SPDX-License-Identifier: Apache-2.0
# Installs what is missing (Debian 12), builds the example, starts a Ceph RGW on loopback, which is a real server of
# S3, and runs the example with it: four processes save to a bucket, one of them is killed in the middle of the next
# save, three load by HTTP, and speech detection runs from the bucket. Each line is compared with what it must be.
# The exit status is 0 if all went well, 1 if not, and 77 if it was skipped: nothing but the server's packages lacked.
set -eu
cd "$(dirname "$0")/../.."
. tools/debian.sh
. examples/remote/rgw.sh
at_end() {
  status=$?
  rgw_stop
  case $status in
    0) ;;
    77) echo "The example was SKIPPED: there is no Ceph RGW here (Debian: ceph-mon ceph-osd ceph-common radosgw)." ;;
    *) echo "The example FAILED (exit status $status)." ;;
  esac
}
trap at_end EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

need_packages g++ cmake ninja-build pkg-config libzstd-dev libopenmpi-dev openmpi-bin libxtensor-dev \
  nlohmann-json3-dev libcurl4-openssl-dev curl python3
need_packages ceph-mon ceph-osd ceph-common radosgw || exit 77
PATH=$PATH:/usr/sbin
for program in ceph-mon ceph-osd ceph radosgw radosgw-admin; do
  command -v $program >/dev/null || exit 77
done

echo "building (about a minute)"
preset=${PRESET:-release}
mkdir -p build
cmake --preset "$preset" >build/remote.log && cmake --build --preset "$preset" --target remote >>build/remote.log || {
  cat build/remote.log
  exit 1
}
program=build/$preset/examples/remote
data=examples/data/silero-vad
folder=build/remote
rm -rf "$folder" && mkdir "$folder"

echo "starting a Ceph RGW (about 15 seconds)"
rgw_start "$folder/rgw"
# As for AWS' own tools: where the server is, and whose keys.
export AWS_ENDPOINT_URL=$rgw_url AWS_ACCESS_KEY_ID=$rgw_access AWS_SECRET_ACCESS_KEY=$rgw_secret AWS_REGION=us-east-1
# by_hand METHOD PATH [BODY]  What an administrator does once: a request to the server, signed.
by_hand() {
  curl -sSf -o "$folder/answer" --aws-sigv4 aws:amz:us-east-1:s3 --user "$rgw_access:$rgw_secret" \
    -H "x-amz-content-sha256: UNSIGNED-PAYLOAD" -X "$1" "$rgw_url$2" ${3:+--data-binary "$3"}
}
by_hand PUT /models
# Anybody may read it: objects, and whether there is one.
by_hand PUT "/models?policy=" '{"Version": "2012-10-17", "Statement": [{"Effect": "Allow", "Principal": "*",
  "Action": ["s3:GetObject", "s3:ListBucket"], "Resource": ["arn:aws:s3:::models", "arn:aws:s3:::models/*"]}]}'
bucket=s3://models/speech.zarr
web=$rgw_url/models/speech.zarr

# Without --enable-recovery Open MPI ends all processes as soon as one dies.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
processes() {
  timeout 300 mpirun --oversubscribe --enable-recovery -n "$1" "$program" "${@:2}" 2>"$folder/stderr" | sort
}
# Without the keys: by HTTP anybody reads.
without_keys() { (unset AWS_ACCESS_KEY_ID AWS_SECRET_ACCESS_KEY AWS_ENDPOINT_URL && "$@"); }

# expect WHAT COMMAND...  The command says what stands on standard input, and nothing else.
expect() {
  printf '\n%s\n' "$1"
  "${@:2}" >"$folder/said" 2>>"$folder/stderr" </dev/null || true
  sed 's/^/  /' "$folder/said"
  diff - "$folder/said" || {
    echo "^ expected (<) and said (>)"
    cat "$folder/stderr"
    exit 1
  }
}

expect "Four processes save step 1 to $bucket, each a quarter of the rows of each tensor:" \
  processes 4 save $bucket $data 1 <<END
rank 0 of 4 wrote 310532 bytes in 15 objects
rank 1 of 4 wrote 310016 bytes in 13 objects
rank 2 of 4 wrote 310016 bytes in 13 objects
rank 3 of 4 wrote 307968 bytes in 13 objects
END

expect "They save step 2, and rank 2 is killed (SIGKILL) in the middle of it:" \
  processes 4 save $bucket $data 2 2 <<END
rank 0: unavailable: save $bucket: rank 2 did not come to agree within 20 s
rank 1: unavailable: save $bucket: rank 2 did not come to agree within 20 s
rank 3: unavailable: save $bucket: rank 2 did not come to agree within 20 s
END

expect "The checkpoint in the bucket is as it was:" "$program" look $bucket $data 1 <<END
one process read 15 tensors of step 1, each value and checksum right
END

# trees  How many checkpoints lie at the place, published or not.
trees() {
  by_hand GET "/models?delimiter=%2F&list-type=2&prefix=speech.zarr%2F.zarrpoint%2F"
  echo "$(grep -o '<CommonPrefixes>' "$folder/answer" | wc -l) checkpoint"
}
expect "And nothing else lies there: rank 0 has removed what all had written:" trees <<END
1 checkpoint
END

expect "Three processes without keys load it by HTTP, from $web, each a third of the columns:" \
  without_keys processes 3 load "$web/" $data 1 <<END
rank 0 of 3 has 592144 bytes of step 1, each value right
rank 1 of 3 has 327948 bytes of step 1, each value right
rank 2 of 3 has 318440 bytes of step 1, each value right
END

expect "They save step 2:" processes 3 save $bucket $data 2 <<END
rank 0 of 3 wrote 415848 bytes in 15 objects
rank 1 of 3 wrote 415332 bytes in 13 objects
rank 2 of 3 wrote 407352 bytes in 13 objects
END

expect "Which is now the checkpoint in the bucket:" "$program" look $bucket $data 2 <<END
one process read 15 tensors of step 2, each value and checksum right
END
expect "By its URL:" without_keys "$program" look "$web" $data 2 <<END
one process read 15 tensors of step 2, each value and checksum right
END

expect "Speech detection, from the bucket:" "$program" listen $bucket $data <<END
speech at 0.6-2.1 s, 2.2-4.0 s
152 probabilities, all as expected.json has them
END
