#!/bin/bash
# commands at layers: files go along, output is kept, exit statuses and skip codes are checks
. "$(dirname "$0")/lib.sh"

cat >"$work/say.sh" <<'EOF'
#!/bin/sh
echo "said by $1"
exit 3
EOF
chmod +x "$work/say.sh"
cat >"$work/commands.json" <<'EOF'
{
  "name": "commands",
  "layers": [{"image": "hypervisor"}, {"image": "hypervisor"}, {"image": "leaf"}],
  "commands": [
    {"name": "fails", "layer": "L2", "argv": ["./say.sh", "L2"], "files": ["say.sh"]},
    {"name": "skips", "layer": "L2", "argv": ["./say.sh", "again"], "files": ["say.sh"], "skip_codes": [3]},
    {"name": "works", "layer": "L1", "argv": ["uname", "-r"]},
    {"name": "hangs", "layer": "L1", "argv": ["sleep", "100"], "timeout_s": 2},
    {"name": "missing", "layer": "L2", "argv": ["/nonexistent/program"]}
  ]
}
EOF
run commands "$work/commands.json"
expect_status 1 commands
expect_json commands '.commands[0] | .exit == 3 and .stdout == "said by L2\n" and .verdict == "fail"' \
    "a failing command at L2 fails with its output kept"
expect_json commands '.commands[1] | .exit == 3 and .verdict == "skip"' "a skip code skips"
expect_json commands '.commands[2] | .exit == 0 and .verdict == "pass"' "a good command passes"
expect_json commands '.commands[3] | .timed_out and .verdict == "fail"' "a hanging command times out"
expect_json commands '.commands[4] | .verdict != "pass" and .verdict != "skip"' \
    "a program that is not there does not pass"
expect_nothing_left
finish
