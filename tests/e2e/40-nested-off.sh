#!/bin/bash
# nested=0 in L0 fails with the check that names it
. "$(dirname "$0")/lib.sh"

cat >"$work/nested-off.json" <<'EOF'
{
  "name": "nested-off",
  "layers": [{"image": "hypervisor", "nested": false}, {"image": "hypervisor"}, {"image": "leaf"}]
}
EOF
run off "$work/nested-off.json"
expect_status 1 off
expect_check off l0-nested-parameter fail
expect_text "$work/off.txt" l0-nested-parameter
expect_nothing_left
finish
