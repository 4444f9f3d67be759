#!/bin/bash
# the default scenario passes, and its document, JUnit file and logs are what they should be
. "$(dirname "$0")/lib.sh"

run depth2 scenarios/nested-boot.json
expect_status 0 depth2
expect_json depth2 '[.layers[].state] == ["up", "up", "up"]' "all layers are up"
expect_json depth2 '.layers[1].facts.cpuid.hypervisor.signature == "KVMKVMKVM"' "L1 is under KVM"
expect_json depth2 '.layers[2].facts.cpuid.hypervisor.signature == "KVMKVMKVM"' "L2 is under KVM"
expect_json depth2 '[.layers[0].facts.command_line, .layers[1].facts.command_line,
    .layers[2].facts.command_line] | map(capture("nestlab.layer=(?<l>L[0-9])").l) == ["L0", "L1", "L2"]' \
    "each agent answers from its own layer"
expect_json depth2 '[.layers[2].exits[].counters["vcpu.0.exits.sum"] | tonumber] | .[-1] > .[0]' \
    "L1 counted exits of L2"
expect_json depth2 '[.layers[1].exits[].counters["vcpu.0.nested_run.sum"] // "0" | tonumber] | .[-1] > 0' \
    "L0 ran L2 on behalf of L1"
expect_json depth2 'all(.checks[]; .verdict == "pass" or .verdict == "not-applicable")' "every check passes"
expect_json depth2 'all(.layers[]; (.log.records | length) > 50 and .log.lost == 0)' "whole kernel logs"
xmllint --noout "$work/depth2/report.html" || problem "report.html is not well-formed"
xmllint --noout "$work/depth2/junit.xml" || problem "junit.xml is not well-formed"
for layer in L0 L1 L2; do
    [ -f "$work/depth2/$layer-console.log" ] || problem "no console of $layer"
    [ -s "$work/depth2/$layer-kernel.log" ] || problem "no kernel log of $layer"
done
expect_nothing_left
finish
