#!/bin/bash
# a leaf kernel that panics is reported as crashed, with its last words
. "$(dirname "$0")/lib.sh"

cat >"$work/panic.json" <<'EOF'
{
  "name": "panic",
  "layers": [
    {"image": "hypervisor"},
    {"image": "leaf", "kernel_args": ["rdinit=/nonexistent", "init=/nonexistent"]}
  ]
}
EOF
run panic "$work/panic.json"
[ "$status" -ne 0 ] || problem "a panic passed"
expect_json panic '.failure | .layer == "L1" and .kind == "crashed"' "L1 is reported as crashed"
expect_json panic '.failure.console_tail | any(.[]; contains("Kernel panic"))' "its last words are kept"
expect_text "$work/panic/L1-console.log" "Kernel panic"
expect_nothing_left
finish
