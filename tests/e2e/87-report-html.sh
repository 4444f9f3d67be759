#!/bin/bash
# pages in a browser, as of a real run: light and dark, wide and as a phone, and on paper
. "$(dirname "$0")/lib.sh"

audit=$source_dir/tests/e2e/report-audit.js
port=
session=

# wire METHOD PATH [JSON]: WebDriver's answer.
wire()
{
    curl -sS --max-time 120 -X "$1" -H 'Content-Type: application/json' ${3:+--data-binary "$3"} \
        "http://127.0.0.1:$port$2"
}

# cdp COMMAND PARAMETERS: Chromium's own protocol, for what WebDriver has not.
cdp()
{
    wire POST "/session/$session/goog/cdp/execute" "{\"cmd\": \"$1\", \"params\": $2}"
}

start_browser()
{
    local options='["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
        "--disable-background-networking", "--disable-component-update", "--disable-sync",
        "--hide-scrollbars"'
    command -v chromedriver >/dev/null || problem "no chromedriver (package chromium-driver)"
    command -v chromium >/dev/null || problem "no chromium"
    [ "$problems" -eq 0 ] || finish
    HOME=$work chromedriver --port=0 >"$work/driver.txt" 2>&1 &
    driver=$!
    for _ in {1..100}; do
        port=$(sed -n 's/.*started successfully on port \([0-9]*\).*/\1/p' "$work/driver.txt")
        [ -z "$port" ] || break
        sleep 0.2
    done
    session=$(wire POST /session '{"capabilities": {"alwaysMatch": {
        "goog:loggingPrefs": {"performance": "ALL"},
        "goog:chromeOptions": {"binary": "'"$(command -v chromium)"'",
            "args": '"$options"', "--user-data-dir='"$work/browser"'"]}}}}' | jq -r '.value.sessionId // empty')
    if [ -z "$session" ]; then
        problem "no browser"
        tail -n 5 "$work/driver.txt"
        finish
    fi
    # What its own first page asked for is not of interest.
    wire POST "/session/$session/url" '{"url": "about:blank"}' >/dev/null
    wire POST "/session/$session/se/log" '{"type": "performance"}' >/dev/null
}

stop_browser()
{
    [ -z "$session" ] || wire DELETE "/session/$session" >/dev/null
    [ -z "${driver:-}" ] || { kill "$driver" && wait "$driver"; } 2>/dev/null
}
trap 'stop_browser; cleanup' EXIT

# show PAGE WIDTH light|dark
show()
{
    cdp Emulation.setDeviceMetricsOverride \
        "{\"width\": $2, \"height\": 900, \"deviceScaleFactor\": 1, \"mobile\": false}" >/dev/null
    cdp Emulation.setEmulatedMedia \
        "{\"media\": \"screen\", \"features\": [{\"name\": \"prefers-color-scheme\", \"value\": \"$3\"}]}" >/dev/null
    wire POST "/session/$session/url" "{\"url\": \"file://$work/$1.html\"}" >/dev/null
}

# run_script FILE...: what the script that the files make together returns, as JSON.
run_script()
{
    wire POST "/session/$session/execute/sync" "$(cat "$@" | jq -Rs '{script: ., args: []}')" |
        jq -c '.value'
}

# shot NAME: the whole page as $work/NAME.png
shot()
{
    cdp Page.captureScreenshot '{"captureBeyondViewport": true}' | jq -r '.value.data' | base64 -d >"$work/$1.png"
}

# audit_page PAGE WIDTH light|dark
audit_page()
{
    local found
    show "$@"
    found=$(run_script "$audit")
    if [ "$found" != '[]' ]; then
        problem "$1 at $2, $3: $found"
        shot "$1-$2-$3"
    fi
}

# expect_seen JAVASCRIPT TEXT: a page that is broken like this is found to be.
expect_seen()
{
    show report 360 light
    run_script <(printf '%s\n' "$1") "$audit" | grep -q "$2" || problem "not noticed: $1"
}

# More benchmarks than the agent has.
jq '.slowdown |= [range(5) as $i | .[] | .benchmark += "-\($i)"]
    | .layers[] |= (.benchmarks |= [range(5) as $i | .[] | .name += "-\($i)"]
        | .metered |= [range(7) as $i | .[] | .name += "-\($i)"])' \
    tests/fixtures/report.json >"$work/many.json"
# A layer that hangs.
jq '.failure = {layer: "L2", phase: "commands", kind: "hung", message: "its vCPU stands", console_tail: ["last words"],
        evidence: {looks: [range(9) | {after_s: ., console_bytes: "0", exits: "19684", disk_bytes: "0",
                vcpus: [{rip: "ffffffff81c0de11", symbol: "default_idle+0x11", interrupts: false, halted: true, cpl: 0}]}],
            process: "State:\tS (sleeping)", exit_reasons: {hlt: "12", interrupt: "250"},
            backtrace: ["NMI backtrace for cpu 0"], stack: ["default_idle+0x11", "do_idle+0x22"]}}
    | .diagnosis = {name: "hung", layer: "L2", summary: "L2 hangs", explanation: "L2 runs", remedy: "look at it",
        evidence: ["it is hung", "seen at ffffffff81c0de11", "last heard 34.7 s ago"]}' \
    tests/fixtures/report.json >"$work/hang.json"
for page in report panic hostile passed many hang; do
    file=$work/$page.json
    [ -e "$file" ] || file=tests/fixtures/$page.json
    "$nestlab" report --html "$work/$page.html" "$file" >/dev/null 2>&1
    [ -s "$work/$page.html" ] || problem "no page of $page.json"
done
# The other pages of nestlab are made of the same parts.
jq '.run.id = "second" | .run.started = "2026-12-01T10:15:00Z"' tests/fixtures/report.json >"$work/second.json"
"$nestlab" compare --html "$work/compare.html" tests/fixtures/report.json "$work/second.json" >/dev/null 2>&1
"$nestlab" history --html "$work/history.html" "$work/history" tests/fixtures/report.json \
    "$work/second.json" >/dev/null 2>&1
for page in compare history; do
    [ -s "$work/$page.html" ] || problem "no page of $page"
done
start_browser

for scheme in light dark; do
    for width in 1280 360; do
        audit_page report "$width" "$scheme"
    done
done
audit_page report 768 light
audit_page panic 360 dark
audit_page hang 1280 light
audit_page hostile 360 light
audit_page passed 360 light
audit_page compare 360 dark
audit_page history 360 light
audit_page history 1280 dark
audit_page many 1280 dark
audit_page many 360 light

# The audit can fail.
expect_seen 'document.querySelector("h2").outerHTML = "<h4>x</h4>";' 'level of headings'
expect_seen 'document.querySelector("p").setAttribute("class", "colour-1");' 'contrast'
expect_seen 'document.querySelector("svg[role=img]").removeAttribute("aria-labelledby");' 'without words'
expect_seen 'document.querySelector("caption").style.minWidth = "900px";' 'out of sight'
expect_seen 'document.querySelector("main").style.width = "900px";' 'sideways'

# What the browser itself tells those who do not see: every picture has a name.
show report 1280 light
cdp Accessibility.getFullAXTree '{}' |
    jq -e '[.value.nodes[] | select(.ignored | not) | select(.role.value | test("^(image|img)$"))]
        | length > 2 and all(.[]; (.name.value // "") != "")' >/dev/null ||
    problem "a picture has no name in the accessibility tree"

# On paper nothing is folded away, and all is dark on light.
cdp Emulation.setEmulatedMedia '{"media": "print", "features": [{"name": "prefers-color-scheme", "value": "dark"}]}' >/dev/null
hidden=$(run_script <(echo 'return [...document.querySelectorAll("details > :not(summary)")]
    .filter(e => !e.open && e.getBoundingClientRect().height === 0 && e.textContent.trim()).length;'))
[ "$hidden" = 0 ] || problem "$hidden folded parts are not printed"
ink=$(run_script <(echo 'return getComputedStyle(document.body).color;'))
[ "$ink" = '"rgb(27, 31, 36)"' ] || problem "printed in $ink"
wire POST "/session/$session/print" '{}' | jq -r '.value' | base64 -d >"$work/report.pdf"
[ "$(head -c 5 "$work/report.pdf")" = %PDF- ] || problem "no PDF"
[ "$(grep -ac '/Type */Page\b' "$work/report.pdf")" -ge 2 ] || problem "the PDF has hardly any pages"

# Whatever was opened, only the files themselves were asked for.
wire POST "/session/$session/se/log" '{"type": "performance"}' |
    jq -r '.value[].message | fromjson | .message | select(.method == "Network.requestWillBeSent")
        | .params.request.url' >"$work/requests.txt"
grep -q "^file://$work/report.html" "$work/requests.txt" || problem "the browser's requests were not seen"
if grep -v "^file://$work/[a-z]*\.html\$" "$work/requests.txt" >"$work/elsewhere.txt"; then
    problem "a page asked for $(head -n 1 "$work/elsewhere.txt" | cut -c 1-100)"
fi
finish
