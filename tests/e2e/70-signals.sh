#!/bin/bash
# SIGINT and SIGTERM take the stack down within 10 s, SIGKILL leaves what gc removes
. "$(dirname "$0")/lib.sh"

start()
{
    "$nestlab" run --out "$work/$1" scenarios/nested-boot.json >"$work/$1.txt" 2>"$work/$1.err" &
    runner=$!
}

qemu_runs()
{
    pgrep -f -- "$NESTLAB_RUNS/.*nl-L0"
}

log_says()
{
    grep -q -- "$2" "$work/$1.err"
}

# While L0 boots, and again while L1 does: the stack is at its most different.
for case in "INT L0" "TERM L1"; do
    read -r signal layer <<<"$case"
    start "$signal"
    wait_for 180 log_says "$signal" "^$layer (" || problem "$layer did not start"
    wait_for 20 qemu_runs || problem "no QEMU runs"
    sleep 2
    begin=$(date +%s%N)
    kill -"$signal" "$runner"
    wait "$runner"
    status=$?
    took=$((($(date +%s%N) - begin) / 1000000))
    expect_status 130 "$signal"
    [ "$took" -lt 10000 ] || problem "SIG$signal took $took ms"
    expect_json "$signal" '.verdict.status == "interrupted" and .verdict.exit == 130' "it says so"
    expect_json "$signal" '[.checks[] | select(.verdict == "fail")] == []' "no check has failed"
    expect_json "$signal" '.failure == null and .diagnosis == null' "nothing has failed"
    expect_json "$signal" "[.layers[] | select(.name == \"$layer\") | .state] == [\"interrupted\"]" \
        "$layer was interrupted"
    log_says "$signal" "^$layer (.*: interrupted in phase " || problem "the progress says otherwise"
    grep -q '<failure' "$work/$signal/junit.xml" && problem "junit.xml has failures"
    expect_nothing_left
done

start KILL
wait_for 180 qemu_runs || problem "no QEMU runs"
sleep 3
kill -KILL "$runner"
wait "$runner" 2>/dev/null
qemu_runs >/dev/null || problem "SIGKILL took QEMU along: this test tests nothing"
sleep 1000 &
bystander=$!
"$nestlab" gc >"$work/gc.txt" 2>&1 || problem "gc failed: $(cat "$work/gc.txt")"
expect_nothing_left
kill -0 "$bystander" 2>/dev/null || problem "gc killed a process that is none of its business"
kill "$bystander"
finish
