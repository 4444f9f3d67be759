#!/bin/bash
# the meter counts what an operation costs each layer: a system call the same everywhere, a CPUID more the deeper
. "$(dirname "$0")/lib.sh"

jq '.benchmarks = {names: ["cpuid"], samples: 10, budget_s: 1, exit_reasons: true}' scenarios/nested-boot.json \
    >"$work/metered.json"
run metered --l0 emulated --meter=syscall,cpuid "$work/metered.json"
expect_status 0 metered
expect_json metered '[.layers[].metered[] | select(.name == "syscall")] | length == 3 and
    ([.[].total] | unique | length) == 1 and all(.[]; .estimate == "mode" and .total > 50)' \
    "a system call takes as many instructions at every layer"
expect_json metered '[.layers[] | .index as $k | .metered[] | select(.name == "syscall") |
    .instructions[$k] == .total and .vmruns[0] == 0] | all' "and they are that layer's own"
expect_json metered '[.layers[].metered[] | select(.name == "cpuid") | .total] |
    length == 3 and .[0] < 100 and .[1] > 1000 and .[1] < 10000 and .[2] > 8 * .[1]' \
    "a CPUID takes more, the deeper it is"
expect_json metered '.layers[1].metered[] | select(.name == "cpuid") |
    .vmruns == [1, 0, 0] and .exits == [{"of": 1, "reached": 0, "times": 1}]' \
    "at L1 it is one exit, which L0 handles"
expect_json metered '.layers[2].metered[] | select(.name == "cpuid") | .vmruns[0] > 2 and
    .vmruns[1] == 1 and any(.exits[]; . == {"of": 2, "reached": 1, "times": 1}) and
    .instructions[0] > .instructions[1] and .instructions[1] > 1000' \
    "at L2 L1 handles it, with exits of its own"
expect_json metered '[.layers[].metered[] | .undisturbed > 0 and .undisturbed <= .operations and
    (.samples | length) == .operations and .operations == 101] | all' "disturbed operations are told apart"
expect_json metered '[.layers[].facts.command_line | test(" slub_max_order=0 ")] | all' \
    "where an object lies in its slab costs nothing"
expect_text "$work/metered.txt" "VMRUN by L0"

# The second witness, by reason. Ticks and asking are among these exits, so there may be more.
expect_json metered '.layers[2].benchmarks[] | select(.name == "cpuid") | .exit_reasons | .operations as $n |
    def times($layer; $inside; $reason): .counts[] | select(.layer == $layer and .inside == $inside) |
        [.reasons[] | select(.reason == $reason) | .times] | add // 0;
    .skipped == null and $n >= 20 and times("L1"; true; "cpuid") >= $n and times("L2"; false; "cpuid") >= $n and
    times("L1"; false; "vmrun") >= $n and times("L1"; false; "cpuid") < $n' \
    "a cpuid at L2 is an exit that L0 passes on to L1, which answers by VMRUN"

run refused --l0 local --meter scenarios/nested-boot.json
expect_status 2 refused
expect_text "$work/refused.err" "cannot be: with l0 \"local\""
run two --meter --vcpus L1=2 scenarios/nested-boot.json
expect_status 2 two
expect_text "$work/two.err" "L1 has 2 vCPUs"
expect_nothing_left
finish
