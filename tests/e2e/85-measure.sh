#!/bin/bash
# benchmarks at every layer become a slowdown; several scenarios in one run; a second run makes no
# image; an innermost layer that could boot another, but is not to
. "$(dirname "$0")/lib.sh"

cat >"$work/measure.json" <<'EOF'
{
  "name": "measure",
  "layers": [{"image": "hypervisor"}, {"image": "leaf"}],
  "benchmarks": {"names": ["cpuid", "syscall", "ipi", "disk-read", "guest-boot"], "samples": 10, "budget_s": 2,
                 "exit_reasons": true}
}
EOF
cat >"$work/alone.json" <<'EOF'
{
  "name": "alone",
  "layers": [{"image": "hypervisor"}],
  "benchmarks": {"names": ["syscall", "guest-boot"], "samples": 10, "budget_s": 1}
}
EOF
run both "$work/measure.json" scenarios/single.json "$work/alone.json"
expect_status 0 both
for document in 1-measure 2-single 3-alone; do
    [ -f "$work/both/$document/document.json" ] || problem "no document of $document"
    expect_json "both/$document" '[.phases[] | select(.name == "images") | .seconds] | .[0] < 5' \
        "images are there already"
done
expect_json both/1-measure '[.layers[].benchmarks[] | select(.name == "cpuid") | .samples | length] |
    length == 2 and all(.[]; . >= 10)' "cpuid has at least 10 samples at each layer"
expect_json both/1-measure '.slowdown[] | select(.benchmark == "cpuid") | .layers[1].to_l0 |
    .ratio > 2 and .low <= .ratio and .ratio <= .high' "a cpuid at L1 costs more than at L0"
expect_json both/1-measure '[.layers[].benchmarks[] | select(.name == "ipi")] |
    all(.[]; .skipped and (.samples | length) == 0)' "with one vCPU there is no wake-up of another"
expect_json both/1-measure '[.layers[].benchmarks[] | select(.name == "disk-read")] |
    all(.[]; .skipped == null)' "the disk is measured in a leaf, too"
expect_json both/1-measure '.layers[0].benchmarks[] | select(.name == "guest-boot") |
    .unit == "ms" and (.samples | length >= 10 and all(.[]; . > 100))' "L0 boots a guest ten times"
expect_json both/1-measure '.layers[1].benchmarks[] | select(.name == "guest-boot") | .skipped' \
    "a leaf boots none"
expect_json both/3-alone '[.layers[0].benchmarks[] | .skipped != null] == [false, true]' \
    "L0 alone is measured, and boots no guest"
expect_json both/1-measure '.layers[1].benchmarks[] | select(.name == "cpuid") | .exit_reasons |
    .skipped == null and .operations >= 100 and .operations as $n | any(.counts[]; .layer == "L1" and (.inside | not) and
    any(.reasons[]; .reason == "cpuid" and .times >= $n and .times < 1.5 * $n))' \
    "a cpuid at L1 is one exit, by that reason"
expect_json both/1-measure '.layers[0].benchmarks | all(.[]; .exit_reasons == null)' "nothing is below L0"
expect_text "$work/both.txt" "VM exits by reason"
expect_text "$work/both.txt" cpuid
expect_nothing_left
finish
