#!/bin/bash
# svm masked from L1 fails with the check that names it
. "$(dirname "$0")/lib.sh"

cat >"$work/hidden.json" <<'EOF'
{
  "name": "svm-hidden",
  "layers": [
    {"image": "hypervisor"},
    {"image": "hypervisor", "virtualization": false},
    {"image": "leaf"}
  ]
}
EOF
run hidden "$work/hidden.json"
expect_status 1 hidden
expect_check hidden l0-nested-parameter pass
expect_check hidden l1-sees-virtualization fail
expect_nothing_left
finish
