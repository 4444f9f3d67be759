#!/bin/bash
# L0 is this very machine: nestlab runs inside an emulated machine whose KVM works
. "$(dirname "$0")/lib.sh"

# The emulated machine gets nestlab, its images and scenarios on a disk: nothing is copied over a link.
store=${XDG_CACHE_HOME:-$HOME/.cache}/nestlab
payload=$work/payload
mkdir -p "$payload/build" "$payload/store"
cp build/nestlab build/nestlab-agent build/nestlab-builder "$payload/build/"
cp -R images scenarios "$payload/"
# The image has libvirt's libraries, but not all that nestlab uses.
mkdir "$payload/lib"
ldd build/nestlab | awk '$3 ~ /^\// { print $3 }' | xargs cp -L -t "$payload/lib"
# Only what a depth-2 run needs: the newest image of each recipe, with all that it is made of.
cp -a "$store/keys" "$store/resolved" "$payload/store/"
mkdir "$payload/store/images"
add_image()
{
    [ -d "$payload/store/images/$1" ] && return
    cp -a "$store/images/$1" "$payload/store/images/"
    find "$store/images/$1" -type l -exec readlink {} + | grep -oE '[0-9a-f]{64}' | sort -u
    qemu-img info --output=json "$store/images/$1/disk.qcow2" 2>/dev/null |
        jq -r '."backing-filename" // empty' | grep -oE '[0-9a-f]{64}'
}
queue=$("$nestlab" build --json hypervisor leaf 2>/dev/null | jq -r '.. | .digest? // empty')
while [ -n "$queue" ]; do
    next=
    for digest in $queue; do
        next="$next $(add_image "$digest")"
    done
    queue=$(tr -s ' \n' '\n' <<<"$next" | sed '/^$/d')
done
mke2fs -q -t ext4 -d "$payload" "$work/payload.img" 2G || problem "cannot make the disk"
rm -rf "$payload"

cat >"$work/inner.sh" <<'EOF'
#!/bin/sh
# Inside L0: find the disk by its serial number, put its content where it can be written, run.
set -e
for block in /sys/block/vd*; do
    [ "$(cat "$block/serial")" = nl-L0-0 ] && disk=/dev/${block##*/}
done
mkdir -p /mnt/payload
mount -o ro "$disk" /mnt/payload
cp -a /mnt/payload /root/nestlab
cd /root/nestlab
for library in lib/*; do
    [ -e "/lib/x86_64-linux-gnu/${library##*/}" ] || cp "$library" /usr/lib/x86_64-linux-gnu/
done
ldconfig
exec build/nestlab run --l0 "$1" --store /root/nestlab/store --out "/root/out-$1" "$2" 2>&1
EOF
cat >"$work/local.json" <<'EOF'
{
  "name": "local",
  "layers": [{"image": "hypervisor", "memory_mib": 4096, "disks": ["payload.img"]}],
  "commands": [
    {"name": "auto", "layer": "L0", "files": ["inner.sh"], "timeout_s": 400,
     "argv": ["sh", "./inner.sh", "auto", "scenarios/nested-boot.json"]},
    {"name": "doctor", "layer": "L0", "timeout_s": 100,
     "argv": ["/root/nestlab/build/nestlab", "doctor", "--store", "/root/nestlab/store"]},
    {"name": "off", "layer": "L0", "timeout_s": 100,
     "argv": ["sh", "-c", "modprobe -r kvm_amd && modprobe kvm_amd nested=0 && /root/nestlab/build/nestlab run --l0 local --store /root/nestlab/store /root/nestlab/scenarios/single.json 2>&1"]},
    {"name": "doctor-off", "layer": "L0", "timeout_s": 100,
     "argv": ["/root/nestlab/build/nestlab", "doctor", "--store", "/root/nestlab/store"]}
  ],
  "timeouts": {"total_s": 900}
}
EOF
run local "$work/local.json"
expect_json local '.commands[0] | .exit == 0 and (.stdout | contains("L0 is this machine"))' \
    "auto takes the machine as L0, and the run passes"
expect_json local '.commands[0].stdout | contains("PASSED")' "it says so"
expect_json local '.commands[1] | .exit == 0 and (.stdout | contains("local     yes"))' \
    "the doctor says the same"
expect_json local '.commands[1].stdout | test("ok +kvm-guest") and test("ok +nested ") and test("ok +images")' \
    "and why"
expect_json local '.commands[2] | .exit == 3 and (.stdout | contains("nested=0"))' \
    "a local L0 without nesting is refused with its reason"
expect_json local '.commands[3].stdout | test("missing +nested +kvm_amd has nested=0") and contains("local     no")' \
    "which the doctor names, with its repair"
[ "$problems" -eq 0 ] || jq -r '.commands[].stdout' "$work/local/document.json" | tail -n 40
expect_nothing_left
finish
