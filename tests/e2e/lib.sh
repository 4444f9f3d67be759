# lib.sh - what the end-to-end tests share. A test sources it, makes assertions, and ends with
# `finish`. Each has a folder of its own for output and run folders; the image store is shared.

set -u
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
source_dir=$PWD
nestlab=$source_dir/build/nestlab
work=$(mktemp -d /tmp/nl-e2e.XXXXXX)
export NESTLAB_RUNS=$work/r
problems=0

# A test that ends early must not leave guests behind, and its output is only kept when it failed.
cleanup()
{
    "$nestlab" down --all >/dev/null 2>&1
    "$nestlab" gc >/dev/null 2>&1
    if [ "$problems" -eq 0 ]; then
        rm -rf "$work"
    else
        echo "    output is kept in $work"
    fi
}
trap cleanup EXIT

problem()
{
    echo "    FAILED: $*"
    problems=$((problems + 1))
}

# run NAME ARGUMENT...: nestlab run with its output in $work/NAME; sets $status.
run()
{
    local name=$1
    shift
    "$nestlab" run --out "$work/$name" "$@" >"$work/$name.txt" 2>"$work/$name.err"
    status=$?
}

expect_status()
{
    if [ "$status" -ne "$1" ]; then
        problem "exit status $status instead of $1 ($2)"
        tail -n 30 "$work/$2.err" "$work/$2.txt" 2>/dev/null | cut -c 1-200 | sed 's/^/    | /'
    fi
}

# expect_json NAME PROGRAM WHAT: the jq program over the document must be true.
expect_json()
{
    jq -e "$2" "$work/$1/document.json" >/dev/null 2>&1 || problem "$3: not so in $1: $2"
}

expect_check()
{
    expect_json "$1" "any(.checks[]; .name == \"$2\" and .verdict == \"$3\")" "check $2 is $3"
}

expect_text()
{
    grep -q -- "$2" "$1" || problem "no \"$2\" in $(basename "$1")"
}

# Nothing of ours may be left: no QEMU that names our run folder, no run folder.
expect_nothing_left()
{
    local left
    left=$(pgrep -f -- "$NESTLAB_RUNS/" | grep -vx $$)
    [ -z "$left" ] || problem "processes left behind: $left"
    left=$(ls "$NESTLAB_RUNS" 2>/dev/null)
    [ -z "$left" ] || problem "run folders left behind: $left"
}

# wait_for SECONDS COMMAND...: until it succeeds.
wait_for()
{
    local i seconds=$1
    shift
    for ((i = 0; i < seconds * 5; i++)); do
        "$@" >/dev/null 2>&1 && return 0
        sleep 0.2
    done
    return 1
}

finish()
{
    [ "$problems" -eq 0 ] && echo "    ok"
    exit $((problems > 0))
}
