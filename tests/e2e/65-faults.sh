#!/bin/bash
# injected faults are recognised, each for what it is; a stack with nothing wrong, or another fault, fails
. "$(dirname "$0")/lib.sh"

tests/faults image-corrupt kernel-truncated emulator-missing l2-panic l2-hang l0-killed ||
    problem "a fault was not recognised"

# A hang's evidence: where the vCPU is, by registers and by the guest's own words on an NMI. Each of
# these may meet it in a tick, or in the program, which is in its system call most of the time.
run busy scenarios/faults/l2-busy.json
expect_status 0 busy
expect_json busy '.failure.evidence | (.looks | length) >= 5 and
    any(.backtrace[]?; test("NMI received for unknown reason")) and
    any(.backtrace[]?; test("RIP: ")) and
    any(.stack[]?, .backtrace[]?, (.looks[].vcpus[].symbol | strings);
        test("read_zero|read_iter_zero|vfs_read|clear_user"))' "looks, an NMI and its stack say what keeps the vCPU"
expect_json busy '.failure.evidence.exit_reasons | length > 0' "exits are counted by reason"
[ -s "$work/busy/L2-hang.txt" ] || problem "no L2-hang.txt"

# L2's VM entry fails: its QEMU's last words are fetched from L1, and understood.
run entry scenarios/faults/vm-entry-fails.json
expect_status 0 entry
expect_json entry '.diagnosis.name == "kvm-internal-error" and .failure.kind == "crashed"' "KVM could not run L2"
expect_json entry '[.phases[] | select(.layer == "L2") | .seconds] | add < 180' "that is seen long before its deadline"
[ -s "$work/entry/L2-qemu.log" ] || problem "no log of L2's QEMU"
expect_json entry 'any(.findings[]; .rule == "vm-entry-svm-invalid")' "L2's QEMU says what KVM did"

# What is expected and does not come out is a failure, whether another diagnosis does ...
jq '.expect.diagnosis = "kernel-corrupt"' scenarios/faults/image-corrupt.json >"$work/other.json"
run other "$work/other.json"
expect_status 1 other
expect_json other '.verdict.status == "failed" and .diagnosis.name == "image-corrupt"' "both are told"
expect_text "$work/other.txt" "kernel-corrupt at L0"

# ... or none.
jq '.expect = {diagnosis: "hung", layer: "L1"}' scenarios/single.json >"$work/clean.json"
run clean "$work/clean.json"
expect_status 1 clean
expect_json clean '.verdict.status == "failed" and .diagnosis == null and .failure == null' "nothing is wrong"
expect_nothing_left
finish
