#!/bin/bash
# doctor: verdicts of this machine, of every layer of a kept stack, of hosts by URI; exit statuses
. "$(dirname "$0")/lib.sh"

# doctor NAME ARGUMENT...: its JSON in $work/NAME.json; sets $status.
doctor()
{
    local name=$1
    shift
    "$nestlab" doctor --json "$@" >"$work/$name.json" 2>"$work/$name.err"
    status=$?
}

# expect NAME PROGRAM WHAT: the jq program over what the doctor said must be true.
expect()
{
    jq -e "def row(n): .judged.rows[] | select(.name == n);
        def verdict(n): row(n).verdict; def possible(p): .judged.paths[p].possible; $2" \
        "$work/$1.json" >/dev/null 2>&1 || problem "$3: not so of $1: $2"
}

# This machine, by what can be seen of it otherwise.
doctor here
expect_status 0 here
expect here '.subject.kind == "machine" and (.unknown | length) == 0' "everything was looked at"
expect here 'verdict("qemu") == "ok" and verdict("qemu-svm") == "ok" and verdict("libvirt") == "ok"' \
    "QEMU and libvirt are good enough for the other tests"
expect here 'possible("emulated")' "an emulated L0 is possible, as the other tests prove"
if [ ! -e /dev/kvm ]; then
    expect here 'verdict("kvm-device") == "missing" and (possible("local") | not)' "no /dev/kvm"
fi
"$nestlab" doctor >"$work/here.txt" 2>&1 || problem "the table comes with another exit status"
expect_text "$work/here.txt" '^  emulated  yes'
expect_text "$work/here.txt" '^Next: '

# What a run would not find, the doctor does not find either.
NESTLAB_RUNS=/proc/nowhere "$nestlab" doctor --json >"$work/bad-runs.json" 2>/dev/null
status=$?
expect_status 1 bad-runs
expect bad-runs 'verdict("run-folder") == "missing" and (row("run-folder").fix | contains("NESTLAB_RUNS"))' \
    "a run folder that cannot be made"
env -u HOME -u XDG_CACHE_HOME "$nestlab" doctor --json >"$work/no-home.json" 2>/dev/null
status=$?
expect_status 1 no-home
expect no-home 'verdict("store") == "missing"' "no place for images"

# Hosts by URI.
root=$work/e
mkdir -p "$root/etc"
printf 'security_driver = "none"\n' >"$root/etc/qemu.conf"
[ "$(id -u)" -ne 0 ] || printf 'user = "root"\ngroup = "root"\n' >>"$root/etc/qemu.conf"
doctor embed "qemu:///embed?root=$root"
expect_status 0 embed
expect embed 'possible("emulated") and verdict("qemu-svm") == "ok" and verdict("kvm-device") == "unknown"' \
    "what libvirt tells of a host, and what it does not"
doctor other test:///default
expect_status 1 other
expect other 'verdict("qemu") == "missing"' "a driver that is not QEMU's"
doctor nonsense no-uri
expect_status 2 nonsense
doctor unreachable "qemu+unix:///system?socket=$work/none"
expect_status 3 unreachable

# Every layer of a kept stack; the innermost is a leaf, which boots no other.
doctor nobody --in L0
expect_status 2 nobody
"$nestlab" up --quiet --l0 emulated --out "$work/up" scenarios/nested-boot.json >"$work/up.txt" 2>&1
status=$?
expect_status 0 up
for layer in L0 L1; do
    doctor $layer --in $layer
    expect_status 0 $layer
    expect $layer 'possible("local") and verdict("kvm-guest") == "ok" and verdict("nested") == "ok"' \
        "this layer boots the next"
    expect $layer '[.judged.rows[] | select(.verdict != "ok")] == []' "nothing is wrong with it"
done
expect L0 'row("hypervisor").found | contains("TCG")' "the hypervisor below"
expect L1 'row("hypervisor").found | contains("KVM")' "the hypervisor below"
doctor L2 --in L2
expect_status 1 L2
expect L2 'verdict("qemu") == "missing" and verdict("cpu") == "ok"' "a leaf has svm, and no QEMU"

# A fault that is put in, and one that must not be made of it.
"$nestlab" shell L1 mv /usr/bin/qemu-system-x86_64 /usr/bin/hidden
doctor no-qemu --in L1 nested-boot
expect_status 1 no-qemu
expect no-qemu 'verdict("qemu") == "missing" and verdict("kvm-guest") == "ok"' "QEMU is gone"
"$nestlab" shell L1 sh -c 'mv /usr/bin/hidden /usr/bin/qemu-system-x86_64'
doctor again --in L1
expect_status 0 again
doctor no-layer --in L7
expect_status 2 no-layer
"$nestlab" down >/dev/null 2>&1
expect_nothing_left
finish
