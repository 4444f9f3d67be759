#!/bin/bash
# two stacks up at once: list, shell in every layer, console, down
. "$(dirname "$0")/lib.sh"

"$nestlab" up --out "$work/one" scenarios/nested-boot.json >"$work/one.txt" 2>"$work/one.err" ||
    problem "the first stack did not come up: $(tail -n 3 "$work/one.err")"
"$nestlab" up --out "$work/two" scenarios/single.json >"$work/two.txt" 2>"$work/two.err" ||
    problem "the second stack did not come up: $(tail -n 3 "$work/two.err")"
"$nestlab" list --json >"$work/list.json" || problem "list failed"
[ "$(jq length "$work/list.json")" = 2 ] || problem "list does not show two stacks"
one=$(jq -r '.[].id | select(startswith("nested-boot"))' "$work/list.json")
two=$(jq -r '.[].id | select(startswith("single"))' "$work/list.json")

for layer in L0 L1 L2; do
    said=$("$nestlab" shell --run "$one" "$layer" -- cat /proc/cmdline 2>"$work/shell.err" </dev/null)
    grep -q "nestlab.layer=$layer" <<<"$said" ||
        problem "no shell in $layer: $said $(head -c 300 "$work/shell.err")"
done
said=$("$nestlab" shell --run "$two" L1 -- cat /proc/cmdline 2>&1 </dev/null)
grep -q "nestlab.layer=L1" <<<"$said" || problem "no shell in L1 of the second stack: $said"
"$nestlab" shell L0 -- true >"$work/which.txt" 2>&1 </dev/null && problem "shell took one of two stacks by itself"
expect_text "$work/which.txt" "$two"
"$nestlab" console --run "$one" --no-follow L1 >"$work/console.txt" 2>&1 || problem "console failed"

"$nestlab" down "$two" || problem "down failed"
[ "$("$nestlab" list --json | jq length)" = 1 ] || problem "down took the wrong number of stacks"
"$nestlab" shell "L2" -- true </dev/null || problem "the first stack suffered from the second's end"
"$nestlab" down --all || problem "down --all failed"
expect_nothing_left
finish
