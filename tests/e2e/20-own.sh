#!/bin/bash
# kernels of one's own, as package and as bzImage with modules, with own arguments; own packages
. "$(dirname "$0")/lib.sh"

# Any kernel of Debian's that is not the images' own.
own=$("$nestlab" build --json hypervisor 2>/dev/null | jq -r '.. | .kernel_release? // empty' | head -n 1)
package=$(apt-cache search '^linux-image-6[.]1[.].*-cloud-amd64$' | awk '{ print $1 }' | sort -V |
    grep -vx "linux-image-$own" | tail -n 1)
(cd "$work" && apt-get -qq download "$package" >/dev/null 2>"$work/apt.err") ||
    problem "cannot get $package: $(cat "$work/apt.err")"
deb=$(ls "$work"/linux-image-*.deb)
release=${package#linux-image-}
dpkg-deb -x "$deb" "$work/kernel"

run kernels scenarios/nested-boot.json --kernel "L1=$deb" --kernel-arg L1=mitigations=off \
    --kernel-arg L1=nestlab.test=one --kernel "L2=$work/kernel/boot/vmlinuz-$release" \
    --modules "L2=$work/kernel/lib/modules/$release"
expect_status 0 kernels
expect_json kernels ".layers[0].facts.kernel.release == \"$own\"" "L0 has the image's kernel"
expect_json kernels ".layers[1].facts.kernel.release == \"$release\"" "L1 has the kernel of the package"
expect_json kernels '.layers[1].facts.command_line | contains("mitigations=off nestlab.test=one")' \
    "L1 has its arguments"
expect_json kernels '.layers[1].facts.modules.kvm_amd.loaded' "L1's KVM is of the package, and loads"
expect_json kernels ".layers[2].facts.kernel.release == \"$release\"" "L2 has the bzImage"
expect_nothing_left

# Own kernels are thin layers: the second time nothing is made.
run again scenarios/single.json --kernel "L1=$work/kernel/boot/vmlinuz-$release" \
    --modules "L1=$work/kernel/lib/modules/$release"
expect_status 0 again
expect_json again '[.phases[] | select(.name == "images") | .seconds] | .[0] < 5' "images are reused"

# A package over the image: the program is there.
(cd "$work" && apt-get -qq download hello >/dev/null 2>"$work/apt.err") ||
    problem "cannot get hello: $(cat "$work/apt.err")"
cat >"$work/hello.json" <<'EOF'
{
  "name": "hello",
  "layers": [{"image": "hypervisor"}],
  "commands": [{"name": "hello", "layer": "L0", "argv": ["hello"]}]
}
EOF
run hello "$work/hello.json" --deb "L0=$(ls "$work"/hello_*.deb)"
expect_status 0 hello
expect_json hello '.commands[0].stdout | contains("Hello, world")' "the package is installed in L0"

# What is no kernel is refused, with its name.
head -c 1000000 /dev/zero >"$work/zeros"
run zeros scenarios/single.json --kernel "L1=$work/zeros"
[ "$status" -eq 2 ] || [ "$status" -eq 3 ] || problem "a file of zeros as a kernel: status $status"
expect_text "$work/zeros.err" "zeros"
expect_nothing_left
finish
