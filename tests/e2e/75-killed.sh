#!/bin/bash
# a QEMU killed from outside: L0's while L1 boots, L1's while a command runs; the right layer is blamed
. "$(dirname "$0")/lib.sh"

# The process by the domain's name: libvirt gives QEMU -name guest=nl-L0.
kill_qemu()
{
    pkill -KILL -f -- "$NESTLAB_RUNS/.*guest=$1|guest=$1.*$NESTLAB_RUNS/"
}

"$nestlab" run --out "$work/l0" scenarios/single.json >"$work/l0.txt" 2>"$work/l0.err" &
runner=$!
wait_for 240 grep -q "^L1 (" "$work/l0.err" || problem "L1 did not start"
sleep 1
begin=$(date +%s)
kill_qemu nl-L0 || problem "no QEMU to kill"
wait "$runner"
status=$?
[ $(($(date +%s) - begin)) -lt 60 ] || problem "it took a minute to notice"
[ "$status" -ne 0 ] && [ "$status" -ne 130 ] || problem "exit status $status"
expect_json l0 '.failure | .layer == "L0" and (.kind == "gone" or .kind == "crashed")' "L0 is gone"
expect_nothing_left

cat >"$work/inner.json" <<'EOF'
{
  "name": "inner",
  "layers": [{"image": "hypervisor"}, {"image": "leaf"}],
  "commands": [
    {"name": "murder", "layer": "L0", "argv": ["sh", "-c", "kill -9 $(pidof qemu-system-x86_64)"]},
    {"name": "after", "layer": "L1", "argv": ["true"], "timeout_s": 20}
  ]
}
EOF
run inner "$work/inner.json"
[ "$status" -ne 0 ] || problem "a dead L1 passed"
expect_json inner '.failure | .layer == "L1" and (.kind == "gone" or .kind == "crashed")' "L1 is gone"
expect_json inner '.layers[0].state == "up"' "L0 is not blamed"
expect_nothing_left
finish
