#!/bin/bash
# diagnose: folders, archives, pipes, hostile evidence; layers, exit statuses, JSON. No stack
. "$(dirname "$0")/lib.sh"

# diagnose NAME ARGUMENT...: its JSON in $work/NAME.json; sets $status. In 60 s and 1 GiB, whatever
# it reads.
diagnose()
{
    local name=$1
    shift
    (ulimit -v 1048576 && exec timeout 60 "$nestlab" diagnose --json "$@") \
        >"$work/$name.json" 2>"$work/$name.err"
    status=$?
}

# expect NAME PROGRAM WHAT: the jq program over what it printed must be true.
expect()
{
    jq -e "def has_rule(r; l): any(.findings[]; .rule == r and .layer == l);
        def is(f; w): any(.evidence[]; (.file | endswith(f)) and .what == w);
        def unread(f; w): any(.unread[]; (.file | endswith(f)) and (.why | contains(w))); $2" \
        "$work/$1.json" >/dev/null 2>&1 || problem "$3: not so of $1: $2"
}

lines=$work/lines
mkdir -p "$lines"
panic='Kernel panic - not syncing: Attempted to kill init! exitcode=0x00000009'
linux='Linux version 6.1.0-18-amd64 (x@y) (gcc) #1 SMP'

# ---- A folder of a machine, as a sosreport has it, that is a guest whose own guest died.
sos=$work/sosreport-host1
mkdir -p "$sos/sos_commands/kernel" "$sos/proc" "$sos/sys/module/kvm_amd/parameters" \
    "$sos/etc/libvirt/qemu" "$sos/var/log/libvirt/qemu" "$sos/etc/modprobe.d"
printf '[    0.000000] %s\n[    0.100000] Hypervisor detected: KVM\n[    0.200000] ordinary\n' \
    "$linux" >"$sos/sos_commands/kernel/dmesg"
printf 'processor\t: 0\nvendor_id\t: AuthenticAMD\nflags\t\t: fpu vme svm npt hypervisor\n' >"$sos/proc/cpuinfo"
printf 'kvm_amd 155648 0\nkvm 1142784 1 kvm_amd\n' >"$sos/lsmod"
echo 0 >"$sos/sys/module/kvm_amd/parameters/nested"
echo "options kvm_amd nested=0" >"$sos/etc/modprobe.d/kvm.conf"
cat >"$sos/etc/libvirt/qemu/vm.xml" <<'XML'
<domain type='kvm'><name>vm</name><os><type arch='x86_64' machine='pc'>hvm</type></os>
<cpu mode='host-model'><feature policy='disable' name='svm'/></cpu></domain>
XML
printf '2024-01-01T00:00:00.000000Z qemu-system-x86_64: terminating on signal 15 from pid 1 (libvirtd)\n' \
    >"$sos/var/log/libvirt/qemu/vm.log"
head -c 3000 /dev/urandom >"$sos/core"
mkfifo "$sos/pipe"
ln -s . "$sos/loop"
ln -s /etc "$sos/outside"
ln -s nowhere "$sos/broken"

diagnose folder "$sos"
expect_status 1 folder
expect folder 'has_rule("parameter-nested-off"; "L1 or deeper")' "nesting is off, in the guest that it is"
expect folder 'is("dmesg"; "kernel log") and is("cpuinfo"; "processor description")' "kinds by content"
expect folder 'unread("pipe"; "not a regular file") and unread("loop"; "not a regular file")' \
    "FIFOs and links are left alone"
expect folder '.complete and (any(.unread[]; .failed) | not)' "what is not to be read is no failure"
expect folder 'any(.evidence[]; .file | contains("/outside/")) | not' "links out of the folder are not followed"
expect folder 'any(.findings[]; .places[0].file | endswith("vm.xml"))' "the domain takes svm away"

# The same in archives: the same findings of the same files.
tar -C "$work" -czf "$work/sos.tar.gz" sosreport-host1
tar -C "$work" -cJf "$work/sos.tar.xz" sosreport-host1
for archive in sos.tar.gz sos.tar.xz; do
    diagnose "$archive" "$work/$archive"
    expect_status 1 "$archive"
    jq -S '[.findings[] | [.rule, .layer, .line, .count]] | sort' "$work/folder.json" >"$work/wanted"
    jq -S '[.findings[] | [.rule, .layer, .line, .count]] | sort' "$work/$archive.json" | cmp -s - "$work/wanted" ||
        problem "$archive has other findings than its folder"
done
diagnose piped - <"$work/sos.tar.gz"
expect_status 1 piped
expect piped 'has_rule("parameter-nested-off"; "L1 or deeper")' "an archive on standard input"

# ---- Layers: what runs on no hypervisor is L0; files of a run are known by name.
printf '[    0.000000] %s\n[    0.010000] DMI: Dell Inc. PowerEdge R6525\n[    9.000000] Kernel panic - not syncing: VFS: Unable to mount root fs on unknown-block(0,0)\n' \
    "$linux" >"$lines/L0-kernel.log"
printf '[    1.301245] %s\r\n' "$panic" >"$lines/L2-console.log"
diagnose layers "$lines"
expect_status 1 layers
expect layers 'has_rule("init-killed"; "L2") and any(.findings[]; .layer == "L0")' "layers by name"
expect layers '[.findings[] | select(.severity == "error") | .layer] == ["L0", "L2"]' "from the outermost on"

# ---- Standard input, in forms that kernel logs come in.
for form in "[    1.301245] $panic" "<2>[    1.301245] $panic" "Nov 30 10:00:00 host kernel: $panic" \
    "2024-11-30T10:00:00+0100 host kernel: $panic" $'\e[0;31m[    1.301245] '"$panic"$'\e[0m\r'; do
    diagnose stdin - <<<"$form"
    expect_status 1 stdin
    expect stdin '.findings[0].rule == "init-killed" and .findings[0].places[0] == {file: "standard input", line: 1, last: 1, count: 1}' \
        "a panic in: $form"
done

# ---- Nothing wrong, nothing known.
printf '[    0.000000] %s\n' "$linux" >"$work/good"
diagnose good "$work/good"
expect_status 0 good
expect good '.findings == [] and .complete' "nothing is wrong"
echo "milk, eggs" >"$work/odd"
"$nestlab" diagnose "$work/odd" >"$work/odd.txt" 2>"$work/odd.err" || problem "a shopping list is no error"
expect_text "$work/odd.txt" 'nothing recognised'
: >"$work/empty"
diagnose empty "$work/empty"
expect_status 0 empty

# ---- Wrong requests, and what cannot be read.
diagnose nowhere "$work/nowhere"
expect_status 3 nowhere
expect nowhere '.complete == false' "a path that is not there"
diagnose both "$work/nowhere" "$lines"
expect_status 1 both
diagnose none
expect_status 2 none
diagnose rule --explain no-such-rule
expect_status 2 rule
if [ "$(id -u)" -ne 0 ]; then
    cp "$work/good" "$work/secret" && chmod 0 "$work/secret"
    diagnose secret "$work/secret"
    expect_status 3 secret
fi
timeout 20 "$nestlab" diagnose "$sos/pipe" >"$work/fifo.txt" 2>"$work/fifo.err" </dev/null
status=$?
expect_status 3 fifo
expect_text "$work/fifo.err" 'give the content'

# ---- Hostile: each says what it is, in bounded time and memory, and finds what is to be found.
bad=$work/bad
mkdir -p "$bad"
{ head -c 200000 /dev/urandom; printf '\n[    1.301245] %s\n' "$panic"; head -c 200000 /dev/zero; } >"$bad/binary"
{ printf '[    0.000000] %s\n[    1.0] ' "$linux"; head -c 200000000 /dev/zero | tr '\0' x
    printf '\n[    1.301245] %s' "$panic"; } >"$bad/long-line"
head -c 20000 "$work/sos.tar.gz" | head -c 500 >"$bad/cut.tar.gz"
printf '\037\213\010garbage' >"$bad/garbage.gz"
printf '<domain type="kvm"><!DOCTYPE x [<!ENTITY a SYSTEM "file:///etc/passwd">]>&a;' >"$bad/entity.xml"
printf '{"nestlab": {"document": 1}, "layers": 7' >"$bad/document.json"
diagnose hostile "$bad"
expect_status 1 hostile
expect hostile 'any(.evidence[]; (.file | endswith("long-line")) and .cut_lines == 1)' "a line of 200 MB is cut"
expect hostile 'any(.findings[]; .rule == "init-killed" and any(.places[]; .file | endswith("long-line")))' \
    "and what follows it is read"
expect hostile '.complete == false and unread("cut.tar.gz"; "truncated") and unread("garbage.gz"; "broken archive")' \
    "broken archives are said"
expect hostile 'tostring | contains("root:x:0") | not' "no file is read through an entity"

# A bomb: a line of 1 GiB in some MB; archives in archives in archives; and a hole of 100 GB.
{ echo "$panic" && head -c 1073741824 /dev/zero; } | gzip -1 >"$work/bomb.gz" &
bomb=$!
truncate -s 100G "$work/hole" && tar -C "$work" -cSf "$work/hole.tar" hole
rm -f "$work/hole"
cp "$work/sos.tar.gz" "$work/nest.tar.gz"
for i in 1 2 3 4 5 6 7 8; do
    mv "$work/nest.tar.gz" "$work/inner-$i.tar.gz"
    tar -C "$work" -czf "$work/nest.tar.gz" "inner-$i.tar.gz"
    rm "$work/inner-$i.tar.gz"
done
diagnose deep "$work/nest.tar.gz"
expect_status 3 deep
expect deep 'any(.unread[]; .why | contains("too deep"))' "archives in archives have an end"
diagnose hole "$work/hole.tar"
expect_status 0 hole
wait "$bomb"
diagnose bomb "$work/bomb.gz"
expect_status 1 bomb
expect bomb '.evidence[0].bytes > 1073741824 and .findings[0].rule == "init-killed"' "a bomb is read"
head -c 10000000 /dev/zero | gzip >"$work/zeros.gz"
diagnose nothing "$work/zeros.gz"
expect nothing 'unread("zeros.gz"; "nothing in it")' "zeros are an archive without files"

# A device that never ends is read no further than a pipe is: as long as somebody gives.
diagnose zeros - < <(head -c 100000000 /dev/zero)
expect_status 0 zeros
expect zeros '.evidence[0].bytes == 100000000' "zeros without an end of line"

# A reader that goes away ends it quietly, as any program.
"$nestlab" diagnose --list-rules 2>"$work/pipe.err" | head -n 1 >/dev/null
[ ! -s "$work/pipe.err" ] || problem "a closed pipe: $(head -n 1 "$work/pipe.err")"

finish
